"""Changes by setup are left out of the work; files with earlier uncommitted work stay work."""

from bot.git.index import Index, IndexEntry, unknown_stamp
from bot.workspace.setup_record import REMOVED, SetupRecord, entry_state

COMMITTED, WORK, SETUP = (IndexEntry(unknown_stamp(0o100644), bytes([number] * 20)) for number in (1, 2, 3))


def test_a_file_changed_by_setup_belongs_to_setup_unless_it_had_uncommitted_work():
    committed = Index({b"README.md": COMMITTED, b"app.py": COMMITTED, b"gone.py": COMMITTED})
    before = {b"README.md": entry_state(WORK), b"app.py": entry_state(COMMITTED), b"gone.py": entry_state(COMMITTED)}
    after = {b"README.md": entry_state(SETUP), b"app.py": entry_state(SETUP), b"new.txt": entry_state(SETUP)}

    made = SetupRecord().with_made(before, after, committed).made

    assert made == {"app.py": entry_state(SETUP), "new.txt": entry_state(SETUP), "gone.py": REMOVED}
