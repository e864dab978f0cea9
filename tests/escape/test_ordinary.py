"""Repeats the core tests as an ordinary user if root runs the tests: no protection may depend on root."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
UID = 58_901
CORE = ("test_sandbox.py", "test_files.py")
TURNS = (
    "test_turn.py::test_t6_the_model_gets_the_real_key_and_the_agent_cannot_see_it",
    "test_turn.py::test_t16_a_turn_over_its_memory_limit_is_ended_with_the_reason[shared]",
)

SETUP = (
    "test_setup_has_its_variables_and_none_of_the_host",
    "test_background_processes_of_setup_are_ended[bwrap]",
    "test_setup_can_write_only_to_the_worktree_and_the_downloads",
    "test_files_changed_by_setup_are_not_work_of_the_agent",
)
LAYERS = (
    "test_t17_no_run_changes_the_dependencies_that_others_see",
    "test_t17_marks_of_an_overlay_that_an_agent_made_lead_nowhere",
    "test_a_person_who_takes_a_worktree_over_finds_the_dependencies_in_it",
)

_ENTER = r"""
set -e
mount --make-rprivate /
mount -t tmpfs none "$STAGE"
n=0
for one in $SHOWN; do n=$((n + 1)); mkdir "$STAGE/$n"; mount --rbind "$one" "$STAGE/$n"; done
for one in $COVERED; do mount -t tmpfs -o mode=0755 none "$one"; done
n=0
for one in $SHOWN; do
  n=$((n + 1)); mkdir -p "$one"; mount --rbind "$STAGE/$n" "$one"; umount -l "$STAGE/$n"
done
cd "$PLACE"
exec setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups --no-new-privs "$@"
"""
"""A mount namespace with the Python in use and the repository, and without root's home."""


def test_the_core_tests_pass_for_an_ordinary_user(as_root):
    place = Path("/tmp") / f"treehand-escape-{os.getpid()}"
    covered = ["/tmp", *closed_above(Path(sys.base_prefix)), *closed_above(ROOT)]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--timeout", "60", "--basetemp",
               f"/tmp/{place.name}", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-n", "2",
               "-rs", "-k", "not place",
               *(str(ROOT / "tests" / "escape" / name) for name in (*CORE, *TURNS)),
               *(f"{ROOT}/tests/setup/test_prepare.py::{name}" for name in SETUP),
               *(f"{ROOT}/tests/setup/test_layers.py::{name}" for name in LAYERS)]  # fmt: skip
    environment = {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1",
        "STAGE": "/mnt", "SHOWN": f"{sys.base_prefix} {ROOT}",
        "COVERED": " ".join(dict.fromkeys(covered)),
        "PLACE": str(ROOT), "USER_ID": str(UID),
    }  # fmt: skip
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", _ENTER.replace("cd ", "chmod 1777 /tmp; cd "), "bash", *command],
        env=environment, capture_output=True, text=True, timeout=200, check=False, umask=0o022,
    )  # fmt: skip
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed[-6000:]
    assert int(re.search(r"(\d+) passed", printed)[1]) > 18, printed
    skipped = [line for line in printed.splitlines() if line.startswith("SKIPPED")]
    assert not [line for line in skipped if "what root gives up" not in line]


def closed_above(path: Path) -> list[str]:
    """Returns the topmost folder above it that only its owner may enter."""
    for folder in reversed(path.parents):
        if folder != Path("/") and not folder.stat().st_mode & 0o001:
            return [str(folder)]
    return []
