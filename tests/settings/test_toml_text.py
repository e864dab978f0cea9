"""Changes in the text of a settings file: the key alone changes, and everything else stays as people wrote it."""

import tomllib

import pytest

from bot.errors import BadSettings
from bot.settings.change_file import allow_setup_hosts
from bot.settings.load import load
from bot.settings.toml_text import add_table, add_to_list, line_number, remove_table

PROJECT = '[[projects]]\nname = "shop"\nrepository = "."\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[sandbox]\nsetup_hosts = ["b.test"]\n'),
        ("# mine\n" + PROJECT, "# mine\n" + PROJECT + '\n[sandbox]\nsetup_hosts = ["b.test"]\n'),
        ("label = 'ai'", "label = 'ai'\n\n[sandbox]\nsetup_hosts = [\"b.test\"]\n"),
        ("[sandbox]  # dull\nmemory_gb = 3\n", '[sandbox]  # dull\nsetup_hosts = ["b.test"]\nmemory_gb = 3\n'),
        ("[sandbox]\nsetup_hosts = [] # none\n", '[sandbox]\nsetup_hosts = ["b.test"] # none\n'),
        ('[sandbox]\nsetup_hosts = ["a"] # [a]\n', '[sandbox]\nsetup_hosts = ["a", "b.test"] # [a]\n'),
        ('[sandbox]\nsetup_hosts = ["a", ]\n', '[sandbox]\nsetup_hosts = ["a", "b.test"]\n'),
        ('sandbox.setup_hosts = ["a"]\n' + PROJECT, 'sandbox.setup_hosts = ["a", "b.test"]\n' + PROJECT),
        ("sandbox.memory_gb = 3\n" + PROJECT, 'sandbox.memory_gb = 3\nsandbox.setup_hosts = ["b.test"]\n' + PROJECT),
        (
            'sandbox = { setup_hosts = ["a"], file_gb = 1 }\n',
            'sandbox = { setup_hosts = ["a", "b.test"], file_gb = 1 }\n',
        ),
        (
            '[sandbox]\nsetup_hosts = [\n    "a",  # first ]\n]\n[limits]\nworking = 3\n',
            '[sandbox]\nsetup_hosts = [\n    "a",  # first ]\n    "b.test",\n]\n[limits]\nworking = 3\n',
        ),
        (
            '[sandbox]\nsetup_hosts = [\n    "a"  # first\n]\n',
            '[sandbox]\nsetup_hosts = ["b.test", \n    "a"  # first\n]\n',
        ),
        ('[sandbox]\nsetup_hosts = ["b.test"]\n', '[sandbox]\nsetup_hosts = ["b.test"]\n'),
        ('note = """\n[sandbox]\n"""\n', 'note = """\n[sandbox]\n"""\n\n[sandbox]\nsetup_hosts = ["b.test"]\n'),
    ],
)
def test_a_word_is_added_to_a_list(before, after):
    assert add_to_list(before, "sandbox", "setup_hosts", ["b.test"]) == after
    assert set(tomllib.loads(after)["sandbox"]["setup_hosts"]) >= {"b.test"}


def test_a_table_on_one_line_without_the_key_is_left_alone():
    assert add_to_list("sandbox = { file_gb = 1 }\n", "sandbox", "setup_hosts", ["b.test"]) is None


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("label",), 2),
        (("limits", "working"), 5),
        (("limits", "workin"), 4),
        (("sandbox", "tools", 0), 8),
        (("projects", 1, "name"), 15),
        (("projects", 1, "repository"), 14),
        (("nothing",), 0),
    ],
)
def test_the_line_of_a_key_is_found(place, line):
    text = '# mine\nlabel = "ai"\n\n[limits]\nworking = 3\n\n[sandbox]\ntools = [\n  "a",\n]\n\n'
    text += '[[projects]]\nname = "a"\n[[projects]]\nname = "b"\n'
    assert line_number(text, place) == line


def test_the_file_keeps_its_mode_and_is_never_half_written(tmp_path):
    file = tmp_path / "treehand.toml"
    file.write_text(PROJECT)
    file.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    assert allow_setup_hosts(link, ["b.test"])
    assert load(file).sandbox.setup_hosts == ("b.test",)
    assert file.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.toml", "treehand.toml"]


def test_hosts_that_are_no_settings_change_nothing(tmp_path):
    file = tmp_path / "treehand.toml"
    file.write_text(PROJECT)
    with pytest.raises(BadSettings, match="use NAME or NAME:PORT"):
        allow_setup_hosts(file, ["https://b.test/"])
    assert file.read_text() == PROJECT
    assert [one.name for one in tmp_path.iterdir()] == ["treehand.toml"]


TWO = f'label = "ai"  # mine\n\n# first\n{PROJECT}\n# second\n[[projects]]\nname = "blog"\nrepository = "../blog"\n'


def test_a_project_is_added_at_the_end_and_the_rest_stays():
    changed = add_table(TWO.rstrip("\n"), ["[[projects]]", 'name = "more"', 'repository = "."'])
    assert changed == f'{TWO}\n[[projects]]\nname = "more"\nrepository = "."\n'


@pytest.mark.parametrize("number", [0, 1])
def test_a_project_is_removed_and_the_others_stay(number):
    text = TWO.replace(
        'repository = "."\n', 'repository = "."\nsetup = [\n    "make",  # ]\n]\n[projects.run]\nweb = "x"\n'
    )
    changed = remove_table(text, "projects", number)
    assert changed
    read, before = tomllib.loads(changed), tomllib.loads(text)
    del before["projects"][number]
    assert read == before
    assert "# mine" in changed


def test_the_last_project_can_be_removed():
    assert remove_table(PROJECT, "projects", 0) == ""


def test_projects_on_one_line_are_left_alone():
    assert (
        remove_table('projects = [{name = "a", repository = "."}, {name = "b", repository = "."}]\n', "projects", 0)
        is None
    )
