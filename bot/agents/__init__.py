"""How a prompt becomes changes: one module or package per kind of agent."""
