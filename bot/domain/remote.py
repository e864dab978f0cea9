"""Git remote: URL and credentials."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CommitAuthor:
    """Author and committer of our commits."""

    name: str = "Treehand"
    email: str = "treehand@localhost"


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote that git fetches from and pushes to, with credentials that are valid now."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict)
    here: bool = False  # on this machine: a copy there is no safer
    author: CommitAuthor | None = None
    """The account that commits are linked to there, if it is known."""
    lfs: str = ""
    """A folder with objects of Git LFS on this machine, besides those of the URL."""
    modules: str = ""
    """A folder with the git directories of its submodules on this machine, by name."""
