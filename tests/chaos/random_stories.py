"""Random stories: people, services and the machine do anything they can, in an order drawn from a seed.

`python -m tests.chaos.random_stories FOLDER SEED COUNT SECONDS github|linear` tells so many, each with the next seed.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tests.chaos.chronicle import Chronicle, Storm, chronicled
from tests.chaos.forked_machine import ForkedMachine, Nursery, nurseries
from tests.chaos.history import History
from tests.chaos.random_people import BOT, People
from tests.chaos.small import REPOSITORY, Life
from tests.chaos.story_laws import Laws, branch_of
from tests.chaos.tempo import FastWorld, Tempo
from tests.chaos.trackers import GitHubIssues, LinearIssues
from tests.fakes.linear.clock import Clock
from tests.fakes.linear.faults import Fault as LinearFault
from tests.fakes.linear.faults import Faults as LinearFaults
from tests.fakes.linear.server import ServedLinear
from tests.fakes.linear.server import served as served_linear
from tests.fakes.linear.traffic import Call
from tests.fakes.linear.world import LinearWorld

DEEDS = [
    ("open_issue", 6), ("label", 3), ("unlabel", 2), ("off_and_on", 2), ("on_and_off", 1), ("touch_phase_label", 2),
    ("plan_label", 1), ("close_issue", 2), ("reopen_issue", 2), ("edit_issue", 2), ("remove_issue", 1),
    ("move_issue", 2), ("comment", 8), ("reply_in_thread", 2), ("burst", 1), ("command", 8), ("edit_comment", 2),
    ("delete_comment", 2), ("comment_on_pull", 6), ("remark", 5), ("reply_to_remark", 4), ("review", 5), ("merge", 4),
    ("close_pull", 1), ("reopen_pull", 2), ("draft", 1), ("push", 3), ("force_push", 3), ("delete_branch", 1),
    ("check", 3), ("push_base", 3), ("rename_repository", 1), ("rename_default_branch", 1), ("lock", 1),
    ("archive", 1), ("restore", 3), ("lose_rights", 1), ("bot_loses_rights", 1),
]  # fmt: skip
ONLY_GITHUB = {"lose_rights"}
_CONFLICT = b'{"errors": [{"message": "Conflict", "extensions": {"code": "INTERNAL_SERVER_ERROR"}}], "data": null}'
_REST_SECONDS, _REST_AT_MOST = 1.5, 80.0


@dataclass
class LinearStorm(LinearFaults):
    random: Random = None  # type: ignore[assignment]
    share: float = 0.0
    over: bool = False

    def next_for(self, call: Call) -> LinearFault | None:
        if self.over or self.random.random() > self.share:
            return None
        lies = [
            LinearFault(done=True, cut=True), LinearFault(cut=True), LinearFault(half=True),
            LinearFault(status=self.random.choice((500, 502, 503))), LinearFault(status=500, done=True),
            LinearFault(status=429, headers={"Retry-After": "5"}, body=b"Too Many Requests"),
            LinearFault(amended=lambda answer: answer.body.update({"data": {}})),
            LinearFault(status=200, body=_CONFLICT), LinearFault(delay=self.random.uniform(0.1, 1.0), done=True),
        ]  # fmt: skip
        if call.effects:
            lies.append(LinearFault(status=200, body=_unsuccessful(call)))
        return self.random.choice(lies)


def _unsuccessful(call: Call) -> bytes:
    inside = ", ".join(f'"{name}": {{"success": false}}' for name in call.fields)
    return f'{{"data": {{{inside}}}}}'.encode()


class FastClock(Clock):
    """Linear's clock in compressed time."""

    def __init__(self, tempo: Tempo) -> None:
        self._tempo = tempo
        self.ticking = True
        self._last = 0.0

    @property
    def now(self) -> float:
        return self._tempo.now()


@dataclass
class Story:
    seed: int
    kind: str
    people: People
    github: Chronicle
    linear: ServedLinear | None
    machines: Sequence[ForkedMachine]
    random: Random
    laws: Laws
    tempo: Tempo

    @property
    def storms(self) -> list:
        return [self.github.storm, *([self.linear.faults] if self.linear else [])]


@contextmanager
def _linear(tempo: Tempo, random: Random, share: float):
    world = LinearWorld()
    world.clock = FastClock(tempo)
    ana, olga = (world.add_user(name, f"{name}@acme.example") for name in ("ana", "olga"))
    world.add_user("eve", "eve@elsewhere.example", guest=True)
    ours = world.add_user(BOT, f"{BOT}@acme.example", app=True)
    for key in ("ENG", "OPS"):
        world.add_team(key, key, members=[ana, olga, ours])
    world.lag = random.choice((0.0, 2.0, 10.0))
    world.honours_ids = random.random() < 0.7
    world.comments_touch_issue = random.random() < 0.5
    world.swaps_grouped_labels = random.random() < 0.5
    world.refuses_second_reaction = random.random() < 0.5
    world.groups_history = random.choice((0.0, 60.0))
    with served_linear(
        world, ServedLinear(world, faults=LinearStorm(random=Random(random.random()), share=share))
    ) as linear:
        yield linear


@asynccontextmanager
async def scene(folder: Path, seed: int, kind: str, born: Sequence[Nursery]) -> AsyncIterator[Story]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random, tempo = Random(seed), Tempo(time.time())
    history = History(folder / "history.jsonl", tempo.now)
    stormy = random.choice((0.0, 1.0, 1.0))
    storm = Storm(dropped=0.08 * stormy, broken=0.03 * stormy, limited=0.01 * stormy, lying=0.02 * stormy)
    storm.random = Random(seed + 1)
    world = FastWorld(folder / "github", tempo)
    world.lag = random.choice((0.0, 2.0, 15.0))
    path = str(world.add_repository(REPOSITORY, ana="write", olga="write", **{BOT: "write"}).path)
    with ExitStack() as stack:
        github = stack.enter_context(chronicled(world, history, storm))
        linear = stack.enter_context(_linear(tempo, random, 0.05 * stormy)) if kind == "linear" else None
        token = github.token_for(BOT)
        machines = []
        for number, nursery in enumerate(born[: 2 if random.random() < 0.25 else 1]):
            machine = folder / f"machine{number}"
            machine.mkdir()
            life = Life(
                str(machine), github.url, path, token, tempo.origin, tempo.speed, 180.0, mood=str(seed),
                working=random.choice((1, 2, 4)), quiet_seconds=random.choice((0.0, 60.0)),
                linear_url=linear.url if linear else "", linear_token=linear.token_for(BOT) if linear else "",
            )  # fmt: skip
            machines.append(ForkedMachine(machine, history, {}, nursery=nursery, life=life))
        issues = LinearIssues(linear.world, REPOSITORY) if linear else GitHubIssues(world, REPOSITORY)
        people = People(world, issues, random, history, REPOSITORY)
        laws = Laws(people, [machine.folder for machine in machines])
        try:
            yield Story(seed, kind, people, github, linear, machines, random, laws, tempo)
        finally:
            for machine in machines:
                if machine.alive and machine.strike():
                    await machine.bury()


async def told(folder: Path, seed: int, kind: str, born: Sequence[Nursery], *, deeds: int = 0) -> list[str]:
    """Tells one story. Returns what was broken."""
    async with scene(folder, seed, kind, born) as story:
        for machine in story.machines:
            await machine.start()
        await _wild(story, deeds or story.random.randint(8, 45))
        await _calm(story)
        broken = [f"at rest: {one}" for one in await rested(story)]
        broken += await _ended(story)
        await _stopped(story)
        broken += [f"at the end: {one}" for one in story.laws.at_the_end()]
        if story.linear:
            broken += [f"linear: {one}" for one in story.linear.violations]
        (folder / "deeds.txt").write_text("\n".join(story.people.done))
        return broken


async def _wild(story: Story, count: int) -> None:
    story.people.act([("open_issue", 1)])
    kinds = [one for one in DEEDS if story.kind == "github" or one[0] not in ONLY_GITHUB]
    deadly = story.random.random() < 0.6
    for _ in range(count):
        story.people.act(kinds)
        await asyncio.sleep(story.random.choice((0.0, 0.1, 0.4, 1.2, 2.5)))
        if deadly and story.random.random() < 0.15:
            await _disturb(story)
        for machine in story.machines:
            assert machine.alive, "it fell by itself"


async def _disturb(story: Story) -> None:
    machine = story.random.choice(story.machines)
    kind = story.random.choice(("kill", "kill", "stop", "settings", "pause"))
    story.people.done.append(f"{kind} {machine.folder.name}")
    match kind:
        case "kill":
            machine.strike()
            await machine.rise()
        case "pause":
            machine.pause()
            await asyncio.sleep(story.random.uniform(0.1, 5.0))
            machine.go_on()
        case _:
            await machine.stop()
            if kind == "settings":
                machine.life = replace(
                    machine.life,
                    working=story.random.choice((1, 2, 4)),
                    usd_a_day=story.random.choice((0.0, 0.03)),
                    usd_an_issue=story.random.choice((0.0, 0.02)),
                )
            await machine.start()


async def _calm(story: Story) -> None:
    """All faults are over, everything is permitted, and no limit is left."""
    for storm in story.storms:
        storm.over = True
    with story.people.world.lock:
        story.people._restore()
    for machine in story.machines:
        machine.life = replace(machine.life, usd_a_day=0.0, usd_an_issue=0.0)
        await machine.stop()
        await machine.start()


async def rested(story: Story) -> list[str]:
    """Waits until nothing happens. Returns what is broken then."""
    end = time.monotonic() + _REST_AT_MOST
    quiet_since, written, broken = time.monotonic(), -1, [""]
    while time.monotonic() < end:
        await asyncio.sleep(0.3)
        now = story.github.written + (sum(call.effects for call in story.linear.history) if story.linear else 0)
        broken = story.laws.at_rest()
        if now != written or broken:
            written, quiet_since = now, time.monotonic()
        elif time.monotonic() - quiet_since > _REST_SECONDS:
            return []
    return broken or ["it never rests"]


_WORDS = ("/ai resume", "/ai approve", "Go on, please.", "/ai give", "/ai retry", "/ai stop")


async def _ended(story: Story) -> list[str]:
    """Brings every run to its end by words of people, and then by a merge. Returns what is broken on the way."""
    broken = []
    for word in (*_WORDS[:-1], "", "", "/ai stop"):
        open_runs = [run for run in story.laws.runs() if run["phase"] != "done"]
        if not open_runs:
            break
        with story.people.world.lock:
            for run in open_runs:
                _go_on(story, run, word)
        await asyncio.sleep(0.7)
        broken += [f"after {word!r}: {one}" for one in await rested(story)]
        if broken:
            break
    return broken


def _go_on(story: Story, run: dict, word: str) -> None:
    people = story.people
    if run["phase"] == "review":
        for pull in people.pulls():
            if pull.pull.head_ref == branch_of(run):
                try:
                    people.world.merge(people.repo, pull.number, "squash")
                except Exception:  # noqa: BLE001 - a conflict
                    people.done.append(f"cannot merge {pull.number}")
                else:
                    people.done.append(f"merged {pull.number}")
                    return
    if people.issues.find(run["key"]) is None:
        return
    text = word or "Something else, please."
    people.done.append(people._note(run["key"], people.issues.comment(run["key"], text, by="ana"), "ana", text))


async def _stopped(story: Story) -> None:
    """Each of them tidies once more alone, as soon as the others have stopped. The claim is given back by the last."""
    for machine in story.machines:
        await machine.stop()
    for machine in (*story.machines, *story.machines) if len(story.machines) > 1 else ():
        await machine.start()
        await asyncio.sleep(3.0)
        await machine.stop()


async def _many(folder: Path, seed: int, count: int, seconds: float, kind: str) -> int:
    """Tells so many stories within the time, each with the next seed. Returns how many were broken."""
    end, bad, number = time.monotonic() + seconds, 0, 0
    async with nurseries(2) as born:
        while number < count and time.monotonic() < end:
            one, begun = seed + number, time.monotonic()
            number += 1
            place = folder / f"{kind}-{one}"
            broken = await told(place, one, kind, born)
            bad += bool(broken)
            print(f"  {kind} SEED={one} {'BROKEN' if broken else 'ok'} {time.monotonic() - begun:.0f} s", flush=True)
            for line in dict.fromkeys(broken):
                print(f"    {line}", flush=True)
            if not broken:
                shutil.rmtree(place)
    print(f"  {kind}: stories={number} broken={bad}", flush=True)
    return bad


if __name__ == "__main__":
    place, first, count, seconds, kind = sys.argv[1:]
    sys.exit(bool(asyncio.run(_many(Path(place), int(first), int(count), float(seconds), kind))))
