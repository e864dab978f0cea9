"""Podman without a service, with its own store: it changes nothing else on this machine."""

import platform
import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "localhost/treehand-base:latest"
IMAGE = "localhost/treehand:tried"
PROFILE = ROOT / "deploy" / "seccomp.json"
_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Podman:
    folder: Path

    def __call__(self, *words: str, check: bool = True, seconds: float = _SECONDS) -> subprocess.CompletedProcess[str]:
        store = ("--root", str(self.folder / "store"), "--runroot", str(self.folder / "run"))
        quiet = ("--cgroup-manager", "cgroupfs", "--events-backend", "file")
        done = subprocess.run(
            ["podman", *store, *quiet, *words], capture_output=True, text=True, timeout=seconds, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"podman {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def build(self, wheels: Path) -> None:
        words = ("--isolation", "chroot", "--format", "docker", "--pull=never", "--build-arg", f"BASE={BASE}")
        self("build", *words, "--volume", f"{wheels}:/wheels:ro", "--tag", IMAGE, str(ROOT))

    def run(self, *words: str, given: Sequence[str] = (), check: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs as in deploy/README.md unless `given` differs: read-only, without privileges or network."""
        return self("run", "--rm", "--no-healthcheck", *AS_TOLD, *LIMITS, *given, IMAGE, *words, check=check)


def _limit(name: str, number: int) -> str:
    """Limits a container to our own limits: Podman would set higher ones, and fails where it may not."""
    most = resource.getrlimit(number)[1]
    few = _ENOUGH if most == resource.RLIM_INFINITY else min(most, _ENOUGH)
    return f"{name}={few}:{few}"


_ENOUGH = 4096
LIMITS = (
    "--ulimit", _limit("nofile", resource.RLIMIT_NOFILE), "--ulimit", _limit("nproc", resource.RLIMIT_NPROC),
)  # fmt: skip
AS_TOLD = (
    "--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp:mode=1777", "--cap-drop", "all",
    "--security-opt", "no-new-privileges", "--network", "none",
)  # fmt: skip
CONFINED = ("--security-opt", f"seccomp={PROFILE}", "--security-opt", "unmask=ALL")
ARCHITECTURE = platform.machine()
