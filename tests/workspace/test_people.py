"""F15: people change our branch and its base at every moment of a turn; none of their work is lost."""

from collections.abc import Awaitable, Callable

import pytest

from bot.errors import NeedsHuman, Retryable
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"
TRIES = 4

Deed = Callable[[Origin], str]


def add(origin: Origin) -> str:
    return origin.commit({"theirs.py": "by hand\n"}, branch=BRANCH)


def add_what_clashes(origin: Origin) -> str:
    return origin.commit({"second.py": "by hand\n"}, branch=BRANCH)


def rewrite(origin: Origin) -> str:
    """Replaces all our commits by one of theirs."""
    return _forced(origin, "commit-tree", "-p", "origin/main", "-m", "Anew", _tree_with(origin, "theirs.py"))


def amend(origin: Origin) -> str:
    tree = run_git(origin.clone, "rev-parse", f"origin/{BRANCH}^{{tree}}")
    return _forced(origin, "commit-tree", "-p", f"origin/{BRANCH}^", "-m", "In better words", tree)


def rebase(origin: Origin) -> str:
    """Rebases onto a newer base and adds one of their commits."""
    origin.commit({"news.py": "x\n"})
    run_git(origin.clone, "checkout", "-q", "-B", "rebased", "origin/main")
    run_git(origin.clone, "cherry-pick", f"origin/{BRANCH}")
    run_git(origin.clone, "commit", "-q", "--allow-empty", "-m", "And this")
    return _forced(origin, "rev-parse", "HEAD")


def delete(origin: Origin) -> str:
    run_git(origin.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    return ""


def rename_base(origin: Origin) -> str:
    run_git(origin.bare, "branch", "-m", "main", "trunk")
    return ""


def delete_base(origin: Origin) -> str:
    origin.commit({"other.py": "x\n"}, branch="other")
    run_git(origin.bare, "symbolic-ref", "HEAD", "refs/heads/other")
    run_git(origin.bare, "update-ref", "-d", "refs/heads/main")
    return ""


def rewrite_base(origin: Origin) -> str:
    return _forced(origin, "commit-tree", "-m", "A new beginning", _tree_with(origin, "anew.py"), branch="main")


TO_OUR_BRANCH = (add, add_what_clashes, rewrite, amend, rebase, delete)
TO_THE_BASE = (rename_base, delete_base, rewrite_base)
MOMENTS = ("before the turn", "while the agent works", "between capture and push", "within the push")
EVERY = [(deed, moment) for deed in TO_OUR_BRANCH for moment in MOMENTS]
EVERY += [(deed, moment) for deed in TO_THE_BASE for moment in (MOMENTS[0], MOMENTS[-1])]


def _tree_with(origin: Origin, name: str) -> str:
    run_git(origin.clone, "fetch", "-q", "origin")
    blob = run_git(origin.clone, "hash-object", "-w", "--stdin", stdin="by hand\n")
    return run_git(origin.clone, "mktree", stdin=f"100644 blob {blob}\t{name}\n")


def _forced(origin: Origin, *made: str, branch: str = BRANCH) -> str:
    commit = run_git(origin.clone, *made)
    run_git(origin.clone, "push", "-q", "--force", "origin", f"{commit}:refs/heads/{branch}")
    return commit


@pytest.fixture
async def published(workspaces, origin):
    """Publishes the work; the run is in review."""
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "first.py").write_text("1\n")
    await workspaces.capture(BRANCH, message="First", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    run_git(origin.clone, "fetch", "-q", "origin")
    return workspace


class Story:
    """A turn, and one action of a person at one moment of it."""

    def __init__(self, workspaces, origin: Origin, deed: Deed, moment: str) -> None:
        self.workspaces, self.origin, self.deed, self.moment = workspaces, origin, deed, moment
        self.theirs = ""
        workspaces.mirror.check_lease = lambda: self.at("within the push")

    def at(self, moment: str) -> None:
        if moment == self.moment:
            self.moment, self.theirs = "", self.deed(self.origin)

    async def turn(self) -> None:
        self.at("before the turn")
        workspace = await self.workspaces.ensure(BRANCH, base="", remote=self.origin.remote)
        (workspace.path / "second.py").write_text("2\n")
        self.at("while the agent works")
        await self.workspaces.capture(BRANCH, message="Second", at=2000)
        self.at("between capture and push")
        await self.workspaces.ensure_pushed(BRANCH, remote=self.origin.remote)


async def until_it_succeeds(turn: Callable[[], Awaitable[None]]) -> None:
    """A person who is asked replies, which begins another turn."""
    for _ in range(TRIES):
        try:
            return await turn()
        except (Retryable, NeedsHuman):
            continue
    raise AssertionError(f"not within {TRIES} tries")


@pytest.mark.parametrize(("deed", "moment"), EVERY, ids=[f"{deed.__name__}-{moment}" for deed, moment in EVERY])
async def test_f15_every_commit_is_published_for_any_action_of_people_at_any_moment(
    workspaces, origin, published, mirror, deed, moment
):
    story = Story(workspaces, origin, deed, moment)
    await until_it_succeeds(story.turn)

    assert story.moment == "", "its moment never came"
    branch = "main" if deed is rewrite_base else BRANCH
    if story.theirs:
        run_git(origin.bare, "merge-base", "--is-ancestor", story.theirs, branch)
    assert run_git(origin.bare, "show", f"{BRANCH}:second.py") == "2"
    assert origin.tip(BRANCH) == run_git(mirror, "rev-parse", BRANCH)
