"""What a reviewer on the forge does not see, and new files in folders for tools, are held until a person approves."""

import pytest

from bot.domain.change import Change
from bot.publish_guard.hidden_changes import HidingRules, find_hidden_folder, hiding_attributes, why_not_shown
from bot.workspace.workspaces import GitWorkspaces
from tests.publish_guard.test_guard import BRANCH, TURN, found, write

BASE = {
    ".gitattributes": "dist/** linguist-generated\n*.gen.py -diff\n*.lock -diff\n*.png binary\n"
    "/dist/readme.txt !linguist-generated\n",
    ".storybook/main.js": "x\n",
    ".vscode/extensions.json": "{}\n",
    "dist/app.js": "old\n",
    "notes.txt": "*.py -diff\n",
    "src/app.py": "print(1)\n",
}


@pytest.fixture
def workspaces(root):
    return GitWorkspaces(root, "shop")


@pytest.fixture
async def space(workspaces, origin):
    origin.commit(BASE)
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


async def captured(workspaces, space, files: dict[str, str | bytes]) -> Change:
    for name, text in files.items():
        write(space, name, text)
    return await workspaces.capture(BRANCH, **TURN)


@pytest.mark.attack("T12", "A new file hides in a folder that tools read and people do not open")
@pytest.mark.parametrize(
    "name",
    [
        ".config/tool.json", ".hidden/x.py", "web/.cache/run.js", ".cargo/audit.toml", ".idea/workspace.xml",
        ".vs/x.json",
        ".settings/org.prefs", ".vscode/new.json", ".storybook/deeper/x.js", ".GITHUB/.x/y", "\uff0econfig/x",
    ],
)  # fmt: skip
async def test_a_new_file_in_a_hidden_folder_is_held_and_a_person_can_approve_it(workspaces, space, name):
    change = await captured(workspaces, space, {name: "x\n", "src/app.py": "print(2)\n"})
    assert ("hidden folder", name) in found(change)
    assert "tools read `." in next(one.detail for one in change.objections if one.rule == "hidden folder")
    after = await workspaces.capture(BRANCH, **TURN, allowed=[one.id for one in change.objections])
    assert after.objections == ()
    assert after.head != change.head


async def test_ordinary_work_in_folders_with_a_dot_is_published(workspaces, space):
    ordinary = {
        ".github/ISSUE_TEMPLATE/bug.md": "x\n",
        ".github/FUNDING.yml": "x\n",
        ".storybook/preview.js": "x\n",
        ".storybook/main.js": "y\n",
        ".changeset/brave-cats.md": "x\n",
        "public/.well-known/security.txt": "x\n",
        ".editorconfig": "root = true\n",
    }
    change = await captured(workspaces, space, ordinary)
    assert change.objections == ()
    assert change.head != change.before


def test_a_folder_for_tools_holds_every_new_file():
    assert find_hidden_folder(".storybook/a.js", {".storybook"}) == ""
    assert find_hidden_folder(".idea/a.xml", {".idea"}) == ".idea"
    assert find_hidden_folder("a/.idea/b/c.xml", {"a/.idea/b"}) == ".idea"


@pytest.mark.attack("T12", "Code stands in a file whose difference GitHub folds, because .gitattributes says so")
@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("dist/app.js", "linguist-generated"),
        ("dist/deep/new.js", "linguist-generated"),
        ("src/x.gen.py", "-diff"),
        ("x.png", "-diff"),
    ],
)
async def test_text_that_is_marked_as_generated_or_without_difference_is_held(workspaces, space, name, mark):
    change = await captured(workspaces, space, {name: "print('new')\n"})
    assert found(change) == [("hidden change", name)]
    assert f"`{mark}`" in change.objections[0].detail


async def test_lock_files_pictures_and_files_that_are_shown_again_are_published(workspaces, space):
    ordinary = {"uv.lock": "x\n", "logo.png": b"\x89PNG\0", "dist/readme.txt": "x\n", "src/app.py": "print(2)\n"}
    assert (await captured(workspaces, space, ordinary)).objections == ()


@pytest.mark.attack("T12", "A file is published in plain sight, and then moved to where git obeys it")
async def test_a_file_that_becomes_gitattributes_is_held(workspaces, space):
    (space.path / "notes.txt").rename(space.path / "src/.gitattributes")
    change = await workspaces.capture(BRANCH, **TURN)
    assert found(change) == [("hidden change", "src/.gitattributes")]


@pytest.mark.attack("T12", "The agent's own .gitattributes hides its next change")
@pytest.mark.parametrize(
    "line",
    [
        "*.py -diff", "*.py binary", "*.js linguist-generated", "*.js linguist-generated=true",
        "*.js linguist-vendored",
        "[attr]safe -diff", "*.py safe", "*.py working-tree-encoding=UTF-16", "*.py ident", "*.py text -diff",
        '"a b" -diff',
    ],
)  # fmt: skip
async def test_a_change_of_gitattributes_that_hides_something_is_held(workspaces, space, line):
    change = await captured(workspaces, space, {"sub/.gitattributes": f"{line}\n"})
    assert found(change) == [("hidden change", "sub/.gitattributes")]


@pytest.mark.parametrize(
    "line",
    [
        "* text=auto", "*.sh text eol=lf", "*.py diff=python", "dist/** -linguist-generated",
        "*.js linguist-generated=false",
        "*.md linguist-language=Markdown", "# -diff", "*.gen.py diff", "*.x merge=union -text",
    ],
)  # fmt: skip
def test_lines_that_hide_nothing_are_no_objection(line):
    assert hiding_attributes([line.encode()]) == ()


@pytest.mark.attack("T12", "Code stands at the end of a very long line, or behind more lines than GitHub shows")
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.min.js", "x;" * 3000 + "evil()", "line 1 has 6,006 letters"),
        ("a.py", "\n" * 20_000 + "evil()\n", "20,001 lines"),
        ("a.json", "[1,\n" * 20_001, "20,001 lines"),
        ("a.sql", "-- comment\n" * 19_000 + "-- " + "y" * 400_000, "bytes"),
    ],
)
async def test_a_change_that_github_does_not_show_is_held(workspaces, space, name, text, why):
    change = await captured(workspaces, space, {name: text})
    assert found(change) == [("hidden change", name)]
    assert why in change.objections[0].detail


def test_long_lines_of_data_and_many_short_lines_are_shown():
    assert why_not_shown("data.json", [(1, b"x" * 6000)]) == ""
    assert why_not_shown("a.py", [(number, b"x = 1") for number in range(20_000)]) == ""
    assert why_not_shown("a.py", []) == ""


def test_the_nearest_file_and_its_last_line_decide_as_in_git():
    rules = HidingRules(
        {
            b".gitattributes": b"*.js linguist-generated\nshown.js -linguist-generated\n",
            b"lib/.gitattributes": b"*.js linguist-generated=false\nx.js linguist-generated\n",
        }
    )
    marked = [
        path for path in (b"a.js", b"shown.js", b"lib/a.js", b"lib/x.js", b"lib/b/x.js") if rules.why_hidden(path)
    ]
    assert marked == [b"a.js", b"lib/x.js", b"lib/b/x.js"]


def test_attributes_that_are_too_many_to_read_hide_everything():
    assert HidingRules({b".gitattributes": b"x -diff\n" * 20_000}).why_hidden(b"a.py") == "-diff"
    assert HidingRules({b".gitattributes": b"x -diff\n" * 40_000}).why_hidden(b"a.py")
