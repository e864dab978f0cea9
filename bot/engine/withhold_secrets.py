"""Withholds secrets: replaces each text of an agent that holds a secret, before it is stored, shown or posted.

Rule: every text of an agent passes here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bot.domain.change import Change
from bot.domain.setup_plan import SetupObstacle
from bot.domain.turn import Event, EventKind, Progress, Todo, TurnAnswer, TurnReport
from bot.domain.verification import BaseComparison, NamedTests, Verification, VerifiedCommand
from bot.errors import NeedsHuman
from bot.ports import EventSink

FindSecrets = Callable[[str], Sequence[str]]
"""Returns the names of secrets in a text, or of text that looks like a secret; empty if there are none."""


@dataclass(slots=True)
class SecretScreen:
    """Screens the texts of one turn."""

    find_secrets: FindSecrets
    withheld: int = 0
    names: dict[str, None] = field(default_factory=dict)

    def wrap(self, notice: EventSink) -> EventSink:
        return lambda event: notice(self.event(event))

    def event(self, event: Event) -> Event:
        text = self._prompt(event.text) if event.kind is EventKind.PROMPT else self.text(event.text)
        tool, id_ = self.text(event.tool), self.text(event.id)
        return replace(event, text=text, tool=tool, id=id_, todos=self._todos(event.todos))

    def report(self, report: TurnReport) -> TurnReport:
        clean = replace(
            report,
            progress=self._progress(report.progress),
            session=self.text(report.session),
            detail=self.text(report.detail),
            summary=self.text(report.summary),
            question=self.text(report.question),
            answers=tuple(
                TurnAnswer(self.text(one.comment), one.declined, self.text(one.text)) for one in report.answers
            ),
            delivered=frozenset(map(self.text, report.delivered)),
            change=self._change(report.change),
            obstacle=self._obstacle(report.obstacle),
            verification=self._verification(report.verification),
            evidence=tuple(replace(one, name=self.text(one.name)) for one in report.evidence),
        )
        return replace(clean, refusals=(*map(self.text, report.refusals), *self._withheld_note()))

    def text(self, text: str) -> str:
        names = self.find_secrets(text) if text else ()
        if not names:
            return text
        self.withheld += 1
        self.names |= dict.fromkeys(names)
        return f"(withheld: it contains what looks like {', '.join(names)})"

    def _prompt(self, text: str) -> str:
        """Replaces only the lines with a secret, and does not count them: the text is ours."""
        if not self.find_secrets(text):
            return text
        lines = ("(withheld)" if self.find_secrets(line) else line for line in text.splitlines())
        rest = "\n".join(lines)
        return "(withheld)" if self.find_secrets(rest) else rest

    def _progress(self, progress: Progress) -> Progress:
        doing, message = self.text(progress.action), self.text(progress.message)
        running, heard = (
            frozenset(map(self.text, progress.tools_running)),
            frozenset(map(self.text, progress.delivered)),
        )
        session, todos = self.text(progress.session), self._todos(progress.todos)
        return replace(
            progress,
            action=doing,
            message=message,
            todos=todos,
            session=session,
            tools_running=running,
            delivered=heard,
        )

    def _todos(self, todos: Sequence[Todo]) -> tuple[Todo, ...]:
        return tuple(replace(todo, text=self.text(todo.text)) for todo in todos)

    def _change(self, change: Change | None) -> Change | None:
        """Screens uncommitted paths; committed content was scanned at capture."""
        return replace(change, left_out=tuple(map(self.text, change.left_out))) if change else None

    def _obstacle(self, obstacle: SetupObstacle | None) -> SetupObstacle | None:
        if obstacle is None:
            return None
        return replace(
            obstacle,
            problem=self.text(obstacle.problem),
            command=self.text(obstacle.command),
            folder=self.text(obstacle.folder),
            output=self.text(obstacle.output),
            advice=tuple(map(self.text, obstacle.advice)),
            hosts=tuple(map(self.text, obstacle.hosts)),
        )

    def _verification(self, found: Verification | None) -> Verification | None:
        if found is None:
            return None
        trials, before = (tuple(map(self._trial, some)) for some in (found.commands, found.base_commands))
        return replace(
            found,
            commands=trials,
            base_commands=before,
            problem=self.text(found.problem),
            test_files=tuple(map(self.text, found.test_files)),
        )

    def _trial(self, one: VerifiedCommand) -> VerifiedCommand:
        command, folder, problem = self.text(one.command), self.text(one.folder), self.text(one.problem)
        compared = self._comparison(one.against_base) if one.against_base else None
        return replace(
            one, command=command, folder=folder, problem=problem, output=self.text(one.output), against_base=compared
        )

    def _comparison(self, one: BaseComparison) -> BaseComparison:
        return replace(
            one,
            broken=self._tests(one.broken),
            flaky=self._tests(one.flaky),
            still_failing=self._tests(one.still_failing),
            fixed=self._tests(one.fixed),
            vanished=self._tests(one.vanished),
            added=self._tests(one.added),
        )

    def _tests(self, tests: NamedTests) -> NamedTests:
        """Screened together first: names are many, and secrets in them are rare."""
        if not self.find_secrets("\n".join(tests.names)):
            return tests
        return replace(tests, names=tuple(map(self.text, tests.names)))

    def _withheld_note(self) -> Sequence[str]:
        if not self.withheld:
            return ()
        passages = f"{self.withheld} passage{'s' if self.withheld != 1 else ''}"
        look = "look" if self.withheld > 1 else "looks"
        return (f"left out: {passages} of the agent's text that {look} like {', '.join(self.names)}",)


def refuse_secrets(text: str, leaks_in: FindSecrets) -> None:
    """Raises NeedsHuman if a text about to be published contains a secret; the error names it and does not show it."""
    if names := leaks_in(text):
        raise NeedsHuman(f"Treehand did not post this text, because it contains {', '.join(names)}.")


def without_secrets(text: str, leaks_in: FindSecrets) -> str:
    """Returns an error message, or a replacement if it contains a secret."""
    names = leaks_in(text)
    return f"An error occurred. Its text is withheld because it contains {', '.join(names)}." if names else text
