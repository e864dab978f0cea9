"""The sandbox: limits the files, rights, resources and hosts of an agent."""
