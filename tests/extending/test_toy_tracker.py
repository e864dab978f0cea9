"""The worked example of docs/extending.md: it is complete, the page shows it unchanged, and Treehand works with it."""

import json
import re
from pathlib import Path

import pytest

from bot.control.issue_keys import parse_key
from bot.control.user_actions import UserActionService
from bot.domain.issue import Issue, NewIssue
from bot.errors import BadSettings
from bot.secret_scan.scanner import Secrets
from bot.services.registry import SERVICES, open_services
from bot.settings import schema
from bot.settings.load import load
from bot.settings.schema import Settings
from bot.status.snapshot import read_status
from tests.extending.toy_tracker import ToyService

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(__file__).with_name("toy_tracker.py")
EXAM = ROOT / "tests/contracts/test_trackers.py"


@pytest.fixture
def file(tmp_path) -> Path:
    (tmp_path / "state").mkdir()
    text = 'state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "."\ntracker = "toy"\n'
    (tmp_path / "treehand.toml").write_text(text)
    return tmp_path / "treehand.toml"


@pytest.fixture
def settings(file, monkeypatch) -> Settings:
    """Adds the toy's folder to the others, and its line to the registry."""
    monkeypatch.setattr(schema, "service_folders", lambda: sorted([*SERVICES, "toy"]))
    monkeypatch.setitem(SERVICES, "toy", ToyService())
    return load(file)


def test_without_its_folder_the_tracker_is_refused_in_the_settings(file):
    with pytest.raises(BadSettings, match="Input should be 'github', 'linear' or 'local'"):
        load(file)


async def test_the_daemon_reads_the_issues_that_a_person_opens(settings):
    woken: list[str] = []
    key = await UserActionService(settings, woken.extend).file_issue(
        NewIssue("shop", "Add a cart", "", ("ai",)), by="Mira"
    )
    async with open_services(settings, Secrets()) as services:
        (project,) = settings.projects
        view = await services[project.tracker].tracker(project).snapshot([])
    assert (list(view.issues), woken) == ([key], ["shop"])
    issue: Issue = view.issues[key]
    assert (issue.title, issue.requester.name) == ("Add a cart", "Mira")
    assert json.loads((settings.state_dir / "toy/shop/1.json").read_text())["labels"] == {"ai": "Mira"}


def test_keys_and_status_work_without_changes(settings):
    (project,) = settings.projects
    assert parse_key(settings, "#3") == (project, "shop#3")
    assert read_status(settings).runs == []


def test_the_page_shows_the_example_unchanged():
    code = EXAMPLE.read_text() + EXAM.read_text()
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/extending.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    assert [block for block in blocks if block not in code] == []


def test_the_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) < 150
