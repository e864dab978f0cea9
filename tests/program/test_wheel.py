"""The files of a release: the wheel, built with ordinary tools and installed into an empty environment."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from bot import __version__

ROOT = Path(__file__).parents[2]
NEEDED = ("pyproject.toml", "README.md", "LICENSE")
LARGEST = 2_000_000


def ran(*words: object, cwd: Path, home: Path) -> str:
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TREEHAND_LIMITS__FREE_DISK_GB": "0",
    }
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, home: Path) -> Path:
    """Builds from a copy, because building leaves files behind."""
    folder = tmp_path_factory.mktemp("release")
    shutil.copytree(ROOT / "bot", folder / "bot", ignore=shutil.ignore_patterns("__pycache__"))
    for name in NEEDED:
        shutil.copy(ROOT / name, folder)
    ran(sys.executable, "-m", "build", "--wheel", "--no-isolation", cwd=folder, home=home)
    (made,) = (folder / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def treehand(tmp_path_factory, wheel: Path, home: Path) -> Path:
    """Installs the wheel alone; its packages are borrowed, so that no test needs the network."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    ran(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent, home=home)
    python = folder / "bin" / "python"
    ran(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=home,
        home=home,
    )
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    seen = ran(python, "-c", "import bot; print(bot.__file__)", cwd=home, home=home)
    assert seen.startswith(str(site))
    return folder / "bin" / "treehand"


def test_the_wheel_contains_exactly_our_files(wheel: Path):
    here = {str(path.relative_to(ROOT)) for path in (ROOT / "bot").rglob("*") if path.is_file()}
    ours = {path for path in here if "__pycache__" not in path}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours


def test_the_wheel_is_small_and_has_the_version_of_the_program(wheel: Path):
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    assert wheel.stat().st_size < LARGEST
    assert wheel.name == f"treehand-{__version__}-py3-none-any.whl"


def test_the_installed_command_prints_its_version_and_plays_the_demo(treehand: Path, home: Path):
    assert ran(treehand, "--version", cwd=home, home=home) == f"treehand {__version__}\n"
    told = json.loads(ran(treehand, "demo", "--once", "--json", cwd=home, home=home))
    assert told


def test_the_bill_of_materials_names_every_package_of_the_lock(tmp_path: Path):
    """Uses the same line as `make sbom`."""
    (line,) = [line for line in (ROOT / "Makefile").read_text().splitlines() if "cyclonedx-py requirements" in line]
    words = line.replace("$(BIN)", str(Path(sys.executable).parent)).split()[1:]
    written = tmp_path / "sbom.json"
    ran(*words[:-1], written, cwd=ROOT, home=tmp_path)
    bill = json.loads(written.read_text())
    lock = (ROOT / "requirements.lock").read_text()
    pinned = {f"{name}=={version}" for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", lock)}
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "treehand"
    assert {f"{one['name']}=={one['version']}".lower() for one in bill["components"]} == pinned


def test_the_changelog_begins_with_unreleased_or_this_version():
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] in {"## Unreleased", f"## {__version__}"} or headings[0].startswith(f"## {__version__} ")
