"""`treehand check` and `treehand why`: what they say when things are not as they should be."""

import json
from argparse import Namespace
from types import SimpleNamespace

import pytest

from bot.cli.check import _check_service
from bot.cli.why import why
from bot.domain.run import Phase, Run, RunTurns, WaitReason
from bot.domain.turn import Failure, TurnOutcome
from bot.engine.circuit_breaker import KEY_ADVICE, pause_reasons
from bot.settings.load import load
from bot.status.snapshot import read_status
from bot.store.build import open_store


class Odd:
    """A service whose answers have another shape."""

    name = "github"

    async def check(self, *_: object, fix: bool) -> list[tuple[str, bool, str]]:
        return [({}["full_name"], True, "")]


def test_an_answer_of_another_shape_is_a_line_and_no_traceback():
    (line,) = _check_service(Odd(), None, SimpleNamespace(name="shop"), fix=False)
    assert (line.name, line.ok) == ("shop/github", False)
    assert "something unexpected (KeyError: 'full_name')" in line.detail


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "treehand.toml"
    file.write_text(
        f'state_dir = "{tmp_path / "state"}"\n[[projects]]\nname = "shop"\ntracker = "local"\n'
        f'repository = "{tmp_path}"\n'
    )
    (tmp_path / "state").mkdir(mode=0o700)
    return file


def test_nobody_says_that_an_agent_is_at_work_where_no_daemon_runs(config, capsys):
    settings = load(config)
    store = open_store(settings)
    store.save(Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=1)), at=1.0)
    store.close()

    why(Namespace(config=config, key="shop#1", json=True))
    assert "no agent is working" in json.loads(capsys.readouterr().out)["why"]
    assert read_status(settings).summaries["shop#1/1"].doing == "nothing: no daemon is running"
    assert read_status(settings, by_daemon=True).summaries["shop#1/1"].doing == ""


def test_health_names_a_refused_key_with_its_fix_until_the_model_has_answered_another_run():
    refused = Run("shop#1", "shop", phase=Phase.ASKING, wait_reason=WaitReason.KEY_REFUSED, turns=RunTurns(number=1))
    no = TurnOutcome("shop", "shop#1", 1, 1, 40.0, 50.0, Failure.KEY)
    assert pause_reasons([refused], [no], 100.0) == {"model": f"it refuses the key, as shop#1 shows; {KEY_ADVICE}"}
    assert pause_reasons([refused], [no, TurnOutcome("shop", "shop#2", 1, 1, 60.0, 70.0)], 100.0) == {}
