"""Run page over HTTP: its parts, its actions, and its limits."""

import re
from dataclasses import replace

import pytest

from bot.domain.change import Objection
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Phase, Run, RunHold, WaitReason
from bot.domain.runner_report import CountedTests
from bot.domain.spend import Spend
from bot.domain.turn import Event, EventKind, TurnOrder
from bot.domain.verification import BaseComparison, NamedTests, Verification, VerifiedCommand
from bot.errors import NeedsHuman
from bot.evidence.store import EvidenceStore
from bot.services.local.connect import open_local_server
from bot.store.transcripts import Transcripts
from bot.web.run.action_buttons import buttons_for, can_review
from bot.web.run.action_forms import read_remarks
from bot.web.run.cost_chart import cost_chart_of
from bot.web.run.evidence import harmless_response
from bot.web.run.generated_files import is_generated
from tests.escape.loop_stall import measured_stall
from tests.web.running_dashboard import PAGE, RunningDashboard, open_dashboard


@pytest.fixture
async def web(tmp_path):
    async with open_dashboard(tmp_path) as web:
        yield web


def tell(web: RunningDashboard, run: Run, *events: Event, turn: int = 1) -> None:
    transcripts = Transcripts(web.settings.state_dir / "transcripts")
    request = TurnOrder(f"{run.id}/turn-{turn}", run.id, run.project, "b", "", "", "", "", 1.0)
    for event in events:
        transcripts.append(request, event)
    transcripts.flush()


async def test_a_run_that_has_not_begun_has_a_page(web):
    run = web.run("Sell <b>seeds</b>", Phase.QUEUED)
    answer = await web.page("/runs/shop%231")
    assert answer.status_code == 200
    assert "Sell &lt;b&gt;seeds&lt;/b&gt;" in answer.text
    assert "No agent has started yet." in answer.text
    assert "No changes yet." in answer.text
    assert "something happened" in answer.text
    assert run.key in answer.text


@pytest.mark.parametrize("path", ["", "/conversation", "/given", "/files", "/fresh", "/events", "/diff/abc"])
async def test_an_unknown_run_is_not_found(web, path):
    assert (await web.page(f"/runs/shop%237{path}")).status_code == 404


async def test_keys_with_slashes_and_dashes_are_found(web):
    run = web.run("One")
    for key in ("acme/shop#12", "ENG-7"):
        web.save(replace(run, key=key))
        answer = await web.page(f"/runs/{key.replace('/', '%2F').replace('#', '%23')}")
        assert answer.status_code == 200
        assert f'data-key="{key}"' in answer.text
        given = await web.page(f"/runs/{key.replace('/', '%2F').replace('#', '%23')}/given")
        assert given.status_code == 200


async def test_a_long_conversation_is_read_backwards_in_pieces(web):
    run = web.run("One")
    tell(web, run, *(Event(EventKind.TEXT, 1.0, f"line {number} {'x' * 1000}") for number in range(500)))
    found, path = [], "/runs/shop%231"
    while path:
        text = (await web.page(path)).text
        assert len(text) < 400_000
        found = re.findall(r"line (\d+) ", text) + found
        earlier = re.search(r'data-earlier="([^"]+)"', text)
        path = earlier[1] if earlier else ""
    assert found == [str(number) for number in range(500)]


async def test_prompts_are_shown_turn_by_turn(web):
    run = web.run("One")
    tell(web, run, Event(EventKind.PROMPT, 1.0, "Make it <42>."), Event(EventKind.TEXT, 2.0, "Not this."))
    tell(web, run, Event(EventKind.PROMPT, 3.0, "Now 43."), turn=2)
    text = (await web.page("/runs/shop%231/given")).text
    assert "Make it &lt;42&gt;." in text
    assert text.index("Turn 1") < text.index("Turn 2")
    assert "Not this." not in text


async def test_checks_are_shown_before_and_after(web):
    old = VerifiedCommand("make test", exit_code=0, seconds=2.0)
    new = VerifiedCommand("make test", exit_code=2, seconds=3.5, counts=CountedTests(5, 1), output="<boom>")
    web.run("One", Phase.REVIEW, checks_verification=Verification("c" * 40, "b" * 40, (new,), (old,)))
    text = (await web.page("/runs/shop%231")).text
    for words in ("make test", "regression", "5 passed, 1 failed", "passed", "&lt;boom&gt;", "3.5", "c" * 10):
        assert words in text


async def test_tests_that_the_change_broke_are_listed(web):
    broken = NamedTests(50, ("test_<b>one</b>", "test_two"))
    compared = BaseComparison(is_broken=True, broken=broken, still_failing=NamedTests(1, ("test_net",)))
    new = VerifiedCommand("make test", exit_code=2, counts=CountedTests(0, 51), against_base=compared)
    old = VerifiedCommand("make test", exit_code=2, counts=CountedTests(50, 1))
    found = Verification("c" * 40, "b" * 40, (new,), (old,), without_network=True)
    web.run("One", Phase.REVIEW, checks_verification=found)
    text = (await web.page("/runs/shop%231")).text
    for words in (
        "50 broken by this change", "test_&lt;b&gt;one", "and 48 more", "1 failed on the base as well", "test_net",
        "1 of 51 failed", "without network",
    ):  # fmt: skip
        assert words in text


async def test_the_issue_and_the_pull_request_precede_their_comments(web):
    desk = open_local_server(web.settings)
    issue = desk.issues("shop").open("Sell seeds", by="Mira", body="By the gram, please.")
    pulls = desk.pull_requests("shop")
    body = f"Closes {issue.key}\n\n| File | Added |\n|---|---|\n| `seeds.py` | +4 |"
    number = pulls.ensure_draft(
        "treehand/shop-1", base="main", title="Seeds", body=body, head=pulls.repository.tip("main")
    )
    pulls.comment(number, "And by the pound?", by="Jonas")
    desk.close()
    web.save(Run(issue.key, "shop", phase=Phase.REVIEW))
    text = (await web.page("/runs/shop%231")).text
    places = [text.index(words) for words in ("By the gram", "<code>seeds.py</code></td>", "And by the pound?")]
    assert places == sorted(places)
    assert "treehand:begin" not in text


async def test_text_becomes_a_comment_in_the_persons_name(web):
    web.run("One")
    answer = await web.post("/runs/shop%231/do/say", text="Use a set.\r\nPlease.")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/runs/shop%231?done=say"
    assert web.comments("shop#1") == [("ana", "Use a set.\nPlease.")]
    assert web.notified_projects == [["shop"]]
    assert "Sent." in (await web.page(answer.headers["location"])).text


@pytest.mark.parametrize("word", ["pause", "resume", "retry", "stop", "approve", "give"])
async def test_a_button_is_a_comment_command(web, word):
    web.run("One")
    assert (await web.post(f"/runs/shop%231/do/{word}")).status_code == 303
    assert web.comments("shop#1") == [("ana", f"/ai {word}")]


@pytest.mark.parametrize(
    ("deed", "fields"),
    [
        ("say", {"text": " \r\n"}),
        ("budget", {}),
        ("say", {"text": "x" * 100_001}),
        ("budget", {"usd": "1e9"}),
        ("budget", {"usd": "10\n/ai stop"}),
        ("budget", {"usd": "-1"}),
        ("review", {"verdict": "love"}),
        ("merge", {}),
    ],
)
async def test_invalid_input_is_refused_with_a_message_and_posts_nothing(web, deed, fields):
    web.run("One")
    answer = await web.post(f"/runs/shop%231/do/{deed}", **fields)
    assert answer.status_code == 422
    assert 'role="alert" id="problem"' in answer.text
    assert web.comments("shop#1") == []


@pytest.mark.parametrize(("typed", "meant"), [("10", "10"), ("$2.50", "2.50"), (" 2,5 ", "2.5")])
async def test_a_budget_is_posted_as_an_amount(web, typed, meant):
    web.run("One")
    await web.post("/runs/shop%231/do/budget", usd=typed)
    assert web.comments("shop#1") == [("ana", f"/ai budget {meant}")]


async def test_a_form_of_another_site_is_refused(web):
    web.run("One")
    headers = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = await web.client.post("/runs/shop%231/do/say", data={"text": "x"}, headers=headers)
    assert answer.status_code == 403
    assert web.comments("shop#1") == []


async def test_an_unknown_action_is_not_found(web):
    web.run("One")
    assert (await web.post("/runs/shop%231/do/explode")).status_code == 404


async def test_text_in_the_query_is_not_shown_on_the_page(web):
    web.run("One")
    assert "hello" not in (await web.page("/runs/shop%231?done=hello")).text
    assert (await web.page("/runs/shop%231?before=-1")).status_code == 400
    assert (await web.page("/runs/shop%231?files=x")).status_code == 400


async def test_the_chosen_view_is_remembered(web):
    web.run("One")
    answer = await web.page("/runs/shop%231?view=split")
    assert "treehand-view=split" in answer.headers["set-cookie"]
    assert 'data-view="split"' in (await web.page("/runs/shop%231")).text
    assert "set-cookie" not in (await web.page("/runs/shop%231?view=evil")).headers


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def test_evidence_is_shown_with_a_harmless_media_type(web):
    run = web.run("One")
    kept = EvidenceStore(web.settings.state_dir / "evidence")
    for name, content in {"shots/page.png": PNG, "page.html": b"<script>x</script>", "log.txt": b"<b>"}.items():
        kept.save(run.id, "turn-1", name, content)
    text = (await web.page("/runs/shop%231")).text
    assert '<img src="/runs/shop%231/evidence/shots%2Fpage.png"' in text
    assert '<img src="/runs/shop%231/evidence/page.html"' not in text
    answers = {name: await web.page(f"/runs/shop%231/evidence/{name}") for name in ("shots%2Fpage.png", "page.html")}
    assert answers["shots%2Fpage.png"].content == PNG
    assert [one.headers["content-type"] for one in answers.values()] == ["image/png", "text/plain; charset=utf-8"]
    for answer in answers.values():
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
    for name in ("none", "..%2F..%2Ftreehand.db", "%2Fetc%2Fpasswd"):
        assert (await web.page(f"/runs/shop%231/evidence/{name}")).status_code == 404


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/pdf", "text/plain; charset=utf-7", ""])
async def test_evidence_that_a_browser_could_run_is_only_downloaded(kind):
    answer = harmless_response(b"<script>", kind)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"


@pytest.mark.attack("T16", "An agent's words are made to be slow to show, and a person looks at them")
@pytest.mark.parametrize("path", ["", "/conversation?before=1000000", "/events"], ids=["page", "earlier", "later"])
async def test_t16_words_that_are_slow_to_show_do_not_hold_the_loop(web, path):
    run = web.run("Fix the till")
    tell(web, run, *(Event(EventKind.TEXT, float(number), text=f"{number}\n" + "#\n" * 9900) for number in range(40)))
    shown = ""
    async with measured_stall() as stall, web.client.stream("GET", f"/runs/shop%231{path}", headers=PAGE) as answer:
        async for text in answer.aiter_text():
            shown += text
            if "event: talk" in shown and shown.endswith("\n\n"):
                break
    assert answer.status_code == 200
    assert shown.count("<strong>") > 10_000
    assert stall.longest < 0.1


async def test_an_open_page_gets_the_events_since_its_position(web):
    run = web.run("One")
    tell(web, run, Event(EventKind.TEXT, 1.0, "before"))
    page = (await web.page("/runs/shop%231")).text
    place, state = (re.search(f'data-{name}="([^"]+)"', page)[1] for name in ("place", "state"))
    tell(web, run, Event(EventKind.TEXT, 2.0, "<after>"))
    lines: list[str] = []
    async with web.client.stream("GET", f"/runs/shop%231/events?since={place}&state={state}&print=") as answer:
        async for line in answer.aiter_lines():
            lines.append(line)
            if "&lt;after&gt;" in line:
                break
    assert not any("before" in line for line in lines)
    assert "event: talk" in lines
    (last,) = [line for line in lines if line.startswith("id: ")][:1]
    async with web.client.stream("GET", "/runs/shop%231/events", headers={"Last-Event-ID": last[4:]}) as answer:
        tell(web, run, Event(EventKind.TEXT, 3.0, "later"))
        async for line in answer.aiter_lines():
            assert "&lt;after&gt;" not in line
            if "later" in line:
                break


HELD = (Objection("secret", "app.py", "line 3 looks like a key of AWS", "100644 1"),)


@pytest.mark.attack("T7", "A person publishes a held secret by one click, without seeing why it is held")
async def test_blocked_work_is_published_only_after_a_page_that_shows_the_objections(web):
    run = web.run("Add a cart", Phase.ASKING, wait_reason=WaitReason.BLOCKED, hold=RunHold(HELD))
    place, reason = "/runs/shop%231/do/approve", "line 3 looks like a key of AWS"
    assert reason in (await web.page("/runs/shop%231")).text, "beside the button"
    asked = await web.post(place)
    assert (asked.status_code, web.comments(run.key)) == (200, [])
    assert all(words in asked.text for words in (reason, "app.py", "must be replaced", "Publish exactly this"))
    (seen,) = re.findall(r'name="seen" value="(\w+)"', asked.text)

    web.save(run, hold=RunHold((*HELD, Objection("secret", "other.py", "line 9 looks like a key", "100644 2"))))
    again = await web.post(place, seen=seen)
    assert ("other.py" in again.text, web.comments(run.key)) == (True, []), "what was not shown is not approved"
    web.save(run)
    assert (await web.post(place, seen=seen)).status_code == 303
    assert [text for _, text in web.comments(run.key)] == ["/ai approve"]


def words(run: Run) -> list[str]:
    return [button.action for button in buttons_for(run)]


def test_buttons_are_shown_only_in_phases_where_they_apply():
    run = Run("shop#1", "shop")
    assert words(run) == ["pause", "stop"]
    assert words(replace(run, phase=Phase.WORKING, turns=replace(run.turns, number=1))) == ["pause", "stop"]
    assert words(replace(run, phase=Phase.WORKING, turns=replace(run.turns, number=1, ended=1))) == [
        "retry",
        "pause",
        "stop",
    ]
    assert words(replace(run, phase=Phase.REVIEW, turns=replace(run.turns, number=1, ended=1))) == ["pause", "stop"]
    asking = replace(run, phase=Phase.ASKING)
    assert words(replace(asking, wait_reason=WaitReason.PLAN)) == ["approve", "retry", "stop"]
    assert words(replace(asking, wait_reason=WaitReason.BLOCKED)) == ["approve", "retry", "stop"]
    assert words(replace(asking, wait_reason=WaitReason.CONSENT)) == ["approve", "resume", "stop"]
    assert words(replace(asking, wait_reason=WaitReason.PAUSED)) == ["resume", "stop"]
    assert words(replace(asking, wait_reason=WaitReason.TAKEN_OVER)) == ["give", "stop"]
    assert words(replace(asking, wait_reason=WaitReason.FAILED)) == ["retry", "stop"]
    assert words(replace(run, phase=Phase.DONE)) == []


def test_only_an_open_pull_request_can_be_reviewed():
    pull = PullRequest(1, "b", "t", "", PullRequestState.OPEN, draft=True, head="h")
    assert can_review(pull)
    assert not can_review(replace(pull, state=PullRequestState.MERGED))
    assert not can_review(None)


def test_only_filled_rows_become_remarks():
    form = {"path": ["a.py", "b.py", ""], "line": ["3", "", ""], "remark": ["so\r\nso", "", ""]}
    assert [(one["path"], one["line"], one["text"]) for one in read_remarks(form)] == [("a.py", 3, "so\nso")]


@pytest.mark.parametrize("line", ["x", "0", "²", "9" * 5000])
def test_a_remark_needs_a_valid_line(line):
    with pytest.raises(NeedsHuman, match="a line number"):
        read_remarks({"path": ["a.py"], "line": [line], "remark": ["so"]})


@pytest.mark.parametrize("path", ["package-lock.json", "web/dist/app.js", "a.min.css", "vendor/x/y.go", "uv.lock"])
def test_generated_files_are_recognised(path):
    assert is_generated(path)


@pytest.mark.parametrize("path", ["package.json", "web/distance/app.js", "a.css", "vendors.py", "lock"])
def test_files_written_by_people_are_not_generated(path):
    assert not is_generated(path)


def test_the_cost_chart_rises_to_its_total():
    chart = cost_chart_of([Spend(1, 100.0, 1.0, 10, 50.0), Spend(2, 200.0, 3.0, 30, 50.0)])
    assert chart.points == "0.0,90.0 0.0,90.0 106.7,67.5 213.3,67.5 320.0,0.0"
    assert (chart.total_usd, chart.tokens) == (4.0, 40)
    assert cost_chart_of([]) is None
