"""Agents of small daemons. Every turn costs the same, and the model keeps its own record of it."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from bot.domain.turn import AgentTask, Event, EventKind, Failure, TurnAnswer, TurnReport, TurnState
from bot.ports import EventSink, Inbox
from tests.chaos.tempo import Tempo

BILL = "bill"
COST, TOKENS = 0.01, 10
PROTECTED = ".github/workflows/new.yml"
_FILE = re.compile(r"Write 42 into (f\d+\.txt)")
_KINDS, _WEIGHTS = ("change", "nothing", "question", "failure", "decline", "protected"), (65, 8, 8, 7, 6, 6)


@dataclass(frozen=True)
class Hand:
    """An agent: writes 42 into the requested file, and 43 after a comment asks for it. Every turn costs the same."""

    tempo: Tempo
    bill: Path
    """The model's own record: a line for every turn that it is paid for."""

    async def run(self, work: AgentTask, inbox: Inbox, notice: EventSink) -> TurnReport:
        told = f"{work.briefing}\n{work.prompt}"
        file = _FILE.search(work.briefing)
        (work.folder / (file[1] if file else "lost.txt")).write_text("43\n" if "make it 43" in told else "42\n")
        session = work.session or f"session of {work.turn_id}"
        notice(Event(EventKind.SESSION, self.tempo.now(), text=session))
        notice(Event(EventKind.USAGE, self.tempo.now(), tokens=TOKENS, usd=COST))
        with self.bill.open("a") as bill:
            bill.write(f"{work.turn_id}\n")
        heard = frozenset(work.comments)
        return TurnReport(
            TurnState.SUCCEEDED, session=session, summary="Done.", usd=COST, tokens=TOKENS, delivered=heard
        )

    def by_hand(self, *, folder: Path, home: Path, session: str) -> str:
        return ""

    async def hand_over(self, home: Path, session: str) -> None: ...
    async def take_back(self, home: Path, session: str) -> None: ...


@dataclass(frozen=True)
class MoodyHand(Hand):
    """An agent that takes its time and hears comments meanwhile; it may ask, fail, decline, or change nothing."""

    mood: str = ""

    async def run(self, work: AgentTask, inbox: Inbox, notice: EventSink) -> TurnReport:
        random = Random(f"{self.mood} {work.turn_id}")
        session = work.session or f"session of {work.turn_id}"
        notice(Event(EventKind.SESSION, self.tempo.now(), text=session))
        notice(Event(EventKind.USAGE, self.tempo.now(), tokens=TOKENS, usd=COST))
        with self.bill.open("a") as bill:
            bill.write(f"{work.turn_id}\n")
        heard = set(work.comments)
        async for comment in self._listened(random.choice((0.0, 5.0, 40.0, 120.0)), inbox):
            heard.add(comment)
            notice(Event(EventKind.DELIVERED, self.tempo.now(), text=comment))
        kind = random.choices(
            ("change", "nothing", "question", "failure", "decline", "protected"), (65, 8, 8, 7, 6, 6)
        )[0]
        done = TurnReport(
            TurnState.SUCCEEDED, session=session, summary=f"Summary of {work.turn_id}.", usd=COST, tokens=TOKENS,
            delivered=frozenset(heard),
        )  # fmt: skip
        if kind in {"change", "decline"}:
            (work.folder / f"{work.folder.name}.txt").write_text(f"{work.turn_id} heard {sorted(heard)}\n")
        if kind == "protected":
            (work.folder / PROTECTED).parent.mkdir(parents=True, exist_ok=True)
            (work.folder / PROTECTED).write_text("on: push\n")
        match kind:
            case "question":
                return replace(done, question="Which colour?")
            case "failure":
                return replace(done, state=TurnState.FAILED, failure=Failure.AGENT, detail="It fell over.")
            case "decline":
                return replace(
                    done,
                    answers=tuple(TurnAnswer(one, declined=True, text="No, because.") for one in sorted(heard)[:1]),
                )
        return done

    async def _listened(self, seconds: float, inbox: Inbox) -> AsyncIterator[str]:
        """Yields the ids of the comments that come within so many seconds."""
        end = self.tempo.now() + seconds
        while (left := end - self.tempo.now()) > 0:
            try:
                async with asyncio.timeout(left / self.tempo.speed):
                    message = await inbox.get()
            except TimeoutError:
                return
            for comment in message.comments or (message.id,):
                yield comment
