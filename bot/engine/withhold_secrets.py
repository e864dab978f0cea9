"""The one door for everything an agent says: what holds a secret is withheld whole, before anybody can quote it.

Rule: nobody who talks to people, writes anything down or shows it sees what an agent said by another way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bot.domain.change import Change
from bot.domain.setup_plan import Obstacle
from bot.domain.turn import Answer, Event, EventKind, Progress, Todo, TurnReport
from bot.domain.verification import Trial, Verification
from bot.errors import NeedsHuman
from bot.ports import Notice

GivesAway = Callable[[str], Sequence[str]]
"""The names of the secrets in a text, or of what looks like one; empty: it is clean."""


@dataclass(slots=True)
class Screening:
    """Of one turn."""

    gives_away: GivesAway
    withheld: int = 0
    names: dict[str, None] = field(default_factory=dict)

    def screened(self, notice: Notice) -> Notice:
        return lambda event: notice(self.event(event))

    def event(self, event: Event) -> Event:
        text = self._given(event.text) if event.kind is EventKind.GIVEN else self.text(event.text)
        tool, id_ = self.text(event.tool), self.text(event.id)
        return replace(event, text=text, tool=tool, id=id_, todos=self._todos(event.todos))

    def report(self, report: TurnReport) -> TurnReport:
        clean = replace(
            report,
            progress=self._progress(report.progress),
            session=self.text(report.session),
            detail=self.text(report.detail),
            words=self.text(report.words),
            question=self.text(report.question),
            answers=tuple(Answer(self.text(one.comment), one.declined, self.text(one.text)) for one in report.answers),
            heard=frozenset(map(self.text, report.heard)),
            change=self._change(report.change),
            obstacle=self._obstacle(report.obstacle),
            verification=self._verification(report.verification),
            evidence=tuple(replace(one, name=self.text(one.name)) for one in report.evidence),
        )
        return replace(clean, refusals=(*map(self.text, report.refusals), *self._told()))

    def text(self, text: str) -> str:
        names = self.gives_away(text) if text else ()
        if not names:
            return text
        self.withheld += 1
        self.names |= dict.fromkeys(names)
        return f"[withheld: it contains what looks like {', '.join(names)}]"

    def _given(self, text: str) -> str:
        """Said by us, so that it is not counted; what surrounds a secret is worth reading."""
        if not self.gives_away(text):
            return text
        lines = ("[withheld]" if self.gives_away(line) else line for line in text.splitlines())
        rest = "\n".join(lines)
        return "[withheld]" if self.gives_away(rest) else rest

    def _progress(self, progress: Progress) -> Progress:
        doing, said = self.text(progress.doing), self.text(progress.said)
        running, heard = frozenset(map(self.text, progress.tools_running)), frozenset(map(self.text, progress.heard))
        session, todos = self.text(progress.session), self._todos(progress.todos)
        return replace(
            progress, doing=doing, said=said, todos=todos, session=session, tools_running=running, heard=heard
        )

    def _todos(self, todos: Sequence[Todo]) -> tuple[Todo, ...]:
        return tuple(replace(todo, text=self.text(todo.text)) for todo in todos)

    def _change(self, change: Change | None) -> Change | None:
        """What is published was looked at as it was captured; the names of what is not are said all the same."""
        return replace(change, left_out=tuple(map(self.text, change.left_out))) if change else None

    def _obstacle(self, obstacle: Obstacle | None) -> Obstacle | None:
        if obstacle is None:
            return None
        command, folder, advice = obstacle.command, obstacle.folder, obstacle.advice
        return Obstacle(
            self.text(obstacle.problem),
            self.text(command),
            self.text(folder),
            self.text(obstacle.output),
            tuple(map(self.text, advice)),
            tuple(map(self.text, obstacle.hosts)),
        )

    def _verification(self, found: Verification | None) -> Verification | None:
        if found is None:
            return None
        trials, before = (tuple(map(self._trial, some)) for some in (found.trials, found.before))
        return replace(found, trials=trials, before=before, trouble=self.text(found.trouble))

    def _trial(self, one: Trial) -> Trial:
        command, folder, problem = self.text(one.command), self.text(one.folder), self.text(one.problem)
        return replace(one, command=command, folder=folder, problem=problem, output=self.text(one.output))

    def _told(self) -> Sequence[str]:
        if not self.withheld:
            return ()
        passages = f"{self.withheld} passage{'s' if self.withheld != 1 else ''}"
        return (f"{passages} of what the agent said, for what looks like {', '.join(self.names)}",)


def refuse_leaks(text: str, leaks_in: GivesAway) -> None:
    """The last look at what is about to be published; it names the secret and shows nothing."""
    if names := leaks_in(text):
        raise NeedsHuman(f"I did not publish something that I was about to: it contains {', '.join(names)}.")


def without_leaks(text: str, leaks_in: GivesAway) -> str:
    """Trouble is told; what it gives away is not."""
    names = leaks_in(text)
    return f"Something went wrong; what exactly is withheld, because it contains {', '.join(names)}." if names else text
