"""Web: serves the dashboard, its JSON API, webhooks and metrics over HTTP."""
