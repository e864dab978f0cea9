"""Checker: reads a history and lists the broken promises.

At most one pull request and one progress comment per issue; no comment twice; no issue lost; no process left behind by
a kill -9; no file left on the disk at the end, and intact databases; the service's rate limits kept.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.chaos.history import lines_of

Line = Mapping[str, Any]

_MARKER = re.compile(r"<!-- treehand:\d+/(?P<slug>[\w./%~+-]+) [0-9a-f]{64} -->")
_BRANCH = re.compile(r"treehand/.*?-(?P<issue>\d+)(-\d+)?")
_ON_ISSUE = re.compile(r"/issues/(\d+)/comments")
_APART, _SLACK = 1.0, 0.3
"""Seconds between two writes; and what a busy machine may take of it between sending and arriving."""
_A_MINUTE, _POINTS = 80, 900
_MAY_GROW = {"files": 3, "threads": 3, "children": 0, "memory_mb": 50.0, "worktrees": 0}
_KNOWN_TO_NOBODY = 0.5
"""Seconds after an answer in which a kill may take the knowledge of it away."""


@dataclass(frozen=True)
class Verdict:
    broken: Sequence[str]
    figures: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        told = " ".join(f"{name}={value:g}" for name, value in self.figures.items())
        return "\n".join([told, *(f"BROKEN {one}" for one in self.broken)])


def judged(file: Path) -> Verdict:
    lines = list(lines_of(file))
    broken = [*_doubled(lines), *_lost(lines), *_left_behind(lines), *_limits(lines)]
    return Verdict(broken, _figures(lines))


def _requests(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line["what"] == "request" and "status" in line]


def _took(line: Line) -> bool:
    return bool(line["status"] < 400 and line["method"] != "GET")


def _doubled(lines: Sequence[Line]) -> Iterator[str]:
    took = [line for line in _requests(lines) if _took(line)]
    pulls: dict[str, list[int]] = {}
    for line in took:
        if line["kind"] == "pull request":
            branch = _BRANCH.fullmatch(line["made"]["head"] or "")
            pulls.setdefault(branch["issue"] if branch else "?", []).append(line["made"]["number"])
    for issue, numbers in pulls.items():
        if len(numbers) > 1:
            yield f"issue {issue} has several pull requests: {numbers}"
    said = Counter((_place_of(line), _slug_of(line)) for line in took if line["kind"] in {"comment", "reply"})
    for (place, slug), times in said.items():
        if times > 1:
            yield f"{slug!r} was said {times} times on {place}"


def _place_of(line: Line) -> str:
    found = _ON_ISSUE.search(line["path"])
    return found[1] if found else line["path"]


def _slug_of(line: Line) -> str:
    """Returns the slug of the last marker without the number of the run: people see one bot."""
    markers = list(_MARKER.finditer((line["sent"] or {}).get("body", "")))
    return markers[-1]["slug"] if markers else "no marker"


def _lost(lines: Sequence[Line]) -> Iterator[str]:
    stages: dict[int, str] = {}
    for line in lines:
        if line["what"] == "people":
            stages[line["issue"]] = line["stage"]
    asking = _asking(lines)
    for issue, stage in stages.items():
        if stage != "tidied" and issue not in asking:
            yield f"issue {issue} got no further than {stage!r}, and nobody is asked"


def _asking(lines: Sequence[Line]) -> set[int]:
    found: set[int] = set()
    for line in _requests(lines):
        if not _took(line) or line["kind"] not in {"label", "unlabel"}:
            continue
        if line["path"] == "/graphql":
            for one in line["labelled"]:
                if "ai:asking" in one["labels"]:
                    (found.add if one["adds"] else found.discard)(one["issue"])
            continue
        issue = int(line["path"].split("/issues/")[1].split("/")[0])
        if line["kind"] == "label" and "ai:asking" in (line["sent"] or {}).get("labels", ()):
            found.add(issue)
        if line["kind"] == "unlabel" and line["path"].endswith("asking"):
            found.discard(issue)
    return found


def _left_behind(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        match line["what"]:
            case "found":
                yield line["problem"]
            case "orphans":
                yield f"{line['after']} s after a kill -9 there were still: {line['commands']}"
            case "stopped" if line["code"] != 0:
                yield f"it was asked to end and ended with {line['code']}"
            case "inspected":
                yield from _found_at_the_end(line)
            case "soaked":
                yield from _grown(line["before"], line["after"])


def _found_at_the_end(line: Line) -> Iterator[str]:
    for what in ("worktrees", "residents", "mounts"):
        if line[what]:
            yield f"at the end there are {what}: {line[what]}"
    for name, verdict in line["databases"].items():
        if verdict != "ok":
            yield f"{name}: {verdict}"
    if open_runs := {key: phase for key, phase in line["phases"].items() if phase not in {"done", "asking"}}:
        yield f"the issues are over, and runs are not: {open_runs}"


def _grown(before: Line, after: Line) -> Iterator[str]:
    for what, most in _MAY_GROW.items():
        if after[what] > before[what] + most:
            yield f"{what} grew from {before[what]} to {after[what]}"


# Limits


def _limits(lines: Sequence[Line]) -> Iterator[str]:
    for who in {line["by"] for line in _requests(lines)} - {""}:
        api = sorted(
            (line for line in _requests(lines) if line["by"] == who and _is_api(line)), key=lambda one: one["came"]
        )
        writes = [line["came"] for line in api if _is_write(line)]
        close = [round(later - sooner, 3) for sooner, later in pairwise(writes) if later - sooner < _APART - _SLACK]
        if close:
            yield f"{len(close)} times {who} wrote twice in less than a second: {sorted(close)[:5]}"
        if (most := _most_within(60.0, [(at, 1) for at in writes])) > _A_MINUTE:
            yield f"{who} wrote {most} times in a minute"
        if (most := _most_within(60.0, [(line["came"], 5 if _is_write(line) else 1) for line in api])) > _POINTS:
            yield f"{who} spent {most} points in a minute"
        yield from _impatient(lines, api)


def _is_api(line: Line) -> bool:
    return bool(line["path"].startswith(("/repos/", "/graphql")))


def _is_write(line: Line) -> bool:
    return line["method"] != "GET" and line["path"] != "/graphql"


def _most_within(seconds: float, spent: Sequence[tuple[float, int]]) -> int:
    most, first, total = 0, 0, 0
    for at, points in spent:
        total += points
        while at - spent[first][0] >= seconds:
            total -= spent[first][1]
            first += 1
        most = max(most, total)
    return most


def _impatient(lines: Sequence[Line], api: Sequence[Line]) -> Iterator[str]:
    kills = [line["at"] for line in lines if line["what"] == "killed"]
    for refused in api:
        if not refused["retry_after"] or not refused["told"]:
            continue
        at = refused["at"]
        if any(at - 0.05 <= kill <= at + _KNOWN_TO_NOBODY for kill in kills):
            continue
        until = at + float(refused["retry_after"])
        early = [line["came"] for line in api if at + 0.1 < line["came"] < until - 0.1]
        if early:
            yield f"asked {len(early)} times in the {refused['retry_after']} s it was told to wait"


def _figures(lines: Sequence[Line]) -> dict[str, float]:
    requests = _requests(lines)
    writes = [line for line in requests if _is_api(line) and _is_write(line)]
    came = sorted(line["came"] for line in writes)
    stages = {line["issue"]: line["stage"] for line in lines if line["what"] == "people"}
    gone = [line["after"] for line in lines if line["what"] == "alone"]
    return {
        "seconds": round(lines[-1]["at"] - lines[0]["at"], 1),
        "issues": len(stages),
        "tidied": sum(stage == "tidied" for stage in stages.values()),
        "kills": sum(line["what"] == "killed" for line in lines),
        "requests": len(requests),
        "writes": len(writes),
        "dropped": sum(not line["told"] for line in requests if line["status"] < 400),
        "refused": sum(line["status"] >= 500 or bool(line["retry_after"]) for line in requests),
        "pull_requests": sum(_took(line) and line["kind"] == "pull request" for line in requests),
        "comments": sum(_took(line) and line["kind"] == "comment" for line in requests),
        "pushes": sum(line["kind"] == "push" for line in requests),
        "closest_writes_s": min((round(later - sooner, 2) for sooner, later in pairwise(came)), default=0.0),
        "slowest_to_be_gone_s": max(gone, default=0.0),
        **{
            f"{what}_grew": round(line["after"][what] - line["before"][what], 1)
            for line in lines
            if line["what"] == "soaked"
            for what in _MAY_GROW
        },
    }


if __name__ == "__main__":
    verdict = judged(Path(sys.argv[1]))
    print(verdict)
    sys.exit(bool(verdict.broken))
