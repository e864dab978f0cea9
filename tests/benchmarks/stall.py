"""How long hostile input holds the daemon's loop: texts on GitHub, and requests of a sandbox to its model.

By the processor time of the loop's thread, so that others' load does not count.
"""

import contextlib
from pathlib import Path

from figures import Figure

from bot.sandbox.proxy.grant import ProxyRefusal
from bot.sandbox.proxy.model_request import parse_model_request
from tests.escape.github_scene import scene_at
from tests.escape.loop_stall import measured_stall
from tests.escape.test_loop_stall import HOSTILE, SIZE
from tests.fakes.github import GitHubWorld, served
from tests.services.github.github_bot import REPO

_MOST_MS = 100
_SIZE = 256 * 1024 - 100
"""The proxy reads larger requests in a thread."""
_REQUESTS = {
    "long": b'"' + b"x" * _SIZE + b'"',
    "escapes": b'"' + rb"\n" * (_SIZE // 2) + b'"',
    "keys": b"[{" + b",".join(b'"%d":1' % number for number in range(_SIZE // 9)) + b"}]",
    "objects": b"[" + b"{}," * (_SIZE // 3) + b"1]",
    "depth": b"[" * _SIZE,
}


async def measure(folder: Path) -> list[Figure]:
    return [
        *[await _texts(folder / name, name, author) for name, author in (("strangers", "eve"), ("maintainers", "ana"))],
        await _requests(),
    ]


async def _texts(folder: Path, name: str, author: str) -> Figure:
    world = GitHubWorld(folder / "github")
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    world.user("eve")
    with served(world, validate=False) as github:
        async with scene_at(github, folder) as scene:
            scene.ask(body=HOSTILE[0][:SIZE])
            await scene.tick()
            assert scene.run, "nothing was read"
            for number, text in enumerate(HOSTILE):
                world.comment(REPO, scene.number, f"{text[: SIZE - 9]} {number}", by=author)
            async with measured_stall() as stall:
                await scene.tick()
    return Figure(f"longest stall of the loop, {len(HOSTILE)} hostile comments of {name}", _ms(stall), "ms", _MOST_MS)


async def _requests() -> Figure:
    """Those that the proxy reads in the loop: larger ones are read in a thread."""
    longest = 0.0
    for content in _REQUESTS.values():
        body = b'{"model": "a", "messages": ' + content + b"}"
        async with measured_stall() as stall:
            with contextlib.suppress(ProxyRefusal):
                parse_model_request(body)
        longest = max(longest, _ms(stall))
    return Figure(
        f"longest stall of the loop, {len(_REQUESTS)} hostile requests for the model", longest, "ms", _MOST_MS
    )


def _ms(stall) -> float:
    return stall.longest * 1000
