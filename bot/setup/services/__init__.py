"""Services beside an agent, such as databases: what a repository asks for, and which programs can be started."""
