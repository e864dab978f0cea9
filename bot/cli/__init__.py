"""The `treehand` command: one module per subcommand."""
