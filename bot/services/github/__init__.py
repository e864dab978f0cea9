"""GitHub as tracker and forge of one repository: client, caches, issues, comments, pull requests, checks."""
