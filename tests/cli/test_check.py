"""`treehand check` and `treehand why`: what they say when things are not as they should be."""

import json
import os
import signal
import socket
import subprocess
import sys
from argparse import Namespace
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from bot.cli.check import (
    CheckLine,
    _check_dashboard,
    _check_history,
    _check_model,
    _check_model_key,
    _check_service,
    _print_lines,
    _run_check,
    check,
)
from bot.cli.cost import cost
from bot.cli.output import hanging_words
from bot.cli.why import why
from bot.domain.run import Phase, Run, RunSpend, RunTurns, WaitReason
from bot.domain.turn import Failure, TurnOutcome
from bot.engine.circuit_breaker import KEY_ADVICE, pause_reasons
from bot.errors import BadSettings
from bot.settings.load import load
from bot.status.snapshot import read_status
from bot.store.build import open_store
from bot.system.locks import daemon_lock
from tests.services.local.user_repository import make_repository


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


# What it prints


class Service(BaseHTTPRequestHandler):
    """The model's service, with one answer for every request."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, body, dict(self.headers)))
        status, answer = self.server.answer
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.send_header("content-type", "text/html" if answer.startswith(b"<html>") else "application/json")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture
def service(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        server.answer, server.asked = (200, b'{"input_tokens": 1}'), []
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-1")
        yield server
        server.shutdown()


def model_line(config) -> CheckLine:
    return _run_check("model", _check_model, load(config))


def test_the_model_is_asked_to_count_tokens_which_costs_nothing(config, service):
    assert model_line(config) == CheckLine("model", ok=True, detail="a key is set; it answers, and takes the key")
    ((path, body, headers),) = service.asked
    assert (path, headers["x-api-key"], "max_tokens" in body) == ("/v1/messages/count_tokens", "key-1", False)


def test_a_token_of_a_subscription_is_sent_as_its_service_expects(config, service, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat-1")
    assert model_line(config).ok
    headers = service.asked[0][2]
    assert (headers["authorization"], headers["anthropic-beta"]) == ("Bearer sk-ant-oat-1", "oauth-2025-04-20")


@pytest.mark.parametrize(
    ("answer", "ok", "words"),
    [
        ((401, b"{}"), False, "refuses the key (it answers 401). Set ANTHROPIC_API_KEY to a valid key"),
        ((429, b"{}"), True, "it takes the key, but limits requests now (429)"),
        ((503, b"{}"), False, "does not work now (it answers with 503)"),
        ((200, b"<html>Please log in</html>"), False, "A web page answers at"),
        ((404, b"model: claude-nova-9"), False, "does not know the model claude-nova-9. Correct `agent.model`"),
        ((404, b"no such page"), True, "it answers, but cannot test the key (404)"),
    ],
)
def test_what_the_models_service_answers_decides(config, service, monkeypatch, answer, ok, words):
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-nova-9")
    service.answer = answer
    line = model_line(config)
    assert (line.ok, words in line.detail) == (ok, True), line.detail


def test_a_service_that_cannot_be_reached_is_named_by_its_address(config, service, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://user:password@127.0.0.1:1/path")
    line = model_line(config)
    assert (line.ok, line.detail) == (
        False, "The model's service at http://127.0.0.1:1 does not answer (All connection attempts failed)."
    )  # fmt: skip


def test_a_port_that_is_taken_is_a_problem_unless_our_own_daemon_has_it(config, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("TREEHAND_WEB__BIND", bind := f"127.0.0.1:{taken.getsockname()[1]}")
        settings = load(config)
        line = _run_check("dashboard", _check_dashboard, settings)
        assert (line.ok, line.detail) == (
            False, f"{bind} cannot be used: Address already in use. Set another `web.bind`, or an empty one for none."
        )  # fmt: skip
        with daemon_lock(settings.state_dir):
            assert _run_check("dashboard", _check_dashboard, settings).ok
    assert _run_check("dashboard", _check_dashboard, settings).ok


def test_the_usual_port_may_be_taken_because_run_finds_another(config, monkeypatch):
    monkeypatch.setattr("bot.cli.check.why_taken", lambda _: "Address already in use")
    monkeypatch.delenv("TREEHAND_WEB__BIND", raising=False)
    line = _run_check("dashboard", _check_dashboard, load(config))
    assert (line.ok, "is in use, so the next free port is taken" in line.detail) == (True, True), line.detail


def test_a_shallow_clone_is_note(config, tmp_path):
    source = make_repository(tmp_path / "source")
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{source}", str(tmp_path / "cut")], check=True)
    project = load(config).projects[0]
    assert _check_history(project.model_copy(update={"repository": str(source)})) == []
    (line,) = _check_history(project.model_copy(update={"repository": str(tmp_path / "cut")}))
    assert (line.ok, line.is_note, "agents see only the last part of the history" in line.detail) == (True, True, True)


LINES = [
    CheckLine("git", ok=True, detail="version 2"),
    CheckLine("model", ok=False, detail="Set a key."),
    CheckLine("sandbox", ok=True, detail="none", is_note=True),
]


def test_only_problems_and_notes_are_printed_and_the_rest_is_counted(capsys):
    _print_lines(LINES, verbose=False)
    assert capsys.readouterr().out == (
        "failed  model        Set a key.\n"
        "note    sandbox      none\n"
        "2 of 3 checks passed; `treehand check -v` lists them.\n"
    )  # fmt: skip
    _print_lines(LINES[:1], verbose=False)
    assert capsys.readouterr().out == "All 1 checks passed; `treehand check -v` lists them.\n"
    _print_lines(LINES, verbose=True)
    assert capsys.readouterr().out.splitlines()[0] == "ok      git          version 2"


def test_no_word_is_broken_at_the_edge_of_the_window(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")
    text = "failed  model        Set ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN or agent.key_file."
    lines = hanging_words(text, 21).splitlines()
    assert [line for line in lines[1:] if not line.startswith(" " * 21)] == []
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert max(map(len, lines)) <= 50


def test_learning_without_a_terminal_needs_consent(config, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    with pytest.raises(BadSettings, match="--learn asks before it runs setup, and there is no terminal"):
        check(Namespace(config=str(config), learn=True, json=False, yes=False))
