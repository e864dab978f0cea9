"""A folder is walked by descriptors: nothing outside is reached, whatever changes during the walk."""

import os
from pathlib import Path

import pytest

from bot.system.trash import Trash
from bot.system.tree_walk import FolderMoved, walk_folders


def path_of(opened: int) -> Path:
    return Path(f"/proc/self/fd/{opened}").readlink()


def test_each_folder_is_visited_once_and_links_are_not_followed(tmp_path):
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top / "a" / "b", top / "c", outside / "inner"):
        folder.mkdir(parents=True)
    (top / "a" / "link").symlink_to(outside)
    (top / "file").touch()
    found = [str(path_of(opened).relative_to(top)) for opened in walk_folders(top)]
    assert found[0] == "."
    assert sorted(found) == [".", "a", "a/b", "c"]


@pytest.mark.usefixtures("removes_deep_folders")
def test_depth_has_no_limit_and_few_files_are_open(tmp_path):
    before = os.getcwd()  # noqa: PTH109
    os.chdir(tmp_path)
    for _ in range(1500):
        os.mkdir("d" * 30)  # noqa: PTH102
        os.chdir("d" * 30)
    os.chdir(before)
    most = visited = 0
    for _ in walk_folders(tmp_path):
        visited += 1
        most = max(most, len(os.listdir("/proc/self/fd"))) if visited % 100 == 0 else most  # noqa: PTH208
    trash = Trash(tmp_path / "trash")
    trash.throw(tmp_path / ("d" * 30))
    assert trash.empty() == ()
    assert visited == 1501
    assert most < 200


@pytest.mark.attack("T14", "A program moves a folder away while root walks through it")
def test_t14_a_folder_moved_outside_during_the_walk_ends_it(tmp_path):
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top / "a" / "b", outside / "a", outside / "precious"):
        folder.mkdir(parents=True)
    visited = []
    with pytest.raises(FolderMoved):
        for opened in walk_folders(top):
            visited.append(path_of(opened))
            if visited[-1] == top / "a" / "b":
                (top / "a" / "b").rename(outside / "a" / "b")
    assert outside / "precious" not in visited


@pytest.mark.attack("T14", "A program puts a link where root has just seen a folder")
def test_t14_a_folder_replaced_by_a_link_is_not_entered(tmp_path):
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top / "a", top / "b", outside / "precious"):
        folder.mkdir(parents=True)
    visited = []
    for opened in walk_folders(top):
        visited.append(path_of(opened))
        for name in ("a", "b"):
            if visited[-1] == top / ("b" if name == "a" else "a") and not (top / name).is_symlink():
                (top / name).rename(tmp_path / f"moved-{name}")
                (top / name).symlink_to(outside)
    assert [path for path in visited if path.is_relative_to(outside)] == []
    assert len(visited) == 2
