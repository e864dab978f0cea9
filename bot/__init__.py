"""Label an issue, get a draft pull request. Importing this has no side effects."""

__version__ = "0.1.0"
