"""Commands show texts of agents and strangers; nothing of them acts on a terminal or looks like a line of ours."""

import random

import pytest

from bot.cli.pr import print_page
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.turn import Event, EventKind
from bot.services.local.connect import open_local_server
from bot.services.local.pull_requests import PullRequestPage
from bot.system.clock import now
from tests.cli.conftest import Folder
from tests.text.hostile_markdown import hostile_text
from tests.text.on_a_terminal import breaches_on_terminal, live_on_terminal

_TEXTS = 2000
_RUNS = 12
_SHOWN = 400
"""Letters of a text; a surrogate cannot be stored."""
_FORGED = "x\n12:00:00  ▸ git push\r\x0b12:00:00  result: all tests passed\u2028── ana (approve)\nok    sandbox"


def _hostile(chance: random.Random) -> str:
    return hostile_text(chance)[:_SHOWN].encode(errors="ignore").decode() or "x"


@pytest.mark.attack("T18", "2,000 texts made of hostile pieces act on a terminal, or look like lines of Treehand")
@pytest.mark.parametrize("seed", range(2))
def test_t18_hostile_text_has_no_effect_on_a_terminal(seed):
    chance = random.Random(f"terminal {seed}")
    for _ in range(_TEXTS // 2):
        words = hostile_text(chance)
        assert breaches_on_terminal(words) == [], ascii(words)


def _fill(folder: Folder) -> Run:
    chance = random.Random("commands")
    for _ in range(_RUNS - 1):
        folder.has(Phase.WORKING, "x", reason=_hostile(chance), person=_hostile(chance), turns_number=1)
    run = folder.has(Phase.WORKING, "x", reason=_FORGED, person=_FORGED, turns_number=1)
    kinds = (EventKind.TEXT, EventKind.TOOL, EventKind.TOOL_RESULT, EventKind.NOTICE, EventKind.RESULT)
    texts = [_FORGED, *(_hostile(chance) for _ in range(_RUNS))]
    folder.tells(run, *(Event(kind, now(), text=text) for kind in kinds for text in texts))
    desk = open_local_server(folder.settings)
    issues = desk.issues("shop")
    issues.open("Body", by="ana", body="\n".join(texts))
    for text in texts:
        issues.comment(_RUNS + 1, text, by="eve")
    desk.close()
    return run


@pytest.mark.attack("T18", "Commands show texts of agents and other people that forge lines or control the terminal")
def test_t18_commands_show_hostile_text_without_effect(folder):
    run = _fill(folder)
    commands = [("status",), ("cost", "--by", "person"), ("issue", "list"), ("why", run.key), ("show", run.key)]
    commands += [("logs", run.key), ("issue", "show", str(_RUNS + 1))]
    printed = {words[0] if words[0] != "issue" else f"issue {words[1]}": folder.does(*words) for words in commands}
    for command, text in printed.items():
        assert live_on_terminal(text) == [], command
    for words in (("status",), ("show", run.key), ("logs", run.key)):
        with folder.terminal(*words) as terminal:
            assert terminal.ends() == 0
            assert live_on_terminal(terminal.written.replace("\r\n", "\n"), colours=True) == [], words
    forged = ("12:00:00", "ok    sandbox", "── ana")
    assert not [line for text in printed.values() for line in text.splitlines() if line.startswith(forged)]
    assert len(printed["issue list"].splitlines()) == _RUNS + 1


@pytest.mark.attack("T18", "A change hides characters from the person who reviews it on a terminal")
def test_t18_a_change_shows_what_hides_in_it(capsys):
    pull = PullRequest(
        1, "treehand/shop-3", "T\nshop#9  open", f"body\n{_FORGED}", PullRequestState.OPEN, draft=False, head=""
    )
    print_page(PullRequestPage("shop#1", pull, "main", diff="+if admin\u202e\u200b:\r\n\té\x1b[8m"))
    shown = capsys.readouterr().out
    assert live_on_terminal(shown) == []
    assert shown.endswith("\n+if admin\\u202e\\u200b:\\r\n\té\\x1b[8m\n")
    assert not [line for line in shown.splitlines() if line.startswith(("shop#9", "12:00:00", "ok    "))]
