"""T18: untrusted text is printed without control characters."""

from bot.cli.output import print_text
from bot.domain.run import Phase, Run
from bot.domain.turn import Event, EventKind, TurnOrder
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system.clock import now
from bot.system.locks import daemon_lock
from tests.program.test_mistakes import mistake

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u200b\r"
TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "evil")


def is_plain(text: str) -> bool:
    return all(letter.isprintable() or letter in "\n\t" for letter in text) and TAGS[0] not in text


def test_t18_printed_text_has_no_control_characters(capsys):
    print_text(f"red{ESCAPES}{TAGS} 👩‍🚀\tok")
    assert capsys.readouterr().out == "red\n 👩‍🚀\tok\n"


async def test_t18_titles_bodies_and_mistakes_are_printed_without_control_characters(ready):
    key = await ready.does("issue", "new", f"Fix{TAGS} it\u202e", "--body", f"Please\u202e{TAGS}.", "--label", "ai")
    assert await ready.does("issue", "list") == f"{key:<12} Fix it  [ai]"
    shown = await ready.does("issue", "show", key)
    assert is_plain(shown)
    assert "Please." in shown
    _, said = await mistake(ready, "show", f"shop\x1b[2J{TAGS}#9")
    assert is_plain(said)


async def test_t18_issue_text_and_agent_output_are_printed_without_control_characters(ready):
    key = await ready.does("issue", "new", f"Fix{TAGS} it\u202e")
    store, transcripts = RunStore.open(ready.state_dir / "treehand.db"), Transcripts(ready.state_dir / "transcripts")
    run = Run(key, "shop", phase=Phase.WORKING, begun_at=now(), changed_at=now(), reason=f"slow{ESCAPES}{TAGS}")
    store.save(run, at=now(), notes=(f"noted{ESCAPES}{TAGS}",))
    store.close()
    request = TurnOrder("turn", run.id, "shop", "branch", "", "", "", "", now())
    for kind in (EventKind.TEXT, EventKind.TOOL, EventKind.TOOL_RESULT):
        transcripts.append(request, Event(kind, now(), text=f"says{ESCAPES}{TAGS}"))
    transcripts.flush()
    with daemon_lock(ready.state_dir):  # without a daemon, nothing is said of the agent
        for words in (("status",), ("show", key), ("logs", key), ("why", key)):
            printed = await ready.does(*words)
            assert "says" in printed or words[0] == "show"
            assert is_plain(printed), ascii(printed)
