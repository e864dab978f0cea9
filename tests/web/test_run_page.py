"""The page of a run over HTTP: what is on it, what can be done there, and what never is."""

import re
from dataclasses import replace

import pytest

from bot.app import desk_of
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.run import Cause, Phase, Run
from bot.domain.spend import Spend
from bot.domain.turn import Event, EventKind, TurnRequest
from bot.domain.verification import Counts, Trial, Verification
from bot.errors import NeedsHuman
from bot.evidence.store import Evidence
from bot.store.transcripts import Transcripts
from bot.web.run.action_forms import remarks_in
from bot.web.run.buttons import may_review, orders_for
from bot.web.run.cost_chart import chart_of
from bot.web.run.diff_rows import is_dull
from bot.web.run.routes import _caged
from tests.web.house import House, open_house


@pytest.fixture
async def house(tmp_path):
    async with open_house(tmp_path) as house:
        yield house


def tell(house: House, run: Run, *events: Event, turn: int = 1) -> None:
    transcripts = Transcripts(house.settings.state_dir / "transcripts")
    request = TurnRequest(f"{run.id}/turn-{turn}", run.id, run.project, "b", "", "", "", "", 1.0)
    for event in events:
        transcripts.append(request, event)
    transcripts.flush()


async def test_a_run_that_has_not_begun_has_a_page(house):
    run = house.run("Sell <b>seeds</b>", Phase.QUEUED)
    answer = await house.page("/runs/shop%231")
    assert answer.status_code == 200
    assert "Sell &lt;b&gt;seeds&lt;/b&gt;" in answer.text
    assert "No agent has begun yet." in answer.text
    assert "Nothing is changed yet." in answer.text
    assert "something happened" in answer.text
    assert run.key in answer.text


@pytest.mark.parametrize("path", ["", "/conversation", "/given", "/files", "/fresh", "/events", "/diff/abc"])
async def test_a_run_nobody_knows_is_not_there(house, path):
    assert (await house.page(f"/runs/shop%237{path}")).status_code == 404


async def test_keys_with_slashes_and_dashes_are_found(house):
    run = house.run("One")
    for key in ("acme/shop#12", "ENG-7"):
        house.save(replace(run, key=key))
        answer = await house.page(f"/runs/{key.replace('/', '%2F').replace('#', '%23')}")
        assert answer.status_code == 200
        assert f'data-key="{key}"' in answer.text
        given = await house.page(f"/runs/{key.replace('/', '%2F').replace('#', '%23')}/given")
        assert given.status_code == 200


async def test_a_long_conversation_is_read_backwards_in_pieces(house):
    run = house.run("One")
    tell(house, run, *(Event(EventKind.TEXT, 1.0, f"line {number} {'x' * 1000}") for number in range(500)))
    found, path = [], "/runs/shop%231"
    while path:
        text = (await house.page(path)).text
        assert len(text) < 400_000
        found = re.findall(r"line (\d+) ", text) + found
        earlier = re.search(r'data-earlier="([^"]+)"', text)
        path = earlier[1] if earlier else ""
    assert found == [str(number) for number in range(500)]


async def test_what_the_agent_was_given_is_shown_turn_by_turn(house):
    run = house.run("One")
    tell(house, run, Event(EventKind.GIVEN, 1.0, "Make it <42>."), Event(EventKind.TEXT, 2.0, "Not this."))
    tell(house, run, Event(EventKind.GIVEN, 3.0, "Now 43."), turn=2)
    text = (await house.page("/runs/shop%231/given")).text
    assert "Make it &lt;42&gt;." in text
    assert text.index("Turn 1") < text.index("Turn 2")
    assert "Not this." not in text


async def test_checks_are_told_before_and_after(house):
    old = Trial("make test", code=0, seconds=2.0)
    new = Trial("make test", code=2, seconds=3.5, counts=Counts(5, 1), output="<boom>")
    house.run("One", Phase.REVIEW, verification=Verification("c" * 40, "b" * 40, (new,), (old,)))
    text = (await house.page("/runs/shop%231")).text
    for words in ("make test", "broken", "5 passed, 1 failed", "green", "&lt;boom&gt;", "3.5", "c" * 10):
        assert words in text


async def test_what_was_asked_for_and_what_is_offered_stand_before_what_was_said_of_them(house):
    desk = desk_of(house.settings)
    issue = desk.issues("shop").open("Sell seeds", by="Mira", body="By the gram, please.")
    pulls = desk.pulls("shop")
    body = f"Closes {issue.key}\n\n| File | Added |\n|---|---|\n| `seeds.py` | +4 |"
    number = pulls.ensure_draft(
        "treehand/shop-1", base="main", title="Seeds", body=body, head=pulls.repository.tip("main")
    )
    pulls.comment(number, "And by the pound?", by="Jonas")
    desk.close()
    house.save(Run(issue.key, "shop", phase=Phase.REVIEW))
    text = (await house.page("/runs/shop%231")).text
    places = [text.index(words) for words in ("By the gram", "<code>seeds.py</code></td>", "And by the pound?")]
    assert places == sorted(places)
    assert "treehand:begin" not in text


async def test_words_become_a_comment_in_the_persons_name(house):
    house.run("One")
    answer = await house.post("/runs/shop%231/do/say", text="Use a set.\r\nPlease.")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/runs/shop%231?done=said"
    assert house.said("shop#1") == [("ana", "Use a set.\nPlease.")]
    assert house.told == [["shop"]]
    assert "Said." in (await house.page(answer.headers["location"])).text


@pytest.mark.parametrize("word", ["pause", "resume", "retry", "stop", "approve", "give"])
async def test_a_button_is_a_comment_command(house, word):
    house.run("One")
    assert (await house.post("/runs/shop%231/do/order", word=word)).status_code == 303
    assert house.said("shop#1") == [("ana", f"/ai {word}")]


@pytest.mark.parametrize(
    ("deed", "fields"),
    [
        ("say", {"text": " \r\n"}),
        ("order", {"word": "budget 100\n/ai stop"}),
        ("order", {}),
        ("budget", {"usd": "1e9"}),
        ("budget", {"usd": "10\n/ai stop"}),
        ("budget", {"usd": "-1"}),
        ("review", {"verdict": "love"}),
        ("merge", {}),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words_and_says_nothing(house, deed, fields):
    house.run("One")
    answer = await house.post(f"/runs/shop%231/do/{deed}", **fields)
    assert answer.status_code == 422
    assert 'role="alert" id="problem"' in answer.text
    assert house.said("shop#1") == []


@pytest.mark.parametrize(("typed", "meant"), [("10", "10"), ("$2.50", "2.50"), (" 2,5 ", "2.5")])
async def test_a_budget_is_an_amount(house, typed, meant):
    house.run("One")
    await house.post("/runs/shop%231/do/budget", usd=typed)
    assert house.said("shop#1") == [("ana", f"/ai budget {meant}")]


async def test_another_sites_form_does_nothing(house):
    house.run("One")
    headers = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = await house.client.post("/runs/shop%231/do/say", data={"text": "x"}, headers=headers)
    assert answer.status_code == 403
    assert house.said("shop#1") == []


async def test_an_unknown_deed_is_not_there(house):
    house.run("One")
    assert (await house.post("/runs/shop%231/do/explode")).status_code == 404


async def test_what_is_typed_into_the_address_shows_nothing_on_the_page(house):
    house.run("One")
    assert "hello" not in (await house.page("/runs/shop%231?done=hello")).text
    assert (await house.page("/runs/shop%231?before=-1")).status_code == 400
    assert (await house.page("/runs/shop%231?files=x")).status_code == 400


async def test_the_view_is_remembered(house):
    house.run("One")
    answer = await house.page("/runs/shop%231?view=split")
    assert "treehand-view=split" in answer.headers["set-cookie"]
    assert 'data-view="split"' in (await house.page("/runs/shop%231")).text
    assert "set-cookie" not in (await house.page("/runs/shop%231?view=evil")).headers


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def test_evidence_is_shown_where_that_is_harmless(house):
    run = house.run("One")
    kept = Evidence(house.settings.state_dir / "evidence")
    for name, content in {"shots/page.png": PNG, "page.html": b"<script>x</script>", "log.txt": b"<b>"}.items():
        kept.keep(run.id, "turn-1", name, content)
    text = (await house.page("/runs/shop%231")).text
    assert '<img src="/runs/shop%231/evidence/shots%2Fpage.png"' in text
    assert '<img src="/runs/shop%231/evidence/page.html"' not in text
    answers = {name: await house.page(f"/runs/shop%231/evidence/{name}") for name in ("shots%2Fpage.png", "page.html")}
    assert answers["shots%2Fpage.png"].content == PNG
    assert [one.headers["content-type"] for one in answers.values()] == ["image/png", "text/plain; charset=utf-8"]
    for answer in answers.values():
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
    for name in ("none", "..%2F..%2Ftreehand.db", "%2Fetc%2Fpasswd"):
        assert (await house.page(f"/runs/shop%231/evidence/{name}")).status_code == 404


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/pdf", "text/plain; charset=utf-7", ""])
async def test_what_a_browser_might_run_is_only_saved(kind):
    answer = _caged(b"<script>", kind)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"


async def test_an_open_page_is_told_what_happens_from_its_place_on(house):
    run = house.run("One")
    tell(house, run, Event(EventKind.TEXT, 1.0, "before"))
    page = (await house.page("/runs/shop%231")).text
    place, state = (re.search(f'data-{name}="([^"]+)"', page)[1] for name in ("place", "state"))
    tell(house, run, Event(EventKind.TEXT, 2.0, "<after>"))
    lines: list[str] = []
    async with house.client.stream("GET", f"/runs/shop%231/events?since={place}&state={state}&print=") as answer:
        async for line in answer.aiter_lines():
            lines.append(line)
            if "&lt;after&gt;" in line:
                break
    assert not any("before" in line for line in lines)
    assert "event: talk" in lines
    (last,) = [line for line in lines if line.startswith("id: ")][:1]
    async with house.client.stream("GET", "/runs/shop%231/events", headers={"Last-Event-ID": last[4:]}) as answer:
        tell(house, run, Event(EventKind.TEXT, 3.0, "later"))
        async for line in answer.aiter_lines():
            assert "&lt;after&gt;" not in line
            if "later" in line:
                break


def words(run: Run) -> list[str]:
    return [order.word for order in orders_for(run)]


def test_buttons_are_there_where_they_make_sense():
    run = Run("shop#1", "shop")
    assert words(run) == ["pause", "stop"]
    assert words(replace(run, phase=Phase.WORKING, turn=1)) == ["pause", "stop"]
    assert words(replace(run, phase=Phase.WORKING, turn=1, ended=1)) == ["retry", "pause", "stop"]
    assert words(replace(run, phase=Phase.REVIEW, turn=1, ended=1)) == ["pause", "stop"]
    asking = replace(run, phase=Phase.ASKING)
    assert words(replace(asking, cause=Cause.PLAN)) == ["approve", "retry", "stop"]
    assert words(replace(asking, cause=Cause.HELD)) == ["approve", "retry", "stop"]
    assert words(replace(asking, cause=Cause.CONSENT)) == ["approve", "resume", "stop"]
    assert words(replace(asking, cause=Cause.PAUSED)) == ["resume", "stop"]
    assert words(replace(asking, cause=Cause.TAKEN)) == ["give", "stop"]
    assert words(replace(asking, cause=Cause.FAILED)) == ["retry", "stop"]
    assert words(replace(run, phase=Phase.DONE)) == []


def test_only_an_open_pull_request_is_reviewed():
    pull = PullRequest(1, "b", "t", "", PullRequestState.OPEN, draft=True, head="h")
    assert may_review(pull)
    assert not may_review(replace(pull, state=PullRequestState.MERGED))
    assert not may_review(None)


def test_remarks_are_the_rows_somebody_wrote_into():
    form = {"path": ["a.py", "b.py", ""], "line": ["3", "", ""], "remark": ["so\r\nso", "", ""]}
    assert [(one.path, one.line, one.text) for one in remarks_in(form)] == [("a.py", 3, "so\nso")]


@pytest.mark.parametrize("line", ["x", "0", "²", "9" * 5000])
def test_a_remark_needs_a_line_that_can_be(line):
    with pytest.raises(NeedsHuman, match="the number of a line"):
        remarks_in({"path": ["a.py"], "line": [line], "remark": ["so"]})


@pytest.mark.parametrize("path", ["package-lock.json", "web/dist/app.js", "a.min.css", "vendor/x/y.go", "uv.lock"])
def test_what_a_program_made_is_told_from_what_people_read(path):
    assert is_dull(path)


@pytest.mark.parametrize("path", ["package.json", "web/distance/app.js", "a.css", "vendors.py", "lock"])
def test_what_people_read_is_no_programs(path):
    assert not is_dull(path)


def test_the_money_line_climbs_to_its_end():
    chart = chart_of([Spend(1, 100.0, 1.0, 10, 50.0), Spend(2, 200.0, 3.0, 30, 50.0)])
    assert chart.line == "0.0,90.0 0.0,90.0 106.7,67.5 213.3,67.5 320.0,0.0"
    assert (chart.total_usd, chart.tokens) == (4.0, 40)
    assert chart_of([]) is None
