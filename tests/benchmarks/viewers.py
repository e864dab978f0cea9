"""Open boards without browsers: `viewers.py PORT HOW_MANY SECONDS`. Prints how late changes were seen."""

import asyncio
import contextlib
import json
import re
import statistics
import sys
import time

DEED = re.compile(rb"deed at ([0-9.]+)")


async def watch(port: int, late: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    writer.write(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
    while line := await reader.readline():
        now = time.time()
        late += [now - float(found) for found in DEED.findall(line)]


async def main(port: int, how_many: int, seconds: float) -> None:
    late: list[float] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(watch(port, late) for _ in range(how_many)))
    print(json.dumps({"middle": statistics.median(late), "most": max(late), "seen": len(late) / how_many}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
