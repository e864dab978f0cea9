"""The image built by `make container`, and its measurements."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.container.podman import IMAGE, ROOT, Podman

_FIGURES = pytest.StashKey[list[str]]()


@dataclass
class Ground:
    podman: Podman
    folder: Path
    figures: list[str] = field(default_factory=list)

    def settings(self, text: str) -> tuple[str, ...]:
        """Writes a settings file for a container."""
        file = self.folder / "treehand.toml"
        file.write_text(text)
        file.chmod(0o644)
        return ("--volume", f"{file}:/etc/treehand/treehand.toml:ro")

    def look(self, script: str) -> str:
        """Returns the output of a shell command in a container of the image."""
        done = self.podman.run("-c", script, given=("--entrypoint", "/bin/sh"), check=True)
        return done.stdout.strip()


@pytest.fixture
def ground(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Ground]:
    podman = Podman(ROOT / ".venv" / "container")
    if podman("image", "exists", IMAGE, check=False).returncode:
        pytest.fail("There is no image yet: `make container` builds it, and runs these.")
    ground = Ground(podman, tmp_path)
    yield ground
    pytestconfig.stash.setdefault(_FIGURES, []).extend(ground.figures)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for figure in config.stash.get(_FIGURES, []):
        terminalreporter.write_line(figure)
