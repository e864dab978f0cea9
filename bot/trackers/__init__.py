"""Where work is asked for: one module per kind of tracker."""
