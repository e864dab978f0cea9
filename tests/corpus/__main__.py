"""`make corpus DIR=...`: plays real repositories that nobody prepared, with the installed command and no settings.

`DIR` has their clones, as `OWNER+NAME` or `OWNER/NAME`; what is missing is fetched with git. Results are kept in
`OUT` (default: `DIR/results`), one file each, so that a part can be played again: `ONLY="pallets/flask redux"`.
`QUICK=1` leaves out the change that breaks a test.
`TOOLS`: folders for `sandbox.tools`, with package managers that are no part of the system. A machine that reaches its
registries at private addresses names them in `CORPUS_PRIVATE_REGISTRIES`.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import tomllib
import traceback
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from play import play  # noqa: E402 - found from here only
from results import Found, load_all, table  # noqa: E402 - as above


def main() -> None:
    if not os.environ.get("DIR"):
        sys.exit("Name the folder with the clones: make corpus DIR=/clones")
    folder = Path(os.environ["DIR"])
    out = Path(os.environ.get("OUT") or folder / "results")
    only, tools = os.environ.get("ONLY", "").split(), os.environ.get("TOOLS", "").split()
    listed = tomllib.loads((HERE / "repositories.toml").read_text())["repositories"]
    for one in listed:
        if not only or any(word in one["name"] for word in only):
            asyncio.run(_play_one(one, folder, out, tools, is_quick=bool(os.environ.get("QUICK"))))
    print("\n".join(table(load_all(out))))


async def _play_one(one: dict[str, str], folder: Path, out: Path, tools: list[str], *, is_quick: bool) -> None:
    name, here = one["name"], Path(tempfile.mkdtemp(prefix="treehand-corpus-"))
    try:
        found = await play(
            name, one["kind"], _source(folder, name), one["commit"], here / "play", tools, is_quick=is_quick
        )
    except Exception:  # noqa: BLE001 - the others are played all the same
        found = Found(name, one["kind"], reason=traceback.format_exc())
    found.save(out)
    print(
        f"{name}: {'ready' if found.is_ready else 'not ready'}, {found.base_tests or found.reason[-200:]!r}", flush=True
    )
    if not os.environ.get("KEEP"):
        shutil.rmtree(here, ignore_errors=True)


def _source(folder: Path, name: str) -> Path | str:
    joined = name.replace("/", "+")
    places = (folder / joined / "repo", folder / joined / "repo" / ".git", folder / joined, folder / name)
    return next(
        (one for one in places if (one / "HEAD").exists() or (one / ".git").exists()), f"https://github.com/{name}"
    )


if __name__ == "__main__":
    main()
