"""The wheel in an empty account: an ordinary user, the system's own Python, and the packages of the lock file."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.podman import ROOT

WHEELS = ROOT / ".venv" / "container" / "wheels"
PYTHON = Path("/usr/bin/python3")
_USER = "nobody"


class Account:
    """Somebody's machine: only the wheel and its packages come from here."""

    def __init__(self, home: Path) -> None:
        self.home, self.is_root = home, os.geteuid() == 0
        if self.is_root:
            shutil.chown(home, _USER, pwd.getpwnam(_USER).pw_gid)

    def does(self, *words: object) -> str:
        env = ["env", "-i", f"HOME={self.home}", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"]
        become = ["runuser", "--user", _USER, "--"] if self.is_root else []
        done = subprocess.run(
            [*become, *env, *map(str, words)], cwd=self.home, capture_output=True, text=True, check=False, timeout=280
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def account() -> Iterator[Account]:
    """Not below pytest's folder, which nobody else can enter."""
    home = Path(tempfile.mkdtemp(prefix="treehand-account-", dir="/tmp"))
    yield Account(home)
    shutil.rmtree(home)


@pytest.fixture
def offered(account: Account) -> Path:
    """A folder that the account can read, with the wheel and every package."""
    if not WHEELS.is_dir():
        pytest.fail("There are no packages yet: `make container` downloads them, and runs this.")
    folder = account.home / "offered"
    shutil.copytree(WHEELS, folder)
    words = [sys.executable, "-m", "release.artifacts", "--outdir", folder]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True, timeout=280)
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)
    return folder


def _version() -> str:
    words = [PYTHON, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout.strip()


@pytest.mark.skipif(_version() != "3.11", reason="/usr/bin/python3 with venv is not 3.11, which the packages are for")
def test_the_demo_plays_in_an_empty_account_after_the_wheel_was_installed(account: Account, offered: Path):
    account.does(PYTHON, "-m", "venv", "environment")
    pip, treehand = account.home / "environment/bin/pip", account.home / "environment/bin/treehand"
    account.does(pip, "install", "--quiet", "--no-index", "--find-links", offered, "treehand")
    assert "The demo has finished." in account.does(treehand, "demo", "--once")
