"""The manual page and the completion scripts, tested with groff and real shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bot.cli.main import parser
from tests.program.conftest import TREEHAND
from tests.test_docs import commands


def printed(*words: str) -> str:
    return subprocess.run([*TREEHAND, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def rendered(page: str) -> str:
    """Renders the page as a reader sees it; groff warns about anything unknown."""
    groff = shutil.which("groff")
    assert groff, "groff is missing: apt-get install groff-base"
    done = subprocess.run(
        [groff, "-man", "-Tascii", "-ww", "-rLL=100n", "-P-bcou"], input=page, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_the_manual_page_renders_without_a_warning_and_names_every_command_and_option():
    shown = rendered(printed("man"))
    assert "NAME\n       treehand - from a labelled issue to a draft pull request\n" in shown
    for name, made in commands(parser()):
        assert f"   {name}" in shown, name
        for action in made._actions:
            for option in action.option_strings:
                assert option in shown, f"{name} {option}"
    assert "TREEHAND(1)" in shown


def test_every_option_has_a_help_text():
    made = [("treehand", parser()), *commands(parser())]
    silent = [
        (name, one.option_strings)
        for name, each in made
        for one in each._actions
        if one.option_strings and not one.help
    ]
    assert silent == []


def completed_by_bash(typed: str, folder: Path) -> set[str]:
    """Returns the completions of a real bash for the last word."""
    words = typed.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    script = f"""
source {folder}/treehand.bash
COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; COMP_LINE='{typed}'; COMP_POINT={len(typed)}
how=$(complete -p treehand); how=${{how#*-F }}; "${{how%% *}}" treehand '{words[-1]}' '{words[-2]}'
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script], capture_output=True, text=True, check=True, timeout=60,
        cwd=folder,
    )  # fmt: skip
    return {word.strip() for word in done.stdout.splitlines()} - {""}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bash")
    (folder / "treehand.bash").write_text(printed("completion", "bash"))
    (folder / "other.toml").touch()
    return folder


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("treehand sta", {"status"}),
        ("treehand issue ", {"new", "list", "show", "label", "comment", "close", "reopen"}),
        ("treehand pr me", {"merge"}),
        ("treehand init --r", {"--repository"}),
        ("treehand completion ", {"bash", "zsh", "fish"}),
        ("treehand --config oth", {"other.toml"}),
    ],
)
def test_bash_completes_commands(typed: str, expected: set[str], folder: Path):
    assert expected <= completed_by_bash(typed, folder)


def test_bash_offers_only_words_with_the_same_beginning(folder: Path):
    assert completed_by_bash("treehand sta", folder) == {"status"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_every_shell_has_every_command(shell: str):
    text = printed("completion", shell)
    words = {name.split(" ")[-1] for name, _ in commands(parser())}
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("shell", [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)])
def test_completion_scripts_are_valid_in_the_installed_shells(shell: str, tmp_path: Path):
    file = tmp_path / shell
    file.write_text(printed("completion", shell))
    assert subprocess.run([shell, "-n", file], capture_output=True, text=True, timeout=60, check=True).stderr == ""
