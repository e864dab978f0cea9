"""`make recording`: records `treehand demo` in a real terminal, as an animated picture for the README.

Only the pauses are edited: none is longer than `LONGEST`, and the time between two frames does not depend on the
machine's load.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parent.parent.parent))

from tests.recording.film import draw
from tests.recording.terminal import record

PICTURE = Path(__file__).parent.parent.parent / "docs" / "pictures" / "demo.svg"
COLUMNS, ROWS = 100, 28
LARGEST = 150_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="treehand-", ignore_cleanup_errors=True) as home:
        command = [str(Path(sys.executable).with_name("treehand")), "demo", "--once"]
        env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        frames = record(command, env=env, size=(COLUMNS, ROWS), shown_as="treehand demo --once")
    PICTURE.write_text(draw(frames, columns=COLUMNS, rows=ROWS))
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {len(frames)} frames, {size // 1000} KB")
    if size > LARGEST:
        raise SystemExit(f"{PICTURE.name} is too large for a page.")


if __name__ == "__main__":
    main()
