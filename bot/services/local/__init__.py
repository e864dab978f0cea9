"""A small tracker and forge of our own: for one person with one repository and no service."""
