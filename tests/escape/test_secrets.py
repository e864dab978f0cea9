"""T6, T7: no secret of the host is published through output, files or prompts of an agent, in any encoding."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from bot.app import open_app
from bot.domain.change import Change, FileChange
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.turn import Event, EventKind, Progress, Todo, TurnAnswer, TurnOrder, TurnReport, TurnState
from bot.engine.loop import Engine
from bot.engine.run_turn import TurnRunner
from bot.engine.schedule import Capacity
from bot.engine.withhold_secrets import SecretScreen
from bot.errors import NeedsHuman
from bot.executors.local import LocalExecutor
from bot.ports import Ports, Project
from bot.secret_scan.build import load_secrets
from bot.secret_scan.scanner import Secrets
from bot.settings.credentials import known_secrets, marker_secrets
from bot.settings.schema import GitHubSettings, ProjectSettings, SandboxSettings, Settings, WebSettings
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import logs
from tests.fakes.ports import FakeForge, FakeTracker, FakeWorkspaces
from tests.secret_scan.canaries import CANARIES, ENCODINGS

pytestmark = pytest.mark.attack("T7", "A secret of the host is published in words, files or prompts, in some encoding")

KEY, BRANCH = "shop#1", "treehand/shop-1"
TOKEN = CANARIES["the GitHub token"]
SOMEBODYS = "glpat-" + "Zx8Qw3Lp9Rt2Vb6Nm4Kd"
SECRETS = Secrets(CANARIES)
HARMLESS = "marzipan"


@dataclass(frozen=True)
class Speech:
    """The output of the agent in one turn."""

    events: tuple[Event, ...] = ()
    report: dict = field(default_factory=dict)
    plan: bool = False


CHANNELS: dict[str, Callable[[str], Speech]] = {
    "words": lambda text: Speech(report={"summary": text}),
    "question": lambda text: Speech(report={"question": text}),
    "answer": lambda text: Speech(report={"answers": (TurnAnswer("c1", declined=True, text=text),)}),
    "plan": lambda text: Speech(report={"summary": text}, plan=True),
    "failure": lambda text: Speech(report={"state": TurnState.FAILED, "detail": text}),
    "session": lambda text: Speech((Event(EventKind.SESSION, 1.0, text=text),), {"session": text}),
    "todo": lambda text: Speech((Event(EventKind.TODOS, 1.0, todos=(Todo(text, done=False),)),)),
    "doing": lambda text: Speech((Event(EventKind.TOOL, 1.0, text=text, tool=text, id="t1"),)),
    "said": lambda text: Speech((Event(EventKind.TEXT, 1.0, text=text),)),
    "result": lambda text: Speech((Event(EventKind.TOOL_RESULT, 1.0, text=text, id=text),)),
    "refusal": lambda text: Speech(report={"refusals": (text,)}),
}


@dataclass
class Agent:
    """An agent with scripted output; the test decides when it ends."""

    world: object
    speech: Speech = Speech()
    spoke: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, work, inbox, notice) -> TurnReport:
        for event in self.speech.events:
            notice(event)
        self.spoke.set()
        await self.may_end.wait()
        if not self.speech.plan:
            tree = self.world.worktrees[BRANCH]
            tree.files["app.py"], tree.dirty = FileChange("app.py", 1, 0), True
        return TurnReport(**{"state": TurnState.SUCCEEDED, "session": "s1", "agent_turns": 1, **self.speech.report})


@dataclass
class EngineScene:
    """Real engine, executor, store and transcripts, with a fake outside world."""

    world: object
    agent: Agent
    engine: Engine
    store: RunStore
    transcripts: Transcripts
    moved: asyncio.Event

    async def tick(self) -> None:
        for _ in range(20):
            self.moved.clear()
            await self.engine.tick()
            await self.engine.wait_until_idle()
            if not self.moved.is_set():
                return
        raise AssertionError("it never comes to rest")

    async def have_it_say(self, speech: Speech) -> None:
        self.agent.speech = speech
        self.world.open_issue(KEY)
        self.world.comment(KEY, "Mind the tests.")
        self.world.label(KEY, "ai", *(["ai:plan"] if speech.plan else []))
        await self.tick()
        async with asyncio.timeout(5):
            await self.agent.spoke.wait()
        self.world.wait(60)
        await self.tick()
        await self.end_turn()

    async def end_turn(self) -> None:
        self.moved.clear()
        self.agent.may_end.set()
        async with asyncio.timeout(5):
            await self.moved.wait()
        await self.tick()

    def shown(self) -> Iterator[str]:
        """Returns all text that people can read anywhere."""
        yield from self.world.said.values()
        yield from (f"{pull.title}\n{pull.body}" for pull in self.world.pulls.values())
        run = self.store.find_run(KEY)
        yield repr(run)
        yield from (entry.text for entry in self.store.journal(run))
        self.transcripts.flush()
        if self.transcripts.path(run.id).exists():
            yield self.transcripts.path(run.id).read_text()


@pytest.fixture
async def scene(world, policy, tmp_path, store):
    agent, moved, transcripts = Agent(world), asyncio.Event(), Transcripts(tmp_path / "transcripts")
    project = Project(
        "shop",
        FakeTracker(world),
        FakeForge(world),
        FakeWorkspaces(world),
        policy,
        world.by_hand,
        find_secrets=SECRETS.find,
    )
    taker = TurnRunner(lambda _: project, agent, tmp_path / "homes", SECRETS.find_any)
    executor = LocalExecutor(
        taker, turn_store=store, on_change=moved.set, transcript=transcripts.append, clock=world.clock
    )
    capacity = lambda: Capacity(policy.max_working, policy.per_day_usd, 0.0)  # noqa: E731
    async with executor:
        outside = Ports({"shop": project}, executor, store)
        async with Engine(outside, clock=world.clock, capacity=capacity, on_change=moved.set) as engine:
            yield EngineScene(world, agent, engine, store, transcripts, moved)


@pytest.mark.parametrize("channel", CHANNELS)
async def test_t7_harmless_output_is_published(scene, channel):
    await scene.have_it_say(CHANNELS[channel](HARMLESS))
    assert any(HARMLESS in text for text in scene.shown())


@pytest.mark.parametrize("name", CANARIES)
@pytest.mark.parametrize("channel", CHANNELS)
async def test_t7_no_channel_publishes_a_canary(scene, channel, name, caplog):
    caplog.set_level(logging.INFO)
    encodings = list(ENCODINGS)
    encoding = encodings[(len(channel) * 7 + len(name)) % len(encodings)]
    await scene.have_it_say(CHANNELS[channel](f"{HARMLESS} {ENCODINGS[encoding](CANARIES[name])}"))
    shown = [*scene.shown(), caplog.text]
    assert [SECRETS.find(text) for text in shown] == [()] * len(shown)
    assert not any(HARMLESS in text for text in shown)  # the whole of it is withheld
    assert any(f"what looks like {name}" in text for text in shown)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", CANARIES)
def test_t7_every_field_of_a_report_is_withheld_in_every_encoding(name, encoding):
    leak = f"{HARMLESS} {ENCODINGS[encoding](CANARIES[name])}"
    todos, heard = (Todo("a", done=True), Todo(leak, done=False)), frozenset({leak})
    progress = Progress(leak, leak, todos, leak, tools_running=heard, delivered=heard)
    change = Change("a", "b", "a", left_out=(leak,))
    report = TurnReport(
        TurnState.SUCCEEDED, progress, session=leak, detail=leak, summary=leak, question=leak, delivered=heard,
        answers=(TurnAnswer(leak, declined=False, text=leak),), change=change, refusals=(leak,),
    )  # fmt: skip
    seen: list[Event] = []
    screening = SecretScreen(SECRETS.find_any)
    screening.wrap(seen.append)(Event(EventKind.TOOL, 1.0, text=leak, tool=leak, id=leak, todos=todos))
    said = f"{seen} {screening.report(report)}"
    assert HARMLESS not in said
    assert screening.withheld == 19
    assert f"19 passages of the agent's text that look like {name}" in said


async def test_t7_output_that_looks_like_a_foreign_secret_is_withheld(scene):
    await scene.have_it_say(CHANNELS["words"](f"I found {SOMEBODYS}."))
    assert not any(SOMEBODYS in text for text in scene.shown())
    assert "(withheld: it contains what looks like GitLab token)" in scene.world.pulls[BRANCH].body


async def test_t7_the_pull_request_says_how_much_was_withheld(scene):
    await scene.have_it_say(CHANNELS["words"](TOKEN))
    assert "1 passage of the agent's text that looks like the GitHub token" in scene.world.pulls[BRANCH].body


async def test_t7_a_secret_in_a_comment_is_not_repeated_and_the_run_asks_once(scene):
    await scene.have_it_say(CHANNELS["words"]("Done."))
    scene.agent.may_end.clear()
    scene.agent.spoke.clear()
    scene.world.comment_on_pull(BRANCH, f"Use {TOKEN} to push.")
    scene.world.wait(100)
    await scene.tick()
    run = scene.store.find_run(KEY)
    assert (run.phase, run.wait_reason) == (Phase.ASKING, WaitReason.FAILED)
    assert "Treehand did not post this text, because it contains the GitHub token." in run.reason
    assert not scene.agent.spoke.is_set()
    said = dict(scene.world.said)
    for _ in range(5):
        scene.world.wait(1000)
        await scene.tick()
    assert scene.world.said == said
    assert not any(SECRETS.find(text) for text in scene.shown())


async def test_t7_a_secret_in_the_title_is_not_published_with_the_pull_request(scene):
    scene.world.open_issue(KEY, title=f"Push with {TOKEN}")
    scene.world.label(KEY, "ai")
    await scene.tick()
    scene.world.wait(1000)
    await scene.tick()
    assert scene.store.find_run(KEY).phase is Phase.ASKING
    assert not scene.world.pulls
    assert not any(SECRETS.find(text) for text in scene.world.said.values())


async def test_t7_an_error_with_a_secret_is_reported_without_it(scene):
    scene.world.fails["ensure_pushed"] = NeedsHuman(f"git cannot reach https://x:{TOKEN}@host/")
    await scene.have_it_say(CHANNELS["words"]("Done."))
    assert scene.store.find_run(KEY).phase is Phase.ASKING
    assert "it contains the GitHub token" in scene.store.find_run(KEY).reason
    assert not any(SECRETS.find(text) for text in scene.shown())


REQUEST = TurnOrder("shop#1/1/turn-1", "shop#1/1", "shop", "b", "main", "p", "b", "m", 0.0)


@pytest.mark.parametrize("name", CANARIES)
def test_t6_transcripts_are_redacted_before_they_are_written(tmp_path, name):
    transcripts, text = Transcripts(tmp_path, SECRETS.redact), f"before {CANARIES[name]} after"
    transcripts.append(REQUEST, Event(EventKind.TOOL, 1.0, text=text, tool=text, id=text))
    transcripts.append(REQUEST, Event(EventKind.TODOS, 1.0, todos=(Todo(text, done=False),)))
    transcripts.flush()
    first, second = transcripts.read(REQUEST.run_id)
    assert f"[redacted: {name}]" in first["text"]
    assert not SECRETS.find(transcripts.path(REQUEST.run_id).read_text())
    assert "after" in second["todos"][0]["text"]


def test_t6_the_journal_is_redacted_before_it_is_written(tmp_path):
    run, store = Run("shop#1", "shop", 1), RunStore.open(tmp_path / "redacted.db", SECRETS.redact)
    store.save(run, at=1.0, notes=[f"pushed with {TOKEN}"])
    assert [entry.text for entry in store.journal(run)] == ["pushed with [redacted: the GitHub token]"]
    store.close()


@pytest.fixture
def log_file(tmp_path):
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    level = root.level
    logs.configure_logging(file=tmp_path / "treehand.log", quiet=True, redact=SECRETS.redact)
    yield tmp_path / "treehand.log"
    for handler in root.handlers:
        if handler not in before:
            handler.close()
    root.handlers[:] = before
    root.setLevel(level)


@pytest.mark.parametrize("name", CANARIES)
def test_t6_the_log_and_its_tracebacks_are_redacted(log_file, name):
    secret = CANARIES[name]
    logging.getLogger("bot.test").warning("before %s after", secret)
    logging.getLogger("bot.test").warning("crashed", exc_info=ValueError(secret))
    text = log_file.read_text()
    assert f"[redacted: {name}]" in text
    assert SECRETS.find(text) == ()


def test_t6_every_configured_secret_is_known(tmp_path, monkeypatch):
    files = {name: tmp_path / name for name in ("token", "key", "hook", "web")}
    values = dict(zip(files, list(CANARIES.values())[:4], strict=True))
    for name, file in files.items():
        file.write_text(values[name] + "\n")
    for name in ("TREEHAND_GITHUB__TOKEN", "GITHUB_TOKEN", "TREEHAND_WEB__TOKEN", "TREEHAND_GITHUB__WEBHOOK_SECRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARIES["the marker secret"])
    monkeypatch.setenv("DEPLOY_PASSWORD", "correct horse battery")
    monkeypatch.setenv("SHORT_TOKEN", "1234567890")
    monkeypatch.setenv("DB_PASS", "long enough for one")
    monkeypatch.setenv("HTTPS_PROXY", "http://bot:pr0xyPasswort7x@proxy.example:3128")
    monkeypatch.setenv("DATABASE_URL", "postgres://postgres:postgrespassword@localhost/shop")
    monkeypatch.setenv("TOKEN_FOLDER", "/run/secrets/tokens")
    settings = Settings(
        state_dir=tmp_path / "state",
        github=GitHubSettings(
            token_file=files["token"], private_key_file=files["key"], webhook_secret_file=files["hook"]
        ),
        web=WebSettings(token_file=files["web"]),
        projects=(ProjectSettings(name="shop", tracker="github", repository="acme/shop"),),
    )
    known = known_secrets(settings)
    assert set(values.values()) <= set(known.values())
    assert known["ANTHROPIC_API_KEY"] == CANARIES["the marker secret"]
    assert known["DEPLOY_PASSWORD"] == "correct horse battery"
    assert known["marker secret 1"] == marker_secrets(settings)[0].hex()
    monkeypatch.setenv("TREEHAND_GITHUB__MARKER_SECRET", "chosen by somebody")
    assert known_secrets(settings)["the marker secret"] == "chosen by somebody"
    assert known["DB_PASS"] == "long enough for one"
    assert known["the password in HTTPS_PROXY"] == "pr0xyPasswort7x"
    assert not {"postgrespassword", "1234567890", "/run/secrets/tokens"} & set(known.values())


async def test_t7_the_daemon_screens_every_output_channel(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    (tmp_path / "shop").mkdir()
    project = ProjectSettings(name="shop", repository=str(tmp_path / "shop"))
    settings = Settings(state_dir=tmp_path / "state", projects=(project,), sandbox=SandboxSettings(kind="none"))
    secrets = load_secrets(settings)
    async with open_app(settings, {}, secrets) as app:
        app.store.save(Run(KEY, "shop", 1), at=1.0, notes=[TOKEN])
        app.transcripts.append(REQUEST, Event(EventKind.TEXT, 1.0, text=TOKEN))
        app.transcripts.flush()
        secrets.learn("a minted token", SOMEBODYS)
        found = app.ports.projects["shop"].find_secrets(f"{TOKEN} {SOMEBODYS}")
        assert found == ("the GitHub token", "a minted token")
        assert [entry.text for entry in app.store.journal(Run(KEY, "shop", 1))] == ["[redacted: the GitHub token]"]
        assert [line["text"] for line in app.transcripts.read(REQUEST.run_id)] == ["[redacted: the GitHub token]"]


async def test_t7_a_secret_in_a_later_title_is_not_published_with_the_pull_request(scene):
    scene.world.open_issue(KEY)
    scene.world.label(KEY, "ai")
    await scene.tick()
    async with asyncio.timeout(5):
        await scene.agent.spoke.wait()
    scene.world.edit_issue(KEY, title=f"Push with {TOKEN}")
    await scene.end_turn()
    assert scene.store.find_run(KEY).phase is Phase.ASKING
    assert not scene.world.pulls
    assert not any(SECRETS.find(text) for text in scene.world.said.values())


async def test_t7_the_daemon_screens_its_agents_and_their_files(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    (tmp_path / "shop").mkdir()
    project = ProjectSettings(name="shop", repository=str(tmp_path / "shop"))
    settings = Settings(state_dir=tmp_path / "state", projects=(project,), sandbox=SandboxSettings(kind="none"))
    async with open_app(settings, {}) as app:
        assert app.executor._run_turn.find_secrets(f"It is {TOKEN}") == ("the GitHub token",)
        assert app.ports.projects["shop"].workspaces._guard.secrets.find(TOKEN) == ("the GitHub token",)


async def test_t7_a_secret_in_a_command_is_not_repeated_in_the_answer(scene):
    await scene.have_it_say(CHANNELS["words"]("Done."))
    scene.world.comment(KEY, f"/ai {TOKEN}")
    await scene.tick()
    assert not any(SECRETS.find(text) for text in scene.world.said.values())
