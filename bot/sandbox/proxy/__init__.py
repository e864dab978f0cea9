"""The proxy: the only way out of a sandbox, on the host's side."""
