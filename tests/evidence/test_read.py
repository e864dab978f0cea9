"""Evidence is read from a worktree, and nothing else, despite planted links and pipes."""

import os
import socket
from pathlib import Path

import pytest

from bot.domain.evidence import FOLDER, MOST_BYTES, MOST_FILES, media_type_of
from bot.evidence.read import read_evidence


@pytest.fixture
def left(tmp_path):
    folder = tmp_path / "tree" / FOLDER
    folder.mkdir(parents=True)
    (tmp_path / "host.key").write_text("of the host")
    return folder


def read(left):
    return read_evidence(left.parents[1])


def reasons(left) -> str:
    return "\n".join(read(left)[1])


def test_files_in_folders_are_read_too(left):
    (left / "login page.png").write_bytes(b"x")
    (left / "run" / "1").mkdir(parents=True)
    (left / "run" / "1" / "app.log").write_bytes(b"y")
    assert read(left) == ({"login page.png": b"x", "run/1/app.log": b"y"}, ())


def test_the_number_of_listed_entries_is_limited_over_all_folders(left):
    for folder in range(11):
        (left / str(folder)).mkdir()
        for number in range(490):
            (left / str(folder) / f".{number}").touch()
    assert reasons(left).endswith(f"and {5000 - 10 - 20} more in {FOLDER}")


def test_without_evidence_nothing_is_read(tmp_path):
    assert read_evidence(tmp_path) == ({}, ())
    (tmp_path / ".treehand").mkdir()
    assert read_evidence(tmp_path) == ({}, ())


def test_links_are_not_followed(left, tmp_path):
    (left / "key.txt").symlink_to(tmp_path / "host.key")
    (left / "all").symlink_to(tmp_path)
    assert read(left)[0] == {}
    assert f"{FOLDER}/key.txt: not a file" in reasons(left)
    assert f"{FOLDER}/all: not a file" in reasons(left)


@pytest.mark.parametrize("name", [".treehand", FOLDER])
def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path, name):
    (tmp_path / "elsewhere" / "evidence").mkdir(parents=True)
    (tmp_path / "elsewhere" / "evidence" / "a.txt").write_text("a")
    link = tmp_path / "tree" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere" / name.removeprefix(".treehand").strip("/"))
    assert read_evidence(tmp_path / "tree") == ({}, (f"{FOLDER}: not a folder, or a link",))


def test_pipes_and_sockets_are_left_out(left):
    os.mkfifo(left / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        before = Path.cwd()
        os.chdir(left)
        one.bind("socket")
        os.chdir(before)
    assert read(left) == ({}, (f"{FOLDER}/pipe: not a file", f"{FOLDER}/socket: not a file"))


def test_number_size_and_depth_of_files_are_limited(left):
    (left / "0-large.txt").write_bytes(b"x" * (MOST_BYTES + 1))
    (left / "1" / "2" / "3" / "4").mkdir(parents=True)
    (left / "1" / "2" / "3" / "4" / "deep.txt").write_text("x")
    for number in range(MOST_FILES + 30):
        (left / f"{number + 100}.txt").write_text("x")
    found, left_out = read(left)
    assert len(found) == MOST_FILES
    assert f"{FOLDER}/0-large.txt: larger than 5 MB" in left_out
    assert f"{FOLDER}/1/2/3/4: a folder that cannot be read or is too deep" in left_out
    assert left_out[-1] == f"and 12 more in {FOLDER}"


@pytest.mark.parametrize(
    "name", [".hidden", "a\nb.txt", "b\x1b[2J.txt", "x" * 121, "x" + "(" * 90, "ü.png", "-rf", "a;b"]
)
def test_unusual_names_are_left_out_and_printed_safely(left, name):
    (left / name).write_text("x")
    found, (reason,) = read(left)
    assert found == {}
    assert reason.isprintable()
    assert "its name is too long or has unusual characters" in reason


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n<script>", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"<html><script>alert(1)</script>", "text/plain; charset=utf-8"),
        (b"<svg onload='x'/>", "text/plain; charset=utf-8"),
        ('{"größe": 1}\r\n\x1b[32mgreen\x1b[0m\f'.encode(), "text/plain; charset=utf-8"),
        (b"", "text/plain; charset=utf-8"),
        (b"%PDF-1.7\n\xe2\xe3", ""),
        (b"\x7fELF\0", ""),
        (b"text\0text", ""),
        (b"RIFF\0\0\0\0WAVE", ""),
    ],
)
def test_the_media_type_follows_from_the_content_and_is_never_executable(content, kind):
    assert media_type_of(content) == kind
