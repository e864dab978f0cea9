"""Submodules: their files are there at the recorded commits, and what is changed in them is named and kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.remote import Remote
from bot.git.index import Index
from bot.git.objects import blob_id
from bot.workspace.capture import read_inner_folder
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"
_LOCAL = ("-c", "protocol.file.allow=always")


def make_repository(folder: Path, files: dict[str, str]) -> Path:
    run_git(folder.parent, "init", "-q", "-b", "main", str(folder))
    for name, text in files.items():
        (folder / name).write_text(text)
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "-m", "begin")
    return folder


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "inner", {"inner.py": "1\n"})


@pytest.fixture
def with_library(origin: Origin, inner: Path, tmp_path: Path) -> Origin:
    """The clone of a person has the submodule `lib`, and in it the submodule `inner`."""
    library = make_repository(tmp_path / "library", {"lib.py": "1\n", ".gitignore": "*.o\n"})
    run_git(library, *_LOCAL, "submodule", "add", "-q", "../inner", "inner")
    run_git(library, "commit", "-q", "-m", "inner")
    run_git(origin.clone, *_LOCAL, "submodule", "add", "-q", "--name", "libraries/lib", str(library), "lib")
    run_git(origin.clone, *_LOCAL, "submodule", "update", "-q", "--init", "--recursive")
    origin.push()
    return origin


def remote_of(origin: Origin) -> Remote:
    return replace(origin.remote, modules=str(origin.clone / ".git" / "modules"))


async def begin(workspaces: GitWorkspaces, remote: Remote) -> Path:
    return (await workspaces.ensure(BRANCH, base="main", remote=remote)).mounts.folder


async def test_the_files_of_submodules_are_there_and_nothing_counts_as_changed(with_library, workspaces):
    folder = await begin(workspaces, remote_of(with_library))

    assert (folder / "lib/lib.py").read_text() == "1\n"
    assert (folder / "lib/inner/inner.py").read_text() == "1\n"
    assert run_git(folder, "status", "--porcelain") == ""
    (folder / "lib/lib.o").write_text("ignored there")
    change = await workspaces.capture(BRANCH, message="Nothing", at=1)
    assert (change.files, change.left_out) == ((), ())


async def test_they_are_at_the_recorded_commit_although_the_library_went_on(with_library, workspaces, tmp_path):
    (tmp_path / "library/lib.py").write_text("2\n")
    run_git(tmp_path / "library", "commit", "-qam", "go on")
    run_git(with_library.clone / "lib", "fetch", "-q")

    assert (await begin(workspaces, remote_of(with_library)) / "lib/lib.py").read_text() == "1\n"


async def test_what_is_changed_in_a_submodule_is_named_and_set_aside(with_library, workspaces, root):
    folder = await begin(workspaces, remote_of(with_library))
    (folder / "lib/lib.py").write_text("2\n")
    (folder / "lib/inner/new.py").write_text("new\n")
    (folder / "README.md").write_text("changed\n")
    change = await workspaces.capture(BRANCH, message="Change", at=1)

    assert [one.path for one in change.files] == ["README.md"]
    assert change.left_out == (
        "lib: 1 file (lib.py) changed in this submodule, which is another repository",
        "lib/inner: 1 file (new.py) changed in this submodule, which is another repository",
    )
    kept = Path(await workspaces.salvage(BRANCH))
    await workspaces.remove(BRANCH)
    assert kept.is_relative_to(root / "aside")
    assert (kept / "lib/lib.py").read_text() == "2\n"
    assert (kept / "lib/inner/new.py").read_text() == "new\n"


async def test_a_removed_submodule_folder_is_named(with_library, workspaces):
    folder = await begin(workspaces, remote_of(with_library))
    (folder / "lib/inner/inner.py").unlink()
    (folder / "lib/inner").rmdir()
    change = await workspaces.capture(BRANCH, message="Change", at=1)

    assert change.left_out == ("lib/inner: 1 file (inner.py) changed in this submodule, which is another repository",)


async def test_a_submodule_without_a_repository_is_empty_and_it_is_said(with_library, workspaces):
    folder = await begin(workspaces, with_library.remote)

    assert list((folder / "lib").iterdir()) == []
    (said,) = (await workspaces.capture(BRANCH, message="Nothing", at=1)).left_out
    assert said.startswith("lib: a submodule that was empty for the agent; `git submodule update --init")


async def test_files_that_an_agent_puts_into_an_empty_submodule_are_named_and_kept(with_library, workspaces):
    folder = await begin(workspaces, with_library.remote)
    (folder / "lib/work.py").write_text("work\n")
    (said,) = (await workspaces.capture(BRANCH, message="Nothing", at=1)).left_out

    assert said == "lib: 1 file (work.py) changed in this submodule, which is another repository"
    assert (Path(await workspaces.salvage(BRANCH)) / "lib/work.py").read_text() == "work\n"


async def test_what_setup_puts_into_a_submodule_is_not_the_agents(with_library, workspaces):
    folder = await begin(workspaces, with_library.remote)
    (folder / "lib/lib.py").write_text("brought by setup\n")
    await workspaces.setup_access.accept_submodules(BRANCH)
    assert (await workspaces.capture(BRANCH, message="Nothing", at=1)).left_out == ()

    (folder / "lib/lib.py").write_text("brought by the agent\n")
    (said,) = (await workspaces.capture(BRANCH, message="Nothing", at=2)).left_out
    assert said.startswith("lib: 1 file (lib.py) changed")


async def test_a_link_in_the_place_of_a_submodule_is_not_followed(with_library, workspaces, tmp_path):
    folder = await begin(workspaces, with_library.remote)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("outside\n")
    (folder / "lib").rmdir()
    (folder / "lib").symlink_to(tmp_path / "outside")

    change = await workspaces.capture(BRANCH, message="Change", at=1)
    assert not any("secret.txt" in one for one in change.left_out)
    with pytest.raises(OSError, match="Not a directory"):
        read_inner_folder(folder, b"lib", Index(), blob_id)


async def test_setup_that_brings_submodules_itself_finds_them_empty(with_library, workspaces):
    folder = await begin(workspaces, remote_of(with_library))
    await workspaces.setup_access.empty_submodules(BRANCH)
    assert not (folder / "lib").exists()

    run_git(folder, *_LOCAL, "submodule", "update", "-q", "--init", "--recursive")
    await workspaces.setup_access.accept_submodules(BRANCH)
    assert (folder / "lib/inner/inner.py").read_text() == "1\n"
    assert (await workspaces.capture(BRANCH, message="Nothing", at=1)).left_out == ()
