"""`make screenshots`: takes the pictures for the pages from a real, working daemon. Only the model is scripted."""

import asyncio
import os
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

sys.path.insert(1, str(Path(__file__).parent.parent.parent))

import past
import plot
import shop
from camera import camera

ALBUM = Path(__file__).parent.parent.parent / "docs" / "pictures"


async def main(folder: Path) -> None:
    async with camera(ALBUM) as taking:
        async with past.shown(folder / "past") as address:
            await taking.take("figures-light", f"{address}/statistics")
        port = _free_port()
        async with shop.opened(folder / "day", port) as day:
            await day.day()
            board = f"http://127.0.0.1:{port}/"
            at_work, offered = (
                f"{board}runs/{quote(day.key(title), safe='')}" for title in (plot.GERMAN, plot.DISCOUNT)
            )
            for light, dark in (("light", False), ("dark", True)):
                await taking.take(f"board-{light}", board, dark=dark)
                await taking.take(f"run-{light}", at_work, dark=dark)
                await taking.take(f"pull-request-{light}", offered, dark=dark, part="#discussion")
            await taking.take("phone", board, phone=True)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    os.environ["USER"] = "Mira"  # whoever is at the dashboard
    with tempfile.TemporaryDirectory(prefix="treehand-", ignore_cleanup_errors=True) as folder:
        asyncio.run(main(Path(folder)))
