"""What setup changed is left out of the work; what had uncommitted work before stays work."""

from bot.git.index import Index, IndexEntry, unknown_stamp
from bot.workspace.setup_record import REMOVED, SetupRecord, entry_state

COMMITTED, WORK, SETUP = (IndexEntry(unknown_stamp(0o100644), bytes([number] * 20)) for number in (1, 2, 3))


def test_what_setup_changed_is_its_own_unless_it_had_uncommitted_work_before():
    committed = Index({b"README.md": COMMITTED, b"app.py": COMMITTED, b"gone.py": COMMITTED})
    before = {b"README.md": entry_state(WORK), b"app.py": entry_state(COMMITTED), b"gone.py": entry_state(COMMITTED)}
    after = {b"README.md": entry_state(SETUP), b"app.py": entry_state(SETUP), b"new.txt": entry_state(SETUP)}

    made = SetupRecord().with_made(before, after, committed).made

    assert made == {"app.py": entry_state(SETUP), "new.txt": entry_state(SETUP), "gone.py": REMOVED}
