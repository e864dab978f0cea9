"""T12: no objectionable file of a hostile agent is published without approval."""

import os

import pytest

from bot.publish_guard.protected_paths import PublishRules
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import capture_as_it_is, empty_origin, origin, root, run_git  # noqa: F401 - fixtures

pytestmark = pytest.mark.attack("T12", "A hostile agent's files are published without anybody's approval")

BRANCH = "treehand/shop-1"
TURN = {"message": "m", "at": 1000}

CLASSES = [
    ".github/workflows/ci.yml", ".github/actions/x/action.yml", ".gitlab-ci.yml", "CODEOWNERS", ".husky/pre-commit",
    ".githooks/post-checkout", "CLAUDE.md", "AGENTS.md", ".claude/settings.json", ".mcp.json", ".vscode/tasks.json",
    ".devcontainer/devcontainer.json", ".npmrc", ".gitmodules", ".github/treehand.toml",
]  # fmt: skip
SPELLED = {
    "as it is": lambda path: path,
    "in capitals": str.upper,
    "in full-width letters": lambda path: "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in path),
    "with a joiner": lambda path: path[:2] + "\u200c" + path[2:],
    "with trailing dots": lambda path: path + ".",
    "with backslashes": lambda path: path.replace("/", "\\"),
}


@pytest.fixture
async def ground(origin, root):  # noqa: F811
    origin.commit({f"keep/{at}": f"content {at}\n" for at in range(3)})
    workspaces = GitWorkspaces(root, "shop", rules=PublishRules(max_changed_files=500, max_changed_mb=20))
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    return workspaces, space


def planted(space, name: str) -> None:
    path = space.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("planted\n")


async def refused(ground, origin) -> set[str]:  # noqa: F811
    """Returns the rules that blocked it; checks that no file has moved."""
    workspaces, space = ground
    before = run_git(workspaces._mirror.path, "for-each-ref")
    change = await workspaces.capture(BRANCH, **TURN)
    assert change.objections
    assert change.head == change.before
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == space.head
    assert [ref for ref in before.splitlines() if "heads" in ref] == [
        ref for ref in run_git(workspaces._mirror.path, "for-each-ref").splitlines() if "heads" in ref
    ]
    return {one.rule for one in change.objections}


@pytest.mark.parametrize("spelled", SPELLED.values(), ids=SPELLED.keys())
async def test_t12_a_protected_path_is_blocked_in_every_spelling(spelled, ground, origin):  # noqa: F811
    _, space = ground
    for path in CLASSES:
        planted(space, spelled(path))
    workspaces, _ = ground
    change = await workspaces.capture(BRANCH, **TURN)
    assert sum(one.rule == "protected path" for one in change.objections) == len(CLASSES)
    assert await refused(ground, origin)


async def test_t12_a_rename_into_a_protected_path_is_blocked(ground, origin):  # noqa: F811
    _, space = ground
    (space.path / ".github/workflows").mkdir(parents=True)
    (space.path / "keep/0").rename(space.path / ".github/workflows/x.yml")
    assert await refused(ground, origin) == {"protected path"}


async def test_t12_a_mode_change_of_a_protected_path_is_blocked(origin, root):  # noqa: F811
    origin.commit({".husky/pre-commit": "#!/bin/sh\n"})
    workspaces = GitWorkspaces(root, "shop")
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (space.path / ".husky/pre-commit").chmod(0o755)
    assert await refused((workspaces, space), origin) == {"protected path"}


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside", ".git", "CODEOWNERS", "inner/../../x"])
async def test_t12_links_that_leave_the_tree_are_blocked(target, ground, origin):  # noqa: F811
    _, space = ground
    (space.path / "link").symlink_to(target)
    assert await refused(ground, origin) == {"link"}


async def test_t12_ten_thousand_files_are_blocked(ground, origin):  # noqa: F811
    _, space = ground
    folders = [space.path / f"f{at}" for at in range(10)]
    for folder in folders:
        folder.mkdir()
        for at in range(1000):
            os.close(os.open(folder / f"{at}.txt", os.O_CREAT | os.O_WRONLY, 0o644))
    assert await refused(ground, origin) == {"limit"}


async def test_t12_a_file_of_two_hundred_megabytes_is_not_captured(ground):
    workspaces, space = ground
    with (space.path / "big.bin").open("wb") as file:
        file.truncate(200_000_000)
    change = await workspaces.capture(BRANCH, **TURN)
    assert change.head == change.before
    assert any("big.bin" in what and "too large" in what for what in change.left_out)


async def test_t12_a_commit_of_another_repository_is_blocked(ground, origin):  # noqa: F811
    """Capture adds none; the publish guard blocks one that is already in a tree."""
    workspaces, space = ground
    mirror = workspaces._mirror.path
    entries = run_git(mirror, "ls-tree", space.head) + f"\n160000 commit {space.head}\tinner\n"
    tree = run_git(mirror, "mktree", "--missing", stdin=entries)
    (objection,) = workspaces._guard.objections(tree, (space.head,))
    assert (objection.rule, objection.path) == ("submodule", "inner")


async def test_t12_an_approval_of_a_person_is_enough_to_publish(ground, origin):  # noqa: F811
    workspaces, space = ground
    planted(space, "CLAUDE.md")
    change = await capture_as_it_is(workspaces, BRANCH, **TURN)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == change.head != space.head
