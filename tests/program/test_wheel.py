"""The files of a release: the wheel, built with ordinary tools and installed into an empty environment."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import __version__
from release.artifacts import absolute_links
from release.notes import notes_for

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/acme/treehand"
LARGEST = 2_000_000


def ran(*words: object, cwd: Path, home: Path, umask: int = -1, **variables: str) -> str:
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TREEHAND_LIMITS__FREE_DISK_GB": "0",
        **variables,
    }
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=280, check=False,
        umask=umask,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


def built(folder: Path, outdir: Path, home: Path, *, umask: int) -> tuple[Path, Path]:
    """Builds a release in a copy of the repository, and returns the wheel and the source archive."""
    words = (sys.executable, "-m", "release.artifacts", "--repository", REPOSITORY, "--outdir", outdir)
    ran(*words, cwd=folder, home=home, umask=umask, SOURCE_DATE_EPOCH="1790000000")
    return next(outdir.glob("*.whl")), next(outdir.glob("*.tar.gz"))


def copied(folder: Path) -> Path:
    """Copies the files that git knows into another repository, with other times and modes than here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            (folder / name).chmod(0o600)
            os.utime(folder / name, (1_600_000_000, 1_600_000_000))
    for words in (("init", "--quiet"), ("add", "--all")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory, home: Path) -> tuple[Path, Path]:
    return built(ROOT, tmp_path_factory.mktemp("release"), home, umask=0o022)


@pytest.fixture(scope="module")
def wheel(release: tuple[Path, Path]) -> Path:
    return release[0]


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


def metadata_of(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_string(opened.read(name).decode())


def known_to_git(*patterns: str) -> set[str]:
    words = ["git", "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(filter(None, listed.split("\0")))


def documented(opened: zipfile.ZipFile) -> Iterator[str]:
    for name in opened.namelist():
        if found := re.fullmatch(r"[^/]+\.data/data/share/doc/treehand/(.+)", name):
            yield found[1]


def test_the_wheel_contains_exactly_the_program_and_its_documentation(wheel: Path):
    with zipfile.ZipFile(wheel) as opened:
        packed = {name for name in opened.namelist() if not re.match(r"[^/]+\.(dist-info|data)/", name)}
        pages = set(documented(opened))
    assert packed == known_to_git("bot") | {"treehand.py"}
    others = {"README.md", "CHANGELOG.md", "requirements.lock"}
    assert pages == known_to_git(":(glob)docs/*.md", "deploy") | others


def test_two_builds_on_different_machines_give_the_same_bytes(release, tmp_path: Path, home: Path):
    """Other folder, other times and modes, other umask, and files beside ours that git does not know."""
    folder = copied(tmp_path / "clone")
    for name in ("docs/private.md", "deploy/treehand.toml", "bot/demo/sample/.env"):
        (folder / name).write_text("secret")
    again = built(folder, tmp_path / "out", home, umask=0o077)
    assert [one.name for one in again] == [one.name for one in release]
    assert [one.read_bytes() for one in again] == [one.read_bytes() for one in release]


def test_the_source_archive_belongs_to_nobody_and_holds_the_licence(release):
    with tarfile.open(release[1]) as opened:
        members = opened.getmembers()
    assert {(one.uid, one.uname, one.mtime) for one in members} == {(0, "root", 1790000000)}
    assert f"treehand-{__version__}/LICENSE" in {one.name for one in members}


def test_the_metadata_says_what_a_package_index_shows(wheel: Path):
    said = metadata_of(wheel)
    assert said["License-Expression"] == "MIT"
    assert said["Description-Content-Type"] == "text/markdown"
    urls = dict(line.split(", ") for line in said.get_all("Project-URL"))
    assert urls["Repository"] == REPOSITORY
    assert urls["Changes"] == f"{REPOSITORY}/blob/v{__version__}/CHANGELOG.md"
    assert "Operating System :: POSIX :: Linux" in said.get_all("Classifier")
    assert said.get_payload() == absolute_links((ROOT / "README.md").read_text(), REPOSITORY, f"v{__version__}")
    assert not re.search(r"\]\((?!https?://|#)|(src|srcset|href)=\"(?!https?://)", said.get_payload())


def test_relative_links_of_the_readme_become_absolute_and_others_stay():
    said = absolute_links(
        '[a](docs/a.md#b) [c](#c) [d](https://x.org) ![e](e.png) <img src="f.png" srcset="./g.png"> <a href="h">',
        "R",
        "T",
    )
    assert said == (
        '[a](R/blob/T/docs/a.md#b) [c](#c) [d](https://x.org) ![e](R/raw/T/e.png) <img src="R/raw/T/f.png"'
        ' srcset="R/raw/T/g.png"> <a href="R/blob/T/h">'
    )


def test_every_package_has_an_upper_bound_and_the_agent_one_version():
    """cryptography has none, because its security fixes come in major versions only."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [one for one in declared if "<" not in one and "==" not in one] == ["cryptography>=45"]
    (agent,) = [one for one in declared if "==" in one]
    assert agent in [line.split(" ")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()]
    assert agent.startswith("claude-agent-sdk==")


def test_the_wheel_is_small_and_has_the_version_of_the_program(wheel: Path):
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    assert wheel.stat().st_size < LARGEST
    assert wheel.name == f"treehand-{__version__}-py3-none-any.whl"


def test_the_installed_command_prints_its_version_and_plays_the_demo(treehand: Path, home: Path):
    assert ran(treehand, "--version", cwd=home, home=home) == f"treehand {__version__}\n"
    told = json.loads(ran(treehand, "demo", "--once", "--json", cwd=home, home=home))
    assert told


def test_the_installed_command_prints_its_documentation(treehand: Path, home: Path):
    folder = treehand.parents[1] / "share" / "doc" / "treehand"
    assert f"Pages in {folder}." in ran(treehand, "docs", cwd=home, home=home)
    assert ran(treehand, "docs", "security", cwd=home, home=home) == (ROOT / "docs" / "security.md").read_text()


def test_another_package_of_the_same_name_is_not_imported(treehand: Path, home: Path, tmp_path: Path):
    """Somebody's project has a package `bot`, and PYTHONPATH names its folder."""
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "__init__.py").write_text("raise SystemExit('theirs')")
    told = ran(treehand, "--version", cwd=tmp_path, home=home, PYTHONPATH=str(tmp_path))
    assert told == f"treehand {__version__}\n"


def test_the_command_says_so_if_another_package_has_overwritten_its_own(treehand: Path, home: Path):
    (package,) = treehand.parents[1].glob("lib/python*/site-packages/bot")
    for change in ("print('theirs')\n", None):
        kept = (package / "__init__.py").read_text()
        try:
            (package / "__init__.py").write_text(change) if change else (package / "__init__.py").unlink()
            done = subprocess.run(
                [treehand, "status"], cwd=home, capture_output=True, text=True, check=False, timeout=60
            )
        finally:
            (package / "__init__.py").write_text(kept)
        assert (done.returncode, done.stdout) == (1, "")
        assert "belongs to another Python package" in done.stderr
        assert "`uv tool install treehand` or `pipx install treehand`" in done.stderr


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


CHANGES = "# Changes\n\n## 1.2.0 (2027-01-31)\n\n**New.** [Setup](docs/setup.md)\n\n## 1.1.0 (2026-12-01)\n\nOlder.\n"


def test_the_notes_of_a_release_are_its_section_of_the_changelog():
    assert notes_for("v1.2.0", "1.2.0", CHANGES) == "**New.** [Setup](docs/setup.md)"


@pytest.mark.parametrize(
    ("tag", "version", "changes", "why"),
    [
        ("v1.2.1", "1.2.0", CHANGES, "is not v1.2.0, the version in bot/__init__.py"),
        ("1.2.0", "1.2.0", CHANGES, "is not v1.2.0"),
        ("v1.3.0", "1.3.0", CHANGES, "is `## 1.2.0 (2027-01-31)`: make it `## 1.3.0 (YYYY-MM-DD)`"),
        ("v1.2.0", "1.2.0", CHANGES.replace("1.2.0 (2027-01-31)", "Unreleased"), "make it `## 1.2.0 (YYYY-MM-DD)`"),
        ("v1.2.0", "1.2.0", "# Changes\n\n## 1.2.0 (2027-01-31)\n\n## 1.1.0 (2026-12-01)\n\nx\n", "says nothing about"),
    ],
)
def test_a_tag_that_does_not_fit_the_version_and_the_changelog_is_refused(tag, version, changes, why):
    with pytest.raises(SystemExit, match=re.escape(why)):
        notes_for(tag, version, changes)
