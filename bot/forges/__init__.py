"""Where code is offered: one module per kind of forge."""
