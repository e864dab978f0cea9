"""The help of `treehand`: lists the commands under headings, explains KEY and has examples."""

import argparse

EPILOG = """\
KEY is the key of an issue, such as shop#12 or ENG-12. If there is only one project, 12 is enough.
The number of the pull request works as well.

examples:
  treehand init                                    write the settings for the repository in this folder
  treehand run                                     start the daemon; leave it running
  treehand issue new "Say hello" --label ai        ask for work, in another terminal
  treehand logs 1 -f                               watch the agent

`treehand COMMAND --help` explains one command, and `treehand man` all of them. `treehand docs start` is the guide.
"""


class GroupedHelp(argparse.RawDescriptionHelpFormatter):
    """Lists the commands under the headings of the parser."""

    def _format_action(self, action: argparse.Action) -> str:
        headings: dict[str, list[str]] = getattr(action, "headings", {})
        if not headings:
            return super()._format_action(action)
        listed = {command.dest: command for command in self._iter_indented_subactions(action)}
        indent = " " * self._current_indent
        self._indent()
        parts = [
            f"\n{indent}{heading}:\n{''.join(self._format_action(listed[name]) for name in names)}"
            for heading, names in headings.items()
        ]
        self._dedent()
        return "".join(parts)
