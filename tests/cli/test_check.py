"""`treehand check` and `treehand why`: what they say when things are not as they should be."""

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from contextlib import closing
from types import SimpleNamespace

import pytest

from bot.cli.check import _check_model_key, _check_service
from bot.cli.cost import cost
from bot.cli.why import why
from bot.domain.run import Phase, Run, RunSpend, RunTurns, WaitReason
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


def test_check_and_health_name_a_model_whose_price_is_not_known(config, monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-1")
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-nova-9")
    why = "is counted at the price of claude-opus-4-0, the dearest, because the price of claude-nova-9 is not known"
    assert why in _check_model_key(load(config))
    store = open_store(load(config))
    store.save(Run("shop#1", "shop", phase=Phase.REVIEW, spend=RunSpend(unpriced="claude-nova-9")), at=1.0)
    store.close()
    assert why in read_status(load(config)).health["price claude-nova-9"].detail
    cost(Namespace(config=config, by="issue", json=False))
    assert "the price of claude-nova-9 is not known" in capsys.readouterr().out

    config.write_text(f'{config.read_text()}\n[budget.prices."claude-nova-9"]\ninput = 1\noutput = 5\n')
    assert _check_model_key(load(config)) == "a key is set"
    assert "price claude-nova-9" not in read_status(load(config)).health


def test_an_alias_of_a_model_is_no_unknown_price(config, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-1")
    monkeypatch.setenv("ANTHROPIC_MODEL", "opus[1m]")
    assert _check_model_key(load(config)) == "a key is set"


def test_nobody_says_that_an_agent_is_at_work_where_no_daemon_runs(config, capsys):
    settings = load(config)
    store = open_store(settings)
    store.save(Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=1)), at=1.0)
    store.close()

    why(Namespace(config=config, key="shop#1", json=True))
    assert "no agent is working" in json.loads(capsys.readouterr().out)["why"]
    assert read_status(settings).summaries["shop#1/1"].doing == "nothing: no daemon is running"
    assert read_status(settings, by_daemon=True).summaries["shop#1/1"].doing == ""


def test_nobody_says_when_a_run_starts_where_no_daemon_runs(config):
    settings = load(config)
    with closing(open_store(settings)) as store:
        earlier = TurnOutcome("shop", "shop#2", 1, 1, 60.0, 70.0)
        store.save(Run("shop#2", "shop", phase=Phase.DONE), at=70.0, outcome=earlier)
        store.save(Run("shop#1", "shop"), at=80.0)
    shown = read_status(settings).summaries["shop#1/1"]
    assert (shown.doing, shown.eta_seconds) == ("nothing: no daemon is running", None)
    assert read_status(settings, by_daemon=True).summaries["shop#1/1"].eta_seconds is not None


def test_a_daemon_that_is_suspended_is_not_called_running(config, capsys):
    """As by Ctrl-Z: its lock is still held, and nothing goes on."""
    settings = load(config)
    with closing(open_store(settings)) as store:
        store.save(Run("shop#1", "shop"), at=1.0)
    holding = (
        "import os, signal, sys; from pathlib import Path; from bot.system.locks import daemon_lock\n"
        "with daemon_lock(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGSTOP)"
    )
    with subprocess.Popen([sys.executable, "-c", holding, str(settings.state_dir)]) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        status = read_status(settings)
        why(Namespace(config=config, key="shop#1", json=True))
        process.send_signal(signal.SIGCONT)
    assert "The daemon is suspended, so it stays queued" in json.loads(capsys.readouterr().out)["why"]
    assert status.summaries["shop#1/1"].doing == "nothing: the daemon is suspended"
    assert status.summaries["shop#1/1"].eta_seconds is None
    daemon = status.health["daemon"]
    assert (daemon.ok, daemon.detail) == (
        False, f"suspended as pid {process.pid}: `kill -CONT {process.pid}` continues it"
    )  # fmt: skip


def test_health_names_a_refused_key_with_its_fix_until_the_model_has_answered_another_run():
    refused = Run("shop#1", "shop", phase=Phase.ASKING, wait_reason=WaitReason.KEY_REFUSED, turns=RunTurns(number=1))
    no = TurnOutcome("shop", "shop#1", 1, 1, 40.0, 50.0, Failure.KEY)
    assert pause_reasons([refused], [no], 100.0) == {"model": f"it refuses the key, as shop#1 shows; {KEY_ADVICE}"}
    assert pause_reasons([refused], [no, TurnOutcome("shop", "shop#2", 1, 1, 60.0, 70.0)], 100.0) == {}
