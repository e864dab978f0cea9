"""Local tracker and forge: issues and pull requests in the state directory, without any service."""
