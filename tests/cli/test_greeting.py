"""The daemon greets a person at a terminal, and nobody else."""

import pytest

from bot.cli.greeting import greet
from bot.domain.run import Phase


@pytest.fixture
def greeting(folder, capsys):
    def greets(**how: bool) -> str:
        greet(folder.settings, **{"has_link": False, **how})
        return capsys.readouterr().out

    return greets


def test_it_says_where_the_dashboard_is_and_what_to_type_next(greeting):
    assert greeting() == (
        "Treehand works on shop. Ctrl-C stops it, and the next start continues.\n"
        "Dashboard: http://127.0.0.1:8700\n"
        "There is nothing to do yet. In another terminal, in this folder: "
        'treehand issue new "Say hello" --label ai\n\n'
    )


def test_it_has_the_link_if_the_dashboard_needs_a_login(greeting, monkeypatch):
    monkeypatch.setenv("TREEHAND_WEB__LOGIN", "always")
    said = greeting(has_link=True)
    assert "this link logs you in, once and within ten minutes:\n  http://127.0.0.1:8700/login?" in said


def test_it_says_how_many_runs_continue(folder, greeting):
    folder.has(Phase.REVIEW, "One")
    assert "1 run continues: `treehand status`" in greeting()
    folder.has(Phase.QUEUED, "Two")
    assert "2 runs continue: `treehand status`" in greeting()


def test_issues_elsewhere_are_labelled_there(folder, greeting):
    (folder.path / "treehand.toml").write_text(
        'state_dir = "state"\n[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "acme/shop"\n'
    )
    assert "put the label `ai` on an issue" in greeting()
