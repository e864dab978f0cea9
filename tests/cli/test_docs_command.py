"""`treehand docs`: the pages that messages name can be read, wherever Treehand is installed."""

import argparse
import ast
import re
import sysconfig
from pathlib import Path

import pytest

from bot.cli.docs import docs
from bot.errors import CannotStart
from bot.system import documentation

ROOT = Path(__file__).parents[2]


def printed(capsys: pytest.CaptureFixture[str], page: str = "") -> str:
    docs(argparse.Namespace(page=page))
    return capsys.readouterr().out


def test_a_page_is_printed_by_its_name(capsys):
    assert printed(capsys, "security") == (ROOT / "docs" / "security.md").read_text()
    assert printed(capsys, "deploy") == (ROOT / "deploy" / "README.md").read_text()


def test_without_a_name_all_pages_are_listed_with_their_titles(capsys):
    listed = printed(capsys)
    assert f"Pages in {ROOT}. To read one: treehand docs PAGE\n" in listed
    assert re.search(r"^  security +Security$", listed, re.MULTILINE)
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"README"} <= set(listed.split())


@pytest.mark.parametrize(
    ("page", "hint"),
    [
        ("securty", "Did you mean `security`?"),
        ("docs/security.md", "Did you mean `security`?"),
        ("xyz", "`treehand docs` lists all pages."),
    ],
)
def test_an_unknown_page_is_refused_with_the_nearest_name(page, hint):
    with pytest.raises(CannotStart, match=re.escape(hint)):
        docs(argparse.Namespace(page=page))


def test_installed_pages_are_found_and_their_absence_is_explained(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(documentation, "_CLONE", tmp_path / "none")
    monkeypatch.setattr(sysconfig, "get_path", {"data": str(tmp_path)}.__getitem__)
    with pytest.raises(CannotStart, match="this installation has no documentation"):
        docs(argparse.Namespace(page=""))
    (tmp_path / "share/doc/treehand/docs").mkdir(parents=True)
    (tmp_path / "share/doc/treehand/docs/security.md").write_text("# Security\n\nSafe.\n")
    assert printed(capsys, "security") == "# Security\n\nSafe.\n"


def texts() -> list[str]:
    """Returns the texts of the program, without docstrings and comments."""
    found = []
    for path in (ROOT / "bot").rglob("*.py"):
        tree = ast.parse(path.read_text())
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes
        ]
    return found


def test_every_page_that_a_message_names_exists():
    pages = documentation.find_pages(ROOT)
    named = {name for text in texts() for name in re.findall(r"treehand docs ([a-z-]+)", text)}
    assert {"security", "deploy"} <= named <= set(pages)
    assert all(page.is_file() for page in pages.values())


def test_no_message_names_a_page_by_a_path_that_only_a_clone_has():
    named = [text for text in texts() if " " in text and re.search(r"(?<![\w/.])(docs|deploy)/[\w-]+\.md", text)]
    assert named == []
