"""A capture commits the same tree as git, byte for byte."""

import os
import shutil
import threading
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain.remote import CommitAuthor
from bot.errors import NeedsHuman
from bot.git.index import Index, read_index, write_index
from bot.git.objects import blob_id, write_tree
from bot.workspace.capture import read_file, read_worktree
from tests.workspace.conftest import capture_as_it_is, run_git

BRANCH = "treehand/shop-1"


@pytest.fixture
async def workspace(workspaces, origin):
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


def tree_git_makes(folder, *, base, scratch, origin):
    """Returns the tree of `git add -A` of the same files in an independent clone."""
    shutil.rmtree(scratch, ignore_errors=True)
    run_git(scratch.parent, "clone", "-q", "--no-checkout", str(origin.bare), str(scratch))
    run_git(scratch, "read-tree", base)
    shutil.copytree(folder, scratch, symlinks=True, dirs_exist_ok=True, ignore=lambda at, names: {".git"} & set(names))
    run_git(scratch, "add", "-A")
    return run_git(scratch, "write-tree")


def delete(folder, name):
    shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()


def write(folder, name, content="x\n"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


BATTERY = {
    "a new file": lambda at: write(at, "new.py"),
    "a changed file": lambda at: write(at, "src/app.py", "print(2)\n"),
    "a change of the same size": lambda at: write(at, "src/app.py", "print(9)\n"),
    "a deleted file": lambda at: (at / "README.md").unlink(),
    "a deleted folder": lambda at: delete(at, "src"),
    "everything deleted": lambda at: [delete(at, path.name) for path in list(at.iterdir()) if path.name != ".git"],
    "a renamed file": lambda at: (at / "README.md").rename(at / "src" / "README.txt"),
    "an executable file": lambda at: (at / "src/app.py").chmod(0o755),
    "a file only others may run": lambda at: (at / "src/app.py").chmod(0o655),
    "an ignored file": lambda at: write(at, "x.log"),
    "an ignored folder": lambda at: write(at, "build/x/y.py"),
    "a tracked file that is ignored": lambda at: write(at, "tracked.log", "changed\n"),
    "a tracked file in an ignored folder": lambda at: (write(at, "build/tracked.py", "2"), write(at, "build/new.py")),
    "a link": lambda at: (at / "link").symlink_to("src/app.py"),
    "a link out of the worktree": lambda at: (at / "link").symlink_to("/etc/hostname"),
    "a link to nowhere": lambda at: (at / "link").symlink_to("nowhere"),
    "a link to a folder": lambda at: (at / "folder").symlink_to("src"),
    "a file that became a link": lambda at: ((at / "README.md").unlink(), (at / "README.md").symlink_to("src")),
    "a folder that became a file": lambda at: (delete(at, "src"), write(at, "src")),
    "a file that became a folder": lambda at: ((at / "README.md").unlink(), write(at, "README.md/inside")),
    "a folder that became a link": lambda at: (delete(at, "src"), (at / "src").symlink_to(".")),
    "an empty file": lambda at: write(at, "empty", ""),
    "an empty folder": lambda at: (at / "hollow").mkdir(),
    "names with spaces": lambda at: write(at, " a b / c .py"),
    "a name with a line end": lambda at: write(at, "a\nb/c\td"),
    "names in many scripts": lambda at: write(at, "é/日本語/🎉.txt"),
    "a name that is no text": lambda at: write(at, os.fsdecode(b"\xff\xfe.py")),
    "a name of many letters": lambda at: write(at, "n" * 250),
    "a name like an option": lambda at: write(at, "-rf"),
    "names around a slash": lambda at: (write(at, "src.py"), write(at, "src-x/a"), write(at, "src0")),
    "line ends of another system": lambda at: write(at, "dos.txt", "a\r\nb\r\n"),
    "bytes": lambda at: (at / "data.bin").write_bytes(bytes(range(256)) * 100),
    "new ignore rules": lambda at: (
        write(at, ".gitignore", "*.py\n!keep.py\n"), write(at, "keep.py"), write(at, "no.py"),
    ),
    "ignore rules taken away": lambda at: ((at / ".gitignore").unlink(), write(at, "x.log"), write(at, "build/y")),
    "nested ignore rules": lambda at: (
        write(at, "lib/.gitignore", "/*\n!/a/\n"), write(at, "lib/a/b"), write(at, "lib/c"),
    ),
    "ignore rules that undo those above": lambda at: (write(at, "lib/.gitignore", "!*.log"), write(at, "lib/x.log")),
    "ignore rules behind a link": lambda at: (
        write(at, "rules", "*.py\n"), (at / ".gitignore").unlink(), (at / ".gitignore").symlink_to("rules"),
        write(at, "new.py"),
    ),
    "a folder of ignore rules": lambda at: ((at / ".gitignore").unlink(), write(at, ".gitignore/inside")),
}  # fmt: skip


@pytest.mark.parametrize("change", BATTERY.values(), ids=BATTERY.keys())
async def test_a_capture_contains_the_same_files_as_git_add(change, workspaces, origin, tmp_path, mirror):
    origin.commit({"tracked.log": "x\n", "build/tracked.py": "1"})
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    change(workspace.path)

    captured = await capture_as_it_is(workspaces, BRANCH, message="m", at=1000)

    wanted = tree_git_makes(workspace.path, base=workspace.base, scratch=tmp_path / "scratch", origin=origin)
    assert run_git(mirror, "rev-parse", f"{captured.head}^{{tree}}") == wanted
    assert captured.left_out == ()
    assert run_git(workspace.path, "status", "--porcelain") == ""
    assert (await workspaces.capture(BRANCH, message="other", at=2000)).head == captured.head


NAMES = st.sampled_from(["a", "b", "a.b", "ab", "[a]", "*", "a b", "é", "\\", "#a", "!b", "a ", "x.log", ".x"])
# an escaped slash after two stars is not described in git's manual
PATTERNS = st.lists(
    st.sampled_from(
        ["a", "b", "ab", "*", "**", "?", "/", "!", "#", "\\", "[", "]", "[ab]", "[!a]", "[]a]", "[^b]", "[a-z]", " ",
         ".", "x.log", "**/", "/**", "/**/", "[[:alpha:]]", "[[:punct:]]", "é", "\r", "-", "[a-", "\\*", "\\ "]
    ),
    min_size=1, max_size=5,
).map("".join).filter(lambda line: "**\\/" not in line)  # fmt: skip
FOLDERS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    files=st.lists(FOLDERS, min_size=1, max_size=12),
    rules=st.dictionaries(st.one_of(st.just(""), FOLDERS), st.lists(PATTERNS, min_size=1, max_size=5), max_size=3),
)
def test_ignore_rules_have_the_same_effect_as_in_git(files, rules, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    run_git(folder, "init", "-q")
    for name in files:
        plant(folder, name, "x")
    for place, lines in rules.items():
        plant(folder, f"{place}/.gitignore".lstrip("/"), "\n".join(lines))

    found = read_worktree(folder, Index(), blob_id)

    run_git(folder, "add", "-A")
    assert {os.fsdecode(name) for name in found.entries} == set(run_git(folder, "ls-files", "-z").split("\0")) - {""}


def plant(folder, name, content):
    """Skips the test without enough disk space."""
    path = folder / name
    if path.exists() or any(parent.is_file() for parent in path.parents):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_a_malicious_ignore_pattern_is_matched_quickly(tmp_path):
    write(tmp_path, ".gitignore", "*a" * 60 + "*b\n" + "**/a*/" * 40 + "b\n" + "[" * 4000 + "/\n")
    write(tmp_path, "/".join(["a" * 200] * 15))
    assert len(read_worktree(tmp_path, Index(), blob_id).entries) == 2


async def test_the_same_content_at_the_same_time_is_the_same_commit(workspaces, workspace, mirror):
    write(workspace.path, "new.py")
    first = await workspaces.capture(BRANCH, message="New file", at=1_700_000_000.5)
    run_git(mirror, "update-ref", f"refs/heads/{BRANCH}", first.before)
    again = await workspaces.capture(BRANCH, message="New file", at=1_700_000_000.5)
    assert again == first


async def test_a_repeated_capture_returns_the_same_change(workspaces, workspace):
    write(workspace.path, "new.py")
    first = await workspaces.capture(BRANCH, message="New file", at=1000)
    assert await workspaces.capture(BRANCH, message="New file", at=1000) == first


async def test_the_commit_is_by_the_account_that_the_remote_names(workspaces, origin, mirror):
    author = CommitAuthor("treehand[bot]", "7+treehand[bot]@users.noreply.github.com")
    there = await workspaces.ensure(BRANCH, base="", remote=replace(origin.remote, author=author))
    write(there.path, "new.py")
    change = await workspaces.capture(BRANCH, message="New file", at=1000)
    assert await workspaces.capture(BRANCH, message="New file", at=1000) == change

    shown = run_git(mirror, "show", "--no-patch", "--format=%an <%ae> %cn <%ce>", change.head)
    assert shown == f"{author.name} <{author.email}> {author.name} <{author.email}>"


async def test_the_commit_has_our_author_and_message_whatever_the_agent_committed(workspaces, workspace, mirror):
    write(workspace.path, "new.py")
    run_git(workspace.path, "add", "-A")
    run_git(workspace.path, "commit", "-qm", "mine")
    run_git(workspace.path, "checkout", "-q", "--detach")

    change = await workspaces.capture(BRANCH, message="New file\n\nWith words.", at=1000)

    shown = run_git(mirror, "log", "--format=%an <%ae> %cn %at %ct %P%n%B", f"{change.before}..{change.head}")
    assert shown == f"Treehand <treehand@localhost> Treehand 1000 1000 {workspace.base}\nNew file\n\nWith words."
    assert run_git(workspace.path, "branch", "--show-current") == BRANCH


async def test_a_change_lists_every_file_of_the_whole_branch(workspaces, workspace):
    write(workspace.path, "one.py", "1\n2\n")
    await workspaces.capture(BRANCH, message="One", at=1000)
    write(workspace.path, "src/app.py", "print(2)\n")
    (workspace.path / "data.bin").write_bytes(bytes(range(256)))
    change = await workspaces.capture(BRANCH, message="Two", at=2000)
    files = [(file.path, file.added, file.removed) for file in change.files]
    assert files == [("data.bin", 0, 0), ("one.py", 2, 0), ("src/app.py", 1, 1)]
    assert "print(2)" in await workspaces.diff(BRANCH)
    assert (await workspaces.diff(BRANCH, limit=10)).endswith("[cut]\n")


async def test_an_unchanged_worktree_makes_no_commit(workspaces, workspace):
    (workspace.path / "README.md").write_text("hello\n")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert change.head == change.before == workspace.base
    assert change.files == ()


async def test_without_the_index_every_file_is_read_again(workspaces, workspace, mirror):
    (mirror / "worktrees" / "shop-1" / "index").write_bytes(b"DIRC nonsense")
    write(workspace.path, "src/app.py", "print(2)\n")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [file.path for file in change.files] == ["src/app.py"]


async def test_a_missing_worktree_is_not_captured_as_an_empty_one(workspaces, workspace):
    shutil.rmtree(workspace.path)
    with pytest.raises(NeedsHuman, match="is gone"):
        await workspaces.capture(BRANCH, message="m", at=1000)


async def test_our_own_folder_is_never_committed(workspaces, workspace):
    write(workspace.path, ".treehand/notes")
    assert run_git(workspace.path, "status", "--porcelain") == ""
    write(workspace.path, ".gitignore", "!.treehand/\n")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [file.path for file in change.files] == [".gitignore"]


async def test_a_tracked_submodule_stays_as_it_is(workspaces, origin):
    run_git(origin.clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/lib")
    origin.push()
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    write(workspace.path, "vendor/lib/inside.py")
    write(workspace.path, "new.py")
    assert [file.path for file in (await workspaces.capture(BRANCH, message="m", at=1)).files] == ["new.py"]
    shutil.rmtree(workspace.path / "vendor")
    assert [file.path for file in (await workspaces.capture(BRANCH, message="m", at=2)).files] == ["new.py"]


async def test_a_repository_in_the_worktree_is_left_out_and_reported(workspaces, workspace):
    write(workspace.path, "inner/file.py")
    run_git(workspace.path / "inner", "init", "-q")
    write(workspace.path, "src/.GIT/config", "[core]\n")
    write(workspace.path, "src/new.py")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [file.path for file in change.files] == ["src/new.py"]
    assert sorted(change.left_out) == ["inner: a nested repository", "src/.GIT: a name that git reserves"]


@pytest.mark.parametrize("name", [".git", ".GIT", ".git.", ".git ", "git~1", ".g\u200cit", ".git::$INDEX_ALLOCATION"])
async def test_names_equivalent_to_git_on_other_systems_are_not_committed(name, workspaces, workspace):
    write(workspace.path, f"src/{name}")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert change.files == ()
    assert len(change.left_out) == 1


async def test_special_files_are_left_out_without_blocking(workspaces, workspace):
    os.mkfifo(workspace.path / "pipe")
    (workspace.path / ".gitignore").unlink()
    os.mkfifo(workspace.path / ".gitignore")
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert sorted(change.left_out) == [
        ".gitignore: neither a file nor a link",
        "pipe: neither a file nor a link",
    ]


async def test_a_file_of_a_terabyte_is_left_out_unread(workspaces, workspace):
    with (workspace.path / "sparse").open("wb") as file:
        file.truncate(10**12)
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert change.left_out == ("sparse: too large (1,000,000,000,000 bytes)",)
    assert change.files == ()


async def test_a_very_deep_folder_is_read_to_its_end(workspaces, workspace, mirror):
    handle = os.open(workspace.path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=handle)
        handle, outer = os.open("d", os.O_RDONLY, dir_fd=handle), handle
        os.close(outer)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [file.path for file in change.files] == ["d/" * 1200 + "file"]
    await workspaces.remove(BRANCH)
    assert not workspace.path.exists()


def test_an_index_survives_being_read_and_written(origin, tmp_path):
    run_git(origin.clone, "status")
    index = read_index(origin.clone / ".git" / "index")
    write_index(tmp_path / "index", index.entries)
    assert read_index(tmp_path / "index").entries == index.entries
    tree = write_tree(origin.clone / ".git", index.entries, tmp_path / "index")
    assert tree == run_git(origin.clone, "rev-parse", "HEAD^{tree}")


def test_t14_a_link_in_place_of_a_worktree_is_not_read(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "worktree").symlink_to(tmp_path / "secret")
    with pytest.raises(NeedsHuman):
        read_worktree(tmp_path / "worktree", Index(), blob_id)


def test_t14_a_folder_swapped_while_it_is_read_is_not_read(tmp_path):
    for name in ("worktree/one", "worktree/two", "secret"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text(name)
    kept = []

    def keep(content: bytes) -> bytes:
        kept.append(content)
        if len(kept) == 1:  # the other one was listed already, and is still to be read
            other = tmp_path / "worktree" / ("one" if content.endswith(b"two") else "two")
            other.rename(tmp_path / "gone")
            (tmp_path / "secret").rename(other)
        return blob_id(content)

    found = read_worktree(tmp_path / "worktree", Index(), keep)
    assert len(kept) == 1
    assert "changed while it was read" in found.left_out[0]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(__file__)])
def test_t14_special_files_are_refused_without_blocking(tmp_path, make):
    make(tmp_path / "trap")
    ended = []

    def read() -> None:
        try:
            read_file(tmp_path / "trap")
        except OSError as exc:
            ended.append(exc)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(2)
    assert len(ended) == 1
