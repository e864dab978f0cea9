"""`treehand backup`: writes the state directory to an archive, also while the daemon is running."""

import sys
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from bot.cli.output import print_text
from bot.maintenance.backup import back_up, ensure_has_database, write_backup
from bot.settings.find_file import settings_file
from bot.settings.load import load
from bot.system import clock


def backup(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    ensure_has_database(settings.state_dir)
    if options.to == "-":
        write_backup(settings.state_dir, sys.stdout.buffer)
        return
    to = Path(options.to).absolute()
    if to.is_dir():
        to /= f"treehand-{datetime.fromtimestamp(clock.now(), UTC):%Y%m%dT%H%M%SZ}.tar.gz"
    made = back_up(settings.state_dir, to)
    print_text(f"{to}: {made.files:,} files, {to.stat().st_size / 1e6:.1f} MB")
    if made.left_out:
        why = "they were removed in the meantime, cannot be read, or are too large for a commit"
        print_text(f"{made.left_out:,} files are missing: {why}")
    print_text(
        f"To restore it, unpack it into an empty {settings.state_dir}: `treehand docs deploy`. It contains your code."
    )
