"""Git as it is: each kind of repository works from the check to the merge, or one sentence says what to do."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from zlib import compress

import pytest

from bot.errors import NeedsHuman
from bot.git import history
from bot.git.lfs import lfs_objects
from bot.git.user_repository import find_repository
from bot.services.local.forge import LocalForge
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import preview_setup
from bot.status.setup_report import report_setup
from bot.workspace.workspaces import GitWorkspaces
from tests.services.local.conftest import Shop
from tests.services.local.user_repository import commit, make_repository, run_git


class Place:
    """A folder for a repository, and others beside it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.shop = top / "shop"
        self.other = top / "other"
        self.hooks = top / "hooks-that-ran"
        self.filters = top / "filters-that-ran"

    def begin(self, *, branch: str = "main") -> Path:
        return make_repository(self.shop, branch=branch)

    def with_history(self) -> Path:
        make_repository(self.other)
        for number in range(3):
            commit(self.other, {"deep/history.txt": f"{number}\n"})
        run_git(self.other, "config", "uploadpack.allowFilter", "true")
        return self.other

    def clone(self, *options: str) -> Path:
        run_git(self.top, "clone", "-q", *options, self.with_history().as_uri(), "shop")
        return self.shop

    def lose(self, name: str) -> Path:
        """Deletes an object."""
        sha = run_git(self.shop, "rev-parse", name)
        path = self.shop / ".git" / "objects" / sha[:2] / sha[2:]
        path.unlink()
        return path


def plain(place: Place) -> None:
    place.begin()


def packed_refs_only(place: Place) -> None:
    run_git(place.begin(), "pack-refs", "--all")
    run_git(place.shop, "gc", "-q")


def shallow(place: Place) -> None:
    place.clone("--depth=1")


def blobless(place: Place) -> None:
    place.clone("--filter=blob:none")


def treeless(place: Place) -> None:
    place.clone("--filter=tree:0")


def blobless_and_completed_as_it_says(place: Place) -> None:
    run_git(place.clone("--filter=blob:none"), "fetch", "-q", "--refetch", "--no-filter")


def treeless_and_completed_as_it_says(place: Place) -> None:
    run_git(place.clone("--filter=tree:0"), "fetch", "-q", "--refetch", "--no-filter")


def blobless_with_its_remote_gone(place: Place) -> None:
    place.clone("--filter=blob:none", "--no-checkout")
    shutil.rmtree(place.other)


def sparse(place: Place, *how: str) -> None:
    commit(place.begin(), {"in/a.txt": "a\n", "out/b.txt": "b\n"})
    run_git(place.shop, "sparse-checkout", "set", *how)


def sparse_by_folder(place: Place) -> None:
    sparse(place, "--cone", "in")


def sparse_by_pattern(place: Place) -> None:
    sparse(place, "--no-cone", "/app.py")


def sparse_in_its_index(place: Place) -> None:
    sparse(place, "--cone", "--sparse-index", "in")


def detached_on_main(place: Place) -> None:
    run_git(place.begin(), "switch", "-q", "--detach")


def detached_with_one_branch(place: Place) -> None:
    run_git(place.begin(branch="dev"), "switch", "-q", "--detach")


def detached_with_two_branches(place: Place) -> None:
    detached_with_one_branch(place)
    run_git(place.shop, "branch", "other")


def a_branch_without_a_commit(place: Place) -> None:
    run_git(place.begin(), "symbolic-ref", "HEAD", "refs/heads/next")


def another_branch(place: Place) -> None:
    place.begin(branch="dev")


def without_a_commit(place: Place) -> None:
    run_git(place.top, "init", "-q", "-b", "main", "shop")


def no_repository(place: Place) -> None:
    place.shop.mkdir()


def linked_worktree(place: Place) -> None:
    make_repository(place.other)
    run_git(place.other, "worktree", "add", "-q", "-b", "side", str(place.shop))


def linked_worktree_of_nothing(place: Place) -> None:
    linked_worktree(place)
    shutil.rmtree(place.other)


def bare(place: Place) -> None:
    make_repository(place.other)
    run_git(place.top, "clone", "-q", "--bare", "other", "shop")


def borrowed_objects(place: Place) -> None:
    make_repository(place.other)
    run_git(place.top, "clone", "-q", "--shared", "other", "shop")


def borrowed_objects_that_are_gone(place: Place) -> None:
    borrowed_objects(place)
    shutil.rmtree(place.other)


def without_a_file(place: Place) -> None:
    place.begin()
    place.lose("HEAD:app.py")


def without_a_folder(place: Place) -> None:
    commit(place.begin(), {"folder/a.txt": "a\n"})
    place.lose("HEAD:folder")


def without_a_commit_object(place: Place) -> None:
    place.begin()
    place.lose("HEAD")


def without_an_old_commit(place: Place) -> None:
    commit(place.begin(), {"a.txt": "a\n"})
    place.lose("HEAD~")


def with_a_damaged_file(place: Place) -> None:
    place.begin()
    place.lose("HEAD:app.py").write_bytes(compress(b"blob 3\0not"))


def sha256(place: Place) -> None:
    run_git(place.top, "init", "-q", "-b", "main", "--object-format=sha256", "shop")
    commit(place.shop, {"app.py": "one\n"})


def a_format_that_git_does_not_know(place: Place) -> None:
    with (place.begin() / ".git" / "config").open("a") as config:
        config.write("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfromTheFuture = yes\n")


def names_in_two_spellings(place: Place) -> None:
    commit(place.begin(), {"Readme": "a\n", "README": "b\n"})


def names_that_are_not_utf8(place: Place) -> None:
    place.begin()
    for name in (b"caf\xe9.txt", b"new\nline", b'"quoted"', b"tab\t"):
        (place.shop / os.fsdecode(name)).write_text("a\n")
    commit(place.shop, {})


def with_attributes_and_filters(place: Place) -> None:
    place.begin()
    for what in ("clean", "smudge", "process"):
        run_git(place.shop, "config", f"filter.theirs.{what}", f"touch {place.filters}; cat")
    lines = "*.txt text eol=crlf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\n*.own filter=theirs\n"
    (place.shop / "a.u16").write_bytes("a\n".encode("utf-16-le"))
    commit(place.shop, {".gitattributes": lines, "a.txt": "a\r\n", "a.id": "$Id$\n", "a.own": "a\n"})
    place.filters.unlink(missing_ok=True)


def with_hooks_and_a_file_monitor(place: Place) -> None:
    hooks = place.begin() / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-push", "post-merge", "reference-transaction", "post-commit", "monitor"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {place.hooks}\n")
        (hooks / name).chmod(0o755)
    run_git(place.shop, "config", "core.fsmonitor", str(hooks / "monitor"))
    run_git(place.shop, "config", "submodule.recurse", "true")
    place.hooks.unlink(missing_ok=True)


def with_several_remotes(place: Place) -> None:
    place.begin()
    run_git(place.shop, "remote", "add", "upstream", "https://git.invalid/acme/shop.git")
    run_git(place.shop, "remote", "add", "fork", "git@git.invalid:ana/shop.git")
    for url in ("https://one.invalid/shop.git", "https://two.invalid/shop.git"):
        run_git(place.shop, "remote", "set-url", "--add", "--push", "fork", url)
    run_git(place.shop, "remote", "add", "gone", "/nowhere/shop.git")


def with_a_large_file(place: Place) -> None:
    (place.begin() / "large.dat").write_bytes(bytes(range(256)) * 80_000)
    commit(place.shop, {})


def with_replaced_commits(place: Place) -> None:
    commit(place.begin(), {"a.txt": "a\n"})
    run_git(place.shop, "commit", "-q", "--allow-empty", "-m", "again")
    run_git(place.shop, "replace", "HEAD", "HEAD~")


def with_settings_of_its_worktrees(place: Place) -> None:
    run_git(place.begin(), "config", "extensions.worktreeConfig", "true")
    run_git(place.shop, "config", "--worktree", "core.longpaths", "true")


WORK: list[Callable[[Place], None]] = [
    plain,
    packed_refs_only,
    shallow,
    blobless_and_completed_as_it_says,
    treeless_and_completed_as_it_says,
    sparse_by_folder,
    sparse_by_pattern,
    sparse_in_its_index,
    detached_on_main,
    detached_with_one_branch,
    a_branch_without_a_commit,
    another_branch,
    linked_worktree,
    bare,
    borrowed_objects,
    names_in_two_spellings,
    names_that_are_not_utf8,
    with_attributes_and_filters,
    with_hooks_and_a_file_monitor,
    with_several_remotes,
    with_a_large_file,
    with_replaced_commits,
    with_settings_of_its_worktrees,
]

_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:"
_PARTIAL = r"shop is a partial clone: .* `git fetch --refetch --no-filter` there once"
_INCOMPLETE = r"shop lacks objects that its commits need.* `git fsck` there names them"
SAY: list[tuple[Callable[[Place], None], str]] = [
    (blobless, _PARTIAL),
    (treeless, _PARTIAL),
    (blobless_with_its_remote_gone, _PARTIAL),
    (detached_with_two_branches, r"no branch checked out\. Set `base` in the settings: dev, other\."),
    (without_a_commit, r"shop has no commits yet\. Commit something there first\."),
    (no_repository, r"shop is not a git repository\. Run `git init` there"),
    (linked_worktree_of_nothing, r"belongs to a repository that is gone: there is no .*`git worktree repair`"),
    (borrowed_objects_that_are_gone, _INCOMPLETE),
    (without_a_file, _INCOMPLETE),
    (without_a_folder, _INCOMPLETE),
    (without_a_commit_object, _INCOMPLETE),
    (sha256, r"another object format than sha1, which Treehand does not support"),
    (a_format_that_git_does_not_know, r"needs a newer git .*fromthefuture.* Install a newer git"),
]
AT_THE_FIRST_RUN = [(without_an_old_commit, _INCOMPLETE), (with_a_damaged_file, _INCOMPLETE)]
"""A check reads the files of the base branch only, and not their content: it is quick in large repositories."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Place:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")  # nothing here asks a network
    return Place(tmp_path)


def open_shop(place: Place) -> Shop:
    return Shop(place.top, place.shop)


def describe_checkout(folder: Path) -> str:
    """Returns the branch that is checked out, and the uncommitted changes."""
    if (folder / "HEAD").exists():
        return (folder / "HEAD").read_text()
    quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    status = run_git(folder, *quiet, "status", "--porcelain=v2", "--branch")
    return "\n".join(line for line in status.splitlines() if not line.startswith(("# branch.oid", "# branch.ab")))


async def turn(shop: Shop, place: Place, branch: str) -> None:
    """One run: from the repository to a merged pull request."""
    workspaces = GitWorkspaces(place.top / "work", "shop")
    forge = LocalForge(shop.server, "shop")
    remote = await forge.remote()
    workspace = await workspaces.ensure(branch, base=shop.repository.base(), remote=remote)
    (workspace.mounts.folder / "added.txt").write_text(branch)
    change = await workspaces.capture(branch, message="Work", at=1)
    assert [one.path for one in change.files] == ["added.txt"]
    await workspaces.ensure_pushed(branch, remote=remote)
    await forge.ensure_draft(branch, base="", title="Work", body="")
    assert not place.filters.exists()  # they may run when a person merges
    before = describe_checkout(place.shop)
    shop.merge(next(iter((await forge.snapshot([branch])).pulls.values())).number)
    assert describe_checkout(place.shop) == before
    place.filters.unlink(missing_ok=True)
    await workspaces.remove(branch)
    await forge.remove_branch(branch)


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("make", WORK, ids=lambda make: make.__name__)
async def test_it_works_twice_from_the_check_to_the_merge(place, make, large, monkeypatch):
    if large:
        monkeypatch.setattr(history, "_LARGE_BYTES", 0)
    make(place)
    shop = open_shop(place)
    base = shop.repository.base()
    shop.repository.ensure_readable()
    assert find_repository(place.shop).branch == base  # what `init` proposes
    await turn(shop, place, "treehand/shop-1")
    shop.repository.ensure_readable()
    await turn(shop, place, "treehand/shop-2")
    assert run_git(place.shop, "show", f"{base}:added.txt") == "treehand/shop-2"
    assert shop.repository.base() == base
    assert not place.hooks.exists()


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize(("make", "says"), SAY, ids=lambda value: getattr(value, "__name__", ""))
async def test_one_sentence_says_what_to_do_at_the_check_and_on_the_issue(place, make, says, large, monkeypatch):
    if large:
        monkeypatch.setattr(history, "_LARGE_BYTES", 0)
    make(place)
    shop = open_shop(place)
    with pytest.raises(NeedsHuman, match=says) as checked:
        shop.repository.base()
        shop.repository.ensure_readable()
    assert "\n" not in str(checked.value)
    with pytest.raises(NeedsHuman, match=says):
        await LocalForge(shop.server, "shop").remote()


@pytest.mark.parametrize(("make", "says"), AT_THE_FIRST_RUN, ids=lambda value: getattr(value, "__name__", ""))
async def test_what_a_check_does_not_read_is_said_on_the_issue(place, make, says):
    make(place)
    shop = open_shop(place)
    shop.repository.ensure_readable()
    with pytest.raises(NeedsHuman, match=says):
        await LocalForge(shop.server, "shop").remote()


def test_a_check_downloads_nothing_into_a_partial_clone(place):
    place.clone("--filter=blob:none", "--no-checkout")
    missing = count_missing(place.shop)
    settings = Settings(state_dir=place.top / "state")
    project = ProjectSettings(name="shop", tracker="local", repository=str(place.shop), base="main")
    with pytest.raises(NeedsHuman):
        open_shop(place).repository.ensure_readable()
    preview_setup(settings, project)
    assert count_missing(place.shop) == missing > 0


def report_on(place: Place) -> dict[str, tuple[bool, str]]:
    project = ProjectSettings(name="shop", tracker="local", repository=str(place.shop), base="main")
    found = report_setup(Settings(state_dir=place.top / "state"), project)
    return {line.name: (line.ok, line.detail) for line in found}


def test_a_check_says_what_is_missing_of_git_lfs_and_of_submodules(place):
    commit(place.begin(), {".gitattributes": "*.bin filter=lfs\n", "a.bin": f"{_POINTER}{'0' * 64}\nsize 3\n"})
    here = f"{_POINTER}{hashlib.sha256(b'abc').hexdigest()}\nsize 3\n"
    commit(place.shop, {"b.bin": here, "not-under-it.txt": here})
    make_repository(place.other)
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(place.other), "lib")
    run_git(place.shop, *add)
    commit(place.shop, {})
    lfs_objects(place.shop / ".git").add(b"abc")
    missing = f"1 of 2 files under Git LFS have no object here (a.bin): run `git lfs fetch` in {place.shop}"
    assert report_on(place)["content"] == (False, missing)

    modules = place.shop / ".git" / "modules"
    modules.rename(place.top / "modules")
    update = f"submodules are not checked out (lib): run `git submodule update --init --recursive` in {place.shop}"
    assert report_on(place)["content"] == (False, f"{missing}; {update}")

    (place.top / "modules").rename(modules)
    commit(place.shop, {".github/treehand.toml": 'setup = ["git submodule update --init"]\n'})
    commit(place.shop, {"a.bin": "plain\n"})
    shutil.rmtree(modules)
    assert report_on(place)["content"][0]  # its own setup brings them


@pytest.mark.parametrize("make", [without_a_folder, treeless])
def test_a_check_of_setup_says_the_same_in_one_line(place, make):
    make(place)
    if make is treeless:
        shutil.rmtree(place.other)
    found = report_on(place)
    assert all("\n" not in detail for _, detail in found.values())


def count_missing(repository: Path) -> int:
    asked = ["git", "rev-list", "--objects", "--missing=print", "main"]
    listed = subprocess.run(asked, cwd=repository, capture_output=True, text=True, timeout=60, check=True).stdout
    return sum(line.startswith("?") for line in listed.splitlines())


async def test_git_in_a_worktree_knows_where_a_shallow_history_ends(place):
    shallow(place)
    shop = open_shop(place)
    workspaces = GitWorkspaces(place.top / "work", "shop")
    remote = await LocalForge(shop.server, "shop").remote()
    workspace = await workspaces.ensure("treehand/shop-1", base="main", remote=remote)
    for git_dir in (workspace.mounts.shadow, workspace.mounts.agent_git):
        assert len(run_git(git_dir, "log", "--oneline").splitlines()) == 1
