"""`make container`: builds the image without a registry, on a base made by debootstrap, and tests it with Podman.

If that is impossible it prints the reason and that nothing was tested: an error, unless `--may-lack` permits it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT))

from tests.container.podman import ARCHITECTURE, BASE, LIMITS, Podman  # noqa: E402 - found from here only

FOLDER = ROOT / ".venv" / "container"
_SUITE = "bookworm"
_PROGRAMS = {"podman": "podman", "runc": "runc", "debootstrap": "debootstrap"}
"""What is needed, and the package it comes in."""
_NEWEST_GLIBC = 36
_NOT_IN_SLIM = ("doc", "groff", "info", "lintian", "linda", "locale", "man")
"""Of /usr/share: what the base that the Dockerfile names is without."""


class NotTried(Exception):
    """The image could not be tested, with the reason."""


def main(*options: str) -> int:
    try:
        podman = _ground()
    except NotTried as why:
        print(f"\nNOT TRIED: the container. {why}\n", file=sys.stderr)
        return 0 if "--may-lack" in options else 1
    podman.build(_wheels())
    try:
        words = [sys.executable, "-m", "pytest", "-rs", str(Path(__file__).parent)]
        return subprocess.run(words, cwd=ROOT, check=False).returncode
    finally:
        podman("image", "prune", "--force", check=False)


def _ground() -> Podman:
    _ensure_programs()
    FOLDER.mkdir(parents=True, exist_ok=True)
    podman = Podman(FOLDER)
    if podman("image", "exists", BASE, check=False).returncode:
        _make_base(podman)
    tried = podman("run", "--rm", "--network", "none", *LIMITS, BASE, "true", check=False)
    if tried.returncode:
        raise NotTried(f"Podman runs no container here: {tried.stderr.strip()}")
    return podman


def _ensure_programs() -> None:
    missing = [package for program, package in _PROGRAMS.items() if not _found(program)]
    if missing and shutil.which("apt-get") and os.geteuid() == 0:
        print(f"Installing {', '.join(missing)}")
        words = ["apt-get", "install", "--yes", "-qq", "--no-install-recommends", *missing]
        if not _works(*words):
            _works("apt-get", "update", "-qq")
            _works(*words)
    missing = [package for program, package in _PROGRAMS.items() if not _found(program)]
    if missing:
        raise NotTried(f"Missing, and not to be installed from here (that takes root, on Debian): {' '.join(missing)}.")


def _found(program: str) -> bool:
    return bool(shutil.which(program, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))


def _works(*words: str) -> bool:
    return not subprocess.run(words, capture_output=True, check=False, timeout=900).returncode


def _make_base(podman: Podman) -> None:
    """Makes a Debian base like that of the Dockerfile: small, and of the same release."""
    folder, archive = FOLDER / "base", FOLDER / "base.tar"
    print(f"Making a base of Debian's {_SUITE}")
    shutil.rmtree(folder, ignore_errors=True)
    words = ["debootstrap", "--variant=minbase", _SUITE, str(folder), _mirror()]
    made = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900)
    if made.returncode:
        raise NotTried(f"debootstrap makes no base here: {made.stdout.strip()[-400:]}{made.stderr.strip()[-400:]}")
    for name in _NOT_IN_SLIM:
        shutil.rmtree(folder / "usr/share" / name, ignore_errors=True)
    for used in (folder / "var/cache/apt").rglob("*.*b*"):
        used.unlink()
    for listed in (folder / "var/lib/apt/lists").glob("*_*"):
        listed.unlink()
    (folder / "etc/pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    subprocess.run(["tar", "-C", folder, "-cf", archive, "."], check=True, timeout=300)
    podman("import", "--quiet", str(archive), BASE)
    shutil.rmtree(folder)
    archive.unlink()


def _mirror() -> str:
    """Returns the Debian mirror of this machine."""
    words = ["apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN) $(RELEASE)"]
    listed = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout
    for line in listed.splitlines():
        site, origin, release = line.split(maxsplit=2)
        if origin == "Debian" and "security" not in release:
            return site
    raise NotTried("This machine knows no mirror of Debian (apt-get update has not been run, or it is another system).")


def _wheels() -> Path:
    """Downloads every package of the lock file that the image needs, outside of the container."""
    folder, pip = FOLDER / "wheels", FOLDER / "pip"
    if not (pip / "bin" / "pip").exists():
        subprocess.run([Path(sys.base_prefix) / "bin" / "python3", "-m", "venv", pip], check=True, timeout=300)
    locked = ["--require-hashes", "--requirement", ROOT / "requirements.lock"]
    words = ["download", "--quiet", "--dest", folder, *locked, *_for_debian()]
    subprocess.run([pip / "bin" / "pip", *words], check=True, timeout=900)
    return folder


def _for_debian() -> Sequence[str]:
    """Returns options of pip for the image's Python, which may differ from ours."""
    known = [f"manylinux_2_{minor}_{ARCHITECTURE}" for minor in range(17, _NEWEST_GLIBC + 1)]
    platforms = [f"--platform={name}" for name in (*known, f"manylinux2014_{ARCHITECTURE}")]
    return ("--only-binary=:all:", "--python-version=3.11", "--implementation=cp", *platforms)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
