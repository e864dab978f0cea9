"""Linear as the tracker of a team: client, cache, issues, comments, workflow states."""
