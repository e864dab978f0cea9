"""Plays one repository: `check`, an issue with a harmless change, and one with a change that breaks tests."""

import re
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from breaking import break_tests, contents_of
from person import Person, clone, git, named_hosts
from results import Found

_MISSING = re.compile(r"Not in the sandbox: ([^;]+);")
_MOST_ANSWERS = 4
_HARMLESS = {"treehand-corpus-note.md": "A note.\n"}


async def play(
    name: str, kind: str, source: Path | str, commit: str, here: Path, tools: Sequence[str], *, is_quick: bool
) -> Found:
    shutil.rmtree(here, ignore_errors=True)
    person, found = Person(here / "home", here / "shop", tools), Found(name, kind)
    person.home.mkdir(parents=True)
    clone(source, person.repository, commit)
    await person.treehand("init", "--yes", "--no-check")
    await _check(person, found)
    key, found.seconds_first = await person.ask("A note", _HARMLESS)
    while not found.seconds_first and found.answers < _MOST_ANSWERS and await _answer(person, found, key):
        found.seconds_first = await person.run(_HARMLESS)
    found.is_ready = bool(found.seconds_first)
    shown = await person.json("show", key)
    if not found.is_ready:
        found.reason = _told(await person.treehand("issue", "show", key))
        found.cannot = _lacking(person, found)
        return found
    _read_harmless(found, shown.get("verification") or {})
    found.cannot = "" if found.is_tested else found.incomplete
    if not is_quick:
        await _break(person, found)
    return found


async def _check(person: Person, found: Found) -> None:
    lines = await person.json("check")
    for name, line in lines.items():
        if name.endswith("/setup"):
            found.setup = str(line["detail"])
            if hosts := named_hosts(found.setup):
                person.hosts, found.answers = hosts, 1
        if name.endswith("/verify"):
            found.verify = str(line["detail"])
        if name.endswith("/content") and not line["ok"]:
            found.incomplete = str(line["detail"])


async def _answer(person: Person, found: Found, key: str) -> bool:
    """Adds what the issue asks for, like a person who trusts it. Returns False if it names no setting."""
    hosts = named_hosts(await person.treehand("issue", "show", key))
    if not set(hosts) - set(person.hosts):
        return False
    person.hosts = tuple(dict.fromkeys((*person.hosts, *hosts)))
    found.answers += 1
    await person.treehand("retry", key)
    return True


def _read_harmless(found: Found, verification: Mapping[str, Any]) -> None:
    commands = verification.get("commands") or []
    found.base_tests = "; ".join(_numbers(one) for one in commands)
    found.is_tested = any((one.get("counts") or {}).get("passed", 0) > 0 for one in commands)
    found.is_base_red = any(one.get("exit_code") not in {0, None} for one in commands)
    found.blames_harmless = any(one.get("broken") for one in commands)
    if not found.is_tested:
        ends = [str(one.get("problem") or one.get("output") or "")[-1500:] for one in commands]
        found.reason = "\n".join([str(verification.get("trouble") or ""), *ends]).strip() or "no test command"


def _numbers(command: Mapping[str, Any]) -> str:
    counts = command.get("counts")
    if not counts:
        return f"exit {command.get('exit_code')}, no count"
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


async def _break(person: Person, found: Found) -> None:
    names = git(person.repository, "ls-files").splitlines()
    broken = break_tests(names, lambda name: (person.repository / name).read_text(errors="replace"))
    key, found.seconds_next = await person.ask("Break something", contents_of(broken))
    found.mb_next = _added(person.state_dir)
    shown = await person.json("show", key)
    commands = (shown.get("verification") or {}).get("commands") or []
    compared = [one.get("against_base") or {} for one in commands]
    found.is_broken_found = any(one.get("broken") for one in commands)
    named = [name for one in compared for name in (one.get("broken") or {}).get("names", ())]
    found.is_broken_named = any(one.name in name for one in broken for name in named)
    if found.is_tested and not found.is_broken_named:
        ends = [str(one.get("output") or "")[-1200:] for one in commands]
        found.reason = "\n".join(
            [
                f"broke {[(one.path, one.name) for one in broken]}, and named {named[:5]}; phase {shown.get('phase')}",
                *ends,
            ]
        )


def _added(state: Path) -> int:
    """Megabytes that the newest worktree has for itself: what others share with it is counted with them."""
    trees = sorted((state / "worktrees").glob("*/*"), key=lambda folder: folder.stat().st_ctime)
    if not trees:
        return 0
    folders = [str(one) for one in (state / "caches", *trees) if one.exists()]
    done = subprocess.run(["du", "-sm", *folders], capture_output=True, text=True, check=False)
    return int(done.stdout.splitlines()[-1].split()[0])


def _lacking(person: Person, found: Found) -> str:
    """What this machine lacks: objects, a program, or the way to a registry. Empty if it has all."""
    if found.incomplete:
        return found.incomplete
    if missing := _MISSING.search(found.setup):
        return f"no {missing[1]}"
    unreachable = [host for host in person.hosts if not _is_known(host)]
    return f"no way to {', '.join(unreachable)}" if unreachable else ""


def _is_known(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, 443))
    except OSError:
        return False


def _told(issue: str) -> str:
    """The end of what the run asks."""
    return issue[-3000:]
