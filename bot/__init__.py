"""Label an issue, get a draft pull request. Importing this has no side effects."""

DISTRIBUTION = "treehand"
__version__ = "0.1.0"
