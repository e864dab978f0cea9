"""Settings of the operator: keys, defaults, loading and credentials."""
