"""People rewrite our branch: what they dropped stays dropped, and this turn's work stands on their history."""

from pathlib import Path

import pytest

from bot.errors import NeedsHuman, Retryable
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"
SALVAGE = "refs/treehand/salvage/shop-1/1"


class Rewriting:
    """Turns of an agent, and what a person does to its branch."""

    def __init__(self, workspaces: GitWorkspaces, origin: Origin) -> None:
        self.workspaces, self.origin = workspaces, origin
        self.folder = Path()
        self.dropped = ""

    async def begin(self, files: dict[str, str], *, merge: str = "") -> tuple[str, ...]:
        workspace = await self.workspaces.ensure(BRANCH, base="", remote=self.origin.remote, merge=merge)
        self.folder = workspace.path
        self.write(files)
        return workspace.conflicts

    def write(self, files: dict[str, str]) -> None:
        for name, content in files.items():
            (self.folder / name).write_text(content)

    async def capture(self, message: str, at: float) -> str:
        return (await self.workspaces.capture(BRANCH, message=message, at=at)).head

    async def push(self, *, holds_ci: bool = False) -> None:
        await self.workspaces.ensure_pushed(BRANCH, remote=self.origin.remote, holds_ci=holds_ci)

    async def turn(self, files: dict[str, str], message: str, at: float) -> str:
        await self.begin(files)
        await self.capture(message, at)
        await self.push()
        return self.origin.tip(BRANCH)

    def force_push(self, commit: str) -> str:
        """Makes a person's commit the branch; `dropped` is the one that was there."""
        run_git(self.origin.clone, "fetch", "-q", "origin")
        self.dropped = self.origin.tip(BRANCH)
        run_git(self.origin.clone, "push", "-q", "--force", "origin", f"{commit}:refs/heads/{BRANCH}")
        return run_git(self.origin.clone, "rev-parse", commit)

    def files(self, commit: str = BRANCH) -> set[str]:
        names = run_git(self.origin.bare, "ls-tree", "-r", "--name-only", commit).split()
        return set(names) - {"README.md", "src/app.py", ".gitignore"}

    def subjects(self) -> list[str]:
        """Subjects of the published commits after the first of the repository, newest first."""
        listing = run_git(self.origin.bare, "log", "--topo-order", "--format=%s", f"main..{BRANCH}")
        return listing.splitlines()

    def has(self, commit: str) -> bool:
        return commit in run_git(self.origin.bare, "rev-list", BRANCH).split()


@pytest.fixture
def story(workspaces, origin):
    return Rewriting(workspaces, origin)


@pytest.fixture
async def leaked(story):
    """Publishes two turns; the second one leaked something."""
    story.first = await story.turn({"first.py": "1\n"}, "First", 1000)
    story.second = await story.turn({"leak.py": "password\n"}, "Leak", 2000)
    return story


async def test_a_commit_dropped_during_a_turn_stays_dropped(leaked):
    await leaked.begin({"third.py": "3\n"})
    leaked.force_push(leaked.first)
    await leaked.capture("Third", 3000)
    await leaked.push()

    assert not leaked.has(leaked.second)
    assert leaked.subjects() == ["Third", "First"]
    assert leaked.files() == {"first.py", "third.py"}
    assert not (leaked.folder / "leak.py").exists()
    assert (leaked.folder / "third.py").exists()


async def test_a_commit_dropped_between_capture_and_push_stays_dropped(leaked):
    await leaked.begin({"third.py": "3\n"})
    await leaked.capture("Third", 3000)
    leaked.force_push(leaked.first)
    await leaked.push()
    await leaked.push()

    assert not leaked.has(leaked.second)
    assert leaked.subjects() == ["Third", "First"]


async def test_a_commit_dropped_from_below_others_stays_dropped(leaked, origin):
    await leaked.turn({"third.py": "3\n"}, "Third", 3000)
    await leaked.begin({"fourth.py": "4\n"})
    run_git(origin.clone, "fetch", "-q", "origin")
    run_git(origin.clone, "checkout", "-q", "-B", "clean", leaked.first)
    run_git(origin.clone, "cherry-pick", f"origin/{BRANCH}")
    leaked.force_push("clean")
    await leaked.capture("Fourth", 4000)
    await leaked.push()

    assert leaked.subjects() == ["Fourth", "Third", "First"]
    assert leaked.files() == {"first.py", "third.py", "fourth.py"}
    assert not leaked.has(leaked.second)


async def test_a_persons_own_commit_that_they_drop_during_a_turn_stays_dropped(story, origin):
    first = await story.turn({"first.py": "1\n"}, "First", 1000)
    theirs = origin.commit({"leak.py": "password\n"}, branch=BRANCH)
    await story.begin({"second.py": "2\n"})
    story.force_push(first)
    await story.capture("Second", 2000)
    await story.push()

    assert not story.has(theirs)
    assert story.subjects() == ["Second", "First"]


async def test_a_commit_dropped_after_it_was_merged_in_stays_dropped(story, origin, workspaces):
    first = await story.turn({"first.py": "1\n"}, "First", 1000)
    await story.begin({"second.py": "2\n"})
    theirs = origin.commit({"leak.py": "password\n"}, branch=BRANCH)
    await story.capture("Second", 2000)
    workspaces.mirror.check_lease = lambda: story.force_push(first) and None
    with pytest.raises(Retryable, match="changed during the push"):
        await story.push()
    workspaces.mirror.check_lease = lambda: None
    await story.push()

    assert not story.has(theirs)
    assert story.files() == {"first.py", "second.py"}


async def test_the_commit_of_a_turn_keeps_its_message_date_and_author(leaked, origin):
    await leaked.begin({"third.py": "3\n"})
    leaked.force_push(leaked.first)
    before = await leaked.capture("Third\n\nCo-authored-by: Ada <ada@example.org>", 3000)
    await leaked.push()

    facts = "--format=%an %ae %at %ct%n%B"
    shown = run_git(origin.bare, "show", "--no-patch", facts, BRANCH)
    assert shown == run_git(leaked.workspaces.mirror.path, "show", "--no-patch", facts, before)


async def test_commits_of_several_turns_that_wait_for_approval_are_replanted_one_by_one(leaked):
    await leaked.begin({"third.py": "3\n"})
    await leaked.capture("Third", 3000)
    leaked.write({"fourth.py": "4\n"})
    await leaked.capture("Fourth", 4000)
    leaked.force_push(leaked.first)
    await leaked.push()

    assert leaked.subjects() == ["Fourth", "Third", "First"]


async def test_a_base_merged_by_the_turn_stays_merged(leaked, origin):
    news = origin.commit({"news.py": "x\n"})
    await leaked.begin({"third.py": "3\n"}, merge="main")
    leaked.force_push(leaked.first)
    await leaked.capture("Third", 3000)
    await leaked.push()

    assert leaked.has(news)
    assert not leaked.has(leaked.second)
    assert leaked.files() == {"first.py", "third.py", "news.py"}


async def test_work_that_waited_for_ci_is_replanted_and_waits_again(story, origin):
    first = await story.turn({"first.py": "1\n"}, "First", 1000)
    await story.begin({"leak.py": "password\n"})
    second = await story.capture("Leak", 2000)
    await story.push(holds_ci=True)
    await story.begin({"third.py": "3\n"})
    await story.capture("Third", 3000)
    story.force_push(first)
    await story.push(holds_ci=True)

    assert not story.has(second)
    assert story.subjects()[1:] == ["Third", "First"]
    assert "[skip ci]" in story.subjects()[0]


async def test_a_commit_dropped_between_turns_stays_dropped(leaked):
    leaked.force_push(leaked.first)
    await leaked.turn({"third.py": "3\n"}, "Third", 3000)

    assert leaked.subjects() == ["Third", "First"]


async def test_unfinished_work_of_an_interrupted_turn_moves_to_the_rewritten_branch(leaked):
    await leaked.begin({"third.py": "3\n"})
    leaked.force_push(leaked.first)
    await leaked.begin({"fourth.py": "4\n"})
    assert {path.name for path in leaked.folder.glob("*.py")} == {"first.py", "third.py", "fourth.py"}
    await leaked.capture("Fourth", 4000)
    await leaked.push()

    assert not leaked.has(leaked.second)
    assert leaked.files() == {"first.py", "third.py", "fourth.py"}


async def test_commits_reworded_by_a_person_are_replaced_by_theirs(leaked, origin):
    await leaked.begin({"third.py": "3\n"})
    tree = run_git(origin.bare, "rev-parse", f"{BRANCH}^{{tree}}")
    run_git(origin.clone, "fetch", "-q", "origin")
    leaked.force_push(run_git(origin.clone, "commit-tree", "-p", leaked.first, "-m", "In better words", tree))
    await leaked.capture("Third", 3000)
    await leaked.push()

    assert leaked.subjects() == ["Third", "In better words", "First"]


async def test_ordinary_commits_of_a_person_during_a_turn_are_merged(leaked, origin):
    await leaked.begin({"third.py": "3\n"})
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    third = await leaked.capture("Third", 3000)
    await leaked.push()

    assert leaked.has(theirs)
    assert leaked.has(third)


@pytest.fixture
async def clashing(leaked):
    """A turn that changed what a person removed at the same time."""
    await leaked.begin({"leak.py": "another password\n", "third.py": "3\n"})
    leaked.force_push(leaked.first)
    leaked.third = await leaked.capture("Third", 3000)
    return leaked


async def test_work_that_does_not_fit_on_the_rewritten_branch_is_kept_and_asked_about(clashing, mirror):
    for _ in range(2):
        with pytest.raises(NeedsHuman, match="removed commits from it") as asked:
            await clashing.push()

    assert clashing.origin.tip(BRANCH) == clashing.first
    assert run_git(mirror, "rev-parse", SALVAGE) == clashing.third
    assert SALVAGE in str(asked.value)
    assert "`leak.py`" in str(asked.value)


async def test_after_a_reply_the_agent_makes_the_work_fit(clashing):
    with pytest.raises(NeedsHuman):
        await clashing.push()
    conflicts = await clashing.begin({})
    assert "do not bring back anything that they removed" in conflicts[0]
    assert "leak.py" in conflicts[1]
    (clashing.folder / "leak.py").unlink()
    fitted = await clashing.capture("Made to fit", 4000)
    assert await clashing.capture("Made to fit", 4000) == fitted
    await clashing.push()

    assert clashing.origin.tip(BRANCH) == fitted
    assert clashing.subjects() == ["Made to fit", "First"]
    assert clashing.files() == {"first.py", "third.py"}


async def test_a_branch_rewritten_while_the_agent_makes_the_work_fit_is_respected(clashing, origin):
    with pytest.raises(NeedsHuman):
        await clashing.push()
    await clashing.begin({})
    (clashing.folder / "leak.py").unlink()
    clashing.force_push("origin/main")
    await clashing.capture("Made to fit", 4000)
    await clashing.push()

    assert clashing.subjects() == ["Made to fit"]
    assert clashing.files() == {"third.py"}


async def test_salvaged_work_with_a_dropped_commit_is_not_shared(clashing, workspaces, origin):
    with pytest.raises(NeedsHuman):
        await clashing.push()
    kept = await workspaces.share(await workspaces.salvage(BRANCH), remote=origin.remote)

    assert not kept.shared
    assert "removed from the branch" in kept.why
    assert "salvage" not in run_git(origin.bare, "for-each-ref")


async def test_salvaged_work_is_shared_once_a_branch_has_the_commit_again(clashing, workspaces, origin):
    with pytest.raises(NeedsHuman):
        await clashing.push()
    clashing.force_push(clashing.second)
    await workspaces.fetch(origin.remote)
    kept = await workspaces.share(await workspaces.salvage(BRANCH), remote=origin.remote)

    assert kept.shared


async def test_a_branch_deleted_during_a_turn_is_published_again_only_after_a_reply(leaked, origin):
    await leaked.begin({"third.py": "3\n"})
    run_git(origin.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    await leaked.capture("Third", 3000)
    for _ in range(2):
        with pytest.raises(NeedsHuman, match="was deleted in the repository"):
            await leaked.push()
    assert origin.tip(BRANCH) == ""

    await leaked.turn({"fourth.py": "4\n"}, "Fourth", 4000)
    assert leaked.subjects() == ["Fourth", "Third", "Leak", "First"]


async def test_a_change_is_named_by_the_commit_that_fits_on_the_rewritten_branch(leaked, workspaces, origin):
    await leaked.begin({"third.py": "3\n"})
    change = await workspaces.capture(BRANCH, message="Third", at=3000)
    assert await workspaces.fit_rewritten(BRANCH, change, remote=origin.remote) == change
    origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    assert await workspaces.fit_rewritten(BRANCH, change, remote=origin.remote) == change, "that is merged at the push"

    leaked.force_push(leaked.first)
    fitted = await workspaces.fit_rewritten(BRANCH, change, remote=origin.remote)
    await leaked.push()
    assert (fitted.before, fitted.head) == (leaked.first, origin.tip(BRANCH))
    assert {file.path for file in fitted.files} == {"first.py", "third.py"}
    assert (leaked.folder / "third.py").exists()


async def test_a_change_that_does_not_fit_on_the_rewritten_branch_stays_as_it_is(clashing, workspaces, origin):
    change = await workspaces.capture(BRANCH, message="Third", at=3000)
    assert await workspaces.fit_rewritten(BRANCH, change, remote=origin.remote) == change
    assert clashing.third == change.head
