"""GitHub, or a GitHub Enterprise server: requests, limits, credentials, and what is known of each repository."""
