"""What the corpus found in one repository, and the table of all. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_WITHOUT_TESTS = "documents"


@dataclass(slots=True)
class Found:
    """What came of one repository."""

    name: str
    kind: str
    setup: str = ""
    verify: str = ""
    answers: int = 0
    """Settings that a person had to add, each named by the program."""
    is_ready: bool = False
    """Setup succeeded, and the agent was asked."""
    is_tested: bool = False
    """At least one test was counted."""
    base_tests: str = ""
    """The tests' numbers with a harmless change."""
    is_base_red: bool = False
    blames_harmless: bool = False
    """A change that breaks nothing was called a regression."""
    is_broken_named: bool = False
    """The test that was broken on purpose is named."""
    is_broken_found: bool = False
    """The breaking change was called a regression."""
    seconds_first: float = 0.0
    seconds_next: float = 0.0
    """From the command's start to the first request to the model, in another worktree."""
    mb_next: int = 0
    """What another worktree adds on the disk."""
    reason: str = ""
    """Why it is not ready or not tested."""
    incomplete: str = ""
    """Objects or submodules that the clone lacks, as `check` says it."""
    cannot: str = ""
    """What this machine lacks to build it; empty if it can."""

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name.replace('/', '+')}.json").write_text(json.dumps(asdict(self), indent=1))


def load_all(folder: Path) -> Sequence[Found]:
    return [Found(**json.loads(file.read_text())) for file in sorted(folder.glob("*.json"))]


def table(all_found: Sequence[Found]) -> Iterator[str]:
    yield "| repository | kind | ready | tested | base | broken | s first / next | MB next | why not |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for one in all_found:
        yield f"| {' | '.join(_cells(one))} |"
    yield ""
    yield from _shares(all_found)


def _cells(one: Found) -> Iterator[str]:
    yield one.name
    yield one.kind
    yield ("cannot" if one.cannot else "no") if not one.is_ready else f"yes, {one.answers} answers"
    yield one.base_tests or ("yes" if one.is_tested else "no")
    yield "red" + (", blamed" if one.blames_harmless else "") if one.is_base_red else "green" if one.is_tested else ""
    yield "named" if one.is_broken_named else "found" if one.is_broken_found else "" if not one.is_tested else "no"
    yield f"{one.seconds_first:.0f} / {one.seconds_next:.0f}" if one.is_ready else ""
    yield f"{one.mb_next}" if one.is_ready else ""
    yield (one.cannot or one.reason).replace("|", "/").replace("\n", " ")[:200]


def _shares(all_found: Sequence[Found]) -> Iterator[str]:
    possible = [one for one in all_found if not one.cannot]
    good = [one for one in possible if one.is_ready and (one.is_tested or one.kind == _WITHOUT_TESTS)]
    yield f"{len(all_found)} repositories, {len(all_found) - len(possible)} cannot be built on this machine"
    for words, few in (("no answer", 0), ("at most one answer", 1), ("any number of answers", 99)):
        ready = sum(one.is_ready and one.answers <= few for one in possible)
        tested = sum(one.answers <= few for one in good)
        yield f"with {words}: ready {_share(ready, possible)}, truly tested {_share(tested, possible)}"
    named, found = sum(one.is_broken_named for one in good), sum(one.is_broken_found for one in good)
    yield f"the broken test is named in {_share(named, good)}, the regression found in {_share(found, good)}"
    red = [one for one in good if one.is_base_red]
    yield f"red base: {len(red)}, of which {sum(one.blames_harmless for one in red)} blamed a harmless change"


def _share(part: int, whole: Sequence[object]) -> str:
    return f"{part} of {len(whole)} ({100 * part / max(len(whole), 1):.0f} %)"
