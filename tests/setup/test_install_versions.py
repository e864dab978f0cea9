"""Missing versions of languages and package managers are installed by the operator's npm, uv and mise."""

import hashlib
import json
import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.domain.setup_plan import WantedVersion
from bot.setup.install_versions import VersionInstaller
from bot.setup.npm_packages import WrongHash
from bot.setup.operator_programs import ProgramFailed, run_operator_program
from bot.setup.toolchains import Toolchains
from tests.setup.conftest import BRANCH
from tests.setup.npm_registry import NpmRegistry, pack, serve_registry
from tests.setup.test_toolchains import PYPROJECT, asks, run

PNPM = "#!/bin/sh\necho 9.1.0\n"
PNPM_FILES = {"bin/pnpm.cjs": PNPM}
PNPM_BIN = {"bin": {"pnpm": "bin/pnpm.cjs"}}


@pytest.fixture
def registry(monkeypatch, tmp_path) -> Iterator[NpmRegistry]:
    """The operator's npm is set up for it."""
    (tmp_path / "operator").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    with serve_registry() as registry:
        (tmp_path / "operator/.npmrc").write_text(f"registry={registry.url}\n")
        registry.add("pnpm", "9.1.0", PNPM_FILES, **PNPM_BIN)
        yield registry


@pytest.fixture
def installer(tmp_path) -> VersionInstaller:
    return VersionInstaller(tmp_path / "toolchains", seconds=60)


def pinned(tool: str, pin: str, *, is_required: bool = False) -> list[WantedVersion]:
    return [WantedVersion(tool, pin.partition("+")[0], "package.json", is_required, pin)]


def names_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def program(folder: Path, name: str, script: str) -> Path:
    """A stand-in for a program of the operator's."""
    file = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def installer_with(folder: Path, **programs: str) -> VersionInstaller:
    found = {name: program(folder / "programs", name, script) for name, script in programs.items()}
    return VersionInstaller(folder / "toolchains", seconds=60, find_program=found.get)


UV = """\
case "$1 $2" in
"python list") for one in 15.0a2 14.1+freethreaded 14.1 13.9 12.4; do
    echo "cpython-3.$one-linux-x86_64-gnu   <download available>"; done ;;
"python install") cd "$4" 2>/dev/null || { mkdir -p "$4" && cd "$4"; }
    mkdir -p cpython-$5-linux-x86_64-gnu/bin
    printf '#!/bin/sh\\necho Python '$5'\\n' > cpython-$5-linux-x86_64-gnu/bin/python3
    chmod +x cpython-$5-linux-x86_64-gnu/bin/python3 ;;
esac
"""
MISE = """\
case "$1" in
ls-remote) printf '%s\\n' 18.1.0 20.2.0 22.3.0 23.1.0 24.0.0-rc.1 lts ;;
install) version=${2#*@}; tool=${2%@*}
    mkdir -p "$MISE_DATA_DIR/installs/$tool/$version/bin"
    printf '#!/bin/sh\\necho v'$version'\\n' > "$MISE_DATA_DIR/installs/$tool/$version/bin/$tool"
    chmod +x "$MISE_DATA_DIR/installs/$tool/$version/bin/$tool" ;;
esac
"""


def test_a_pinned_package_manager_is_read_strictly():
    def manager(value: object, **files: str) -> Sequence[str]:
        return asks({"package.json": json.dumps({"packageManager": value}), **files})

    assert manager("pnpm@9.1.0") == ["pnpm 9.1.0 (package.json)"]
    assert manager(f"yarn@1.22.22+sha512.{'a' * 128}") == ["yarn 1.22.22 (package.json)"]
    assert manager("yarn@4.4.1") == ["yarn 4.4.1 (package.json)!"], "Yarn 1 refuses its lock file"
    assert manager("yarn@4.4.1", **{".yarnrc.yml": "yarnPath: .yarn/y.cjs\n"}) == ["yarn 4.4.1 (package.json)"]
    for bad in ("pnpm@9", "pnpm@latest", "pnpm@https://example.com/p.tgz", "pnpm@9.1.0 --registry=x", "pnpm@9.1.0\n"):
        assert manager(bad) == []
    for bad in ("evil@1.0.0", "-g@1.0.0", "pnpm@9.1.0/../x", "pnpm@9.1.0-../../x", "pnpm@9.1.0+sha512.zz", 9):
        assert manager(bad) == []


def test_npm_brings_exactly_the_pinned_version_and_runs_no_script(registry, installer, tmp_path):
    script = {"postinstall": f"touch {tmp_path}/ran", "prepack": f"touch {tmp_path}/ran"}
    registry.add("pnpm", "9.0.5", PNPM_FILES, **PNPM_BIN, scripts=script)
    assert installer.install("pnpm", pinned("pnpm", "9.0.5")) == ""
    assert names_in(installer.folder / "pnpm") == ["9.0.5"]
    assert run((str(installer.folder / "pnpm/9.0.5/bin/pnpm"),)) == "9.1.0\n"
    assert not (tmp_path / "ran").exists()


def test_it_is_installed_for_users_of_sandboxes_whatever_our_umask(registry, installer):
    before = os.umask(0o077)
    try:
        installer.install("pnpm", pinned("pnpm", "9.1.0"))
    finally:
        os.umask(before)
    for one in (installer.folder, *installer.folder.rglob("*")):
        assert one.stat().st_mode & 0o005 in {0o004, 0o005}, one
        assert not one.is_dir() or one.stat().st_mode & 0o005 == 0o005, one


def test_the_hash_that_the_repository_names_is_checked(registry, installer):
    good = hashlib.sha512(registry.archives["pnpm", "9.1.0"]).hexdigest()
    with pytest.raises(WrongHash, match=r"the registry's pnpm 9\.1\.0 has another sha512"):
        installer.install("pnpm", pinned("pnpm", f"9.1.0+sha512.{'a' * 128}"))
    assert names_in(installer.folder / "pnpm") == []
    assert installer.install("pnpm", pinned("pnpm", f"9.1.0+sha512.{good}")) == ""
    assert names_in(installer.folder / "pnpm") == [f"9.1.0+sha512.{good[:17]}"]


def test_the_hash_of_a_later_yarn_is_that_of_its_file(registry, installer):
    yarn = "#!/bin/sh\necho 4.4.1\n"
    registry.add("@yarnpkg/cli-dist", "4.4.1", {"bin/yarn.js": yarn}, bin={"yarn": "bin/yarn.js"})
    wanted = pinned("yarn", f"4.4.1+sha256.{hashlib.sha256(yarn.encode()).hexdigest()}")
    assert installer.install("yarn", wanted) == ""
    assert run((str(installer.folder / "yarn" / wanted[0].folder_name / "bin/yarn"),)) == "4.4.1\n"


def test_an_installed_version_with_another_hash_is_not_used(registry, installer, tmp_path):
    installer.install("pnpm", pinned("pnpm", "9.1.0"))
    machine = Toolchains(lambda: "", tmp_path / "home", run, installer.folder)
    (plain,) = machine.choose(plan_with("pnpm@9.1.0")).folders
    assert plain == installer.folder / "pnpm/9.1.0"
    assert machine.choose(plan_with(f"pnpm@9.1.0+sha256.{'a' * 64}")).folders == ()


def plan_with(manager: str):
    from bot.setup.detect import detect
    from bot.setup.repository_files import RepositoryFiles

    return detect(RepositoryFiles.of({"package.json": json.dumps({"packageManager": manager})}))


def test_an_archive_writes_nothing_but_its_own_files(registry, installer, tmp_path):
    link = tarfile.TarInfo("package/bin")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
    up, absolute = tarfile.TarInfo("package/../../../evil"), tarfile.TarInfo(f"{tmp_path}/evil")
    registry.add_archive(
        "pnpm", "9.2.0", pack({"package.json": json.dumps(PNPM_BIN), **PNPM_FILES}, link, up, absolute)
    )
    assert installer.install("pnpm", pinned("pnpm", "9.2.0")) == ""
    assert not list(tmp_path.rglob("evil"))
    assert not (tmp_path / "pnpm.cjs").exists()
    assert (installer.folder / "pnpm/9.2.0/package/bin/pnpm.cjs").read_text() == PNPM


def test_a_package_names_programs_of_its_own_only(registry, installer, tmp_path):
    (tmp_path / "outside").write_text("private")
    (tmp_path / "outside").chmod(0o600)
    registry.add("pnpm", "9.3.0", PNPM_FILES, bin={"pnpm": "../../../../../outside"})
    assert "the package has no" in installer.install("pnpm", pinned("pnpm", "9.3.0"))
    assert names_in(installer.folder / "pnpm") == []
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o600


def test_settings_of_a_repository_are_not_read(registry, installer, tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / ".npmrc").write_text("registry=http://127.0.0.1:9/\n")
    (repository / "package.json").write_text("{}")
    monkeypatch.chdir(repository)
    assert installer.install("pnpm", pinned("pnpm", "9.1.0")) == ""


def test_the_operators_programs_get_no_key_and_start_far_from_any_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("TREEHAND_GITHUB__TOKEN", "token")
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "https://mirror.example.com")
    printed = run_operator_program(("/bin/sh", "-c", "pwd; env"), {}, seconds=10).splitlines()
    assert printed[0] == "/"
    assert "UV_PYTHON_INSTALL_MIRROR=https://mirror.example.com" in printed
    assert not [line for line in printed if "key" in line or "token" in line]


def test_a_program_that_hangs_is_ended(tmp_path):
    with pytest.raises(ProgramFailed, match="no answer within"):
        run_operator_program(("/bin/sh", "-c", "sleep 600 & wait"), {}, seconds=0.2)


def test_a_version_that_the_registry_has_not_got_is_told(registry, installer):
    assert installer.install("pnpm", pinned("pnpm", "9.9.9")).startswith("npm could not install it: `npm ")


def test_uv_installs_the_newest_release_that_fits(tmp_path):
    installer = installer_with(tmp_path, uv=UV)
    wanted = [WantedVersion("python", ">=3.12,<3.14", "pyproject.toml", is_required=True)]
    assert installer.program_for("python", wanted) == "uv"
    assert installer.install("python", wanted) == ""
    assert names_in(installer.folder / "python") == ["cpython-3.13.9-linux-x86_64-gnu"]
    assert installer.install("python", [WantedVersion("python", ">=3.12", "pyproject.toml")]) == ""
    assert "cpython-3.14.1-linux-x86_64-gnu" in names_in(installer.folder / "python"), "no beta"


def test_mise_installs_a_node_that_gets_support_for_years(tmp_path):
    installer = installer_with(tmp_path, mise=MISE)
    assert installer.install("node", [WantedVersion("node", ">=20", "package.json")]) == ""
    assert names_in(installer.folder / "mise/installs/node") == ["22.3.0"]
    assert "it knows no version that fits" in installer.install("node", [WantedVersion("node", "99", ".nvmrc")])


def test_a_check_says_what_will_be_installed_and_misses_none_of_its_programs(tmp_path):
    installer, machine = installer_with(tmp_path, npm="", uv=""), Toolchains(lambda: "", tmp_path / "home", run)
    choice = machine.choose(plan_with("pnpm@9.1.0"), installer.program_for)
    assert choice.planned == {"pnpm": "pnpm 9.1.0 (package.json) will be installed with npm"}
    assert choice.notes == choice.missing == ()
    assert choice.will_bring("pnpm")
    assert not choice.will_bring("node")


def test_nothing_is_installed_without_permission_or_program(tmp_path):
    wanted = [WantedVersion("python", ">=3.12", "pyproject.toml", is_required=True)]
    assert installer_with(tmp_path).program_for("python", wanted) == ""
    forbidden = VersionInstaller(tmp_path, is_allowed=False, find_program=lambda _: Path("/bin/true"))
    assert forbidden.program_for("python", wanted) == ""


def test_a_preference_that_could_not_be_met_is_not_tried_at_once_again(tmp_path):
    installer = installer_with(tmp_path, uv=f"echo >> {tmp_path}/tries; exit 1")
    for _ in range(2):
        assert installer.install("python", [WantedVersion("python", "3.12", ".python-version")])
    assert (tmp_path / "tries").read_text().count("\n") == 1
    required = [WantedVersion("python", "3.12", "pyproject.toml", is_required=True)]
    for _ in range(2):
        assert installer.install("python", required)
    assert (tmp_path / "tries").read_text().count("\n") == 3, "people who install it comment /ai retry"


def test_little_disk_space_installs_nothing(tmp_path, registry):
    installer = VersionInstaller(tmp_path / "toolchains", min_free_gb=1e9)
    assert "GB of disk are free" in installer.install("pnpm", pinned("pnpm", "9.1.0"))
    assert registry.asked == []


def with_installer(shop, installer: VersionInstaller, home: Path):
    shop.installer = installer
    shop.toolchains = Toolchains(lambda: "/usr/bin:/bin", home, run, installer.folder)
    return shop


async def test_setup_and_agents_get_the_pinned_package_manager_and_share_it(shop, installer, registry, tmp_path):
    with_installer(shop, installer, tmp_path / "home")
    shop.origin.commit({"package.json": json.dumps({"packageManager": "pnpm@9.1.0"}), ".gitignore": "build.log\n"})
    kept = installer.folder / "pnpm/9.1.0"
    shop.told(f"pnpm > build.log; touch {kept}/new || echo kept >> build.log")
    first, second = await shop.ready(), await shop.ready("treehand/shop-2")
    assert first.toolchains == second.toolchains == (kept,)
    for branch in (BRANCH, "treehand/shop-2"):
        assert (shop.folder(branch) / "build.log").read_text() == "9.1.0\nkept\n"
    assert [path for path in registry.asked if path.endswith(".tgz")] == ["/pnpm/-/9.1.0.tgz"]
    assert "Installing pnpm 9.1.0 with npm" in [event.text for event in shop.events]


async def test_another_package_than_the_repository_names_is_an_obstacle(shop, installer, registry, tmp_path):
    with_installer(shop, installer, tmp_path / "home")
    shop.origin.commit({"package.json": json.dumps({"packageManager": f"pnpm@9.1.0+sha256.{'a' * 64}"})})
    ready = await shop.told("touch build.log").ready()
    assert ready.obstacle is not None
    assert "another sha256 than package.json names" in ready.obstacle.sentence
    assert not (shop.folder() / "build.log").exists()


async def test_a_required_version_is_installed_before_setup(shop, tmp_path):
    with_installer(shop, installer_with(tmp_path, uv=UV), tmp_path / "home")
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.14"), ".gitignore": "build.log\n"})
    ready = await shop.told("python3 --version > build.log").ready()
    assert ready.obstacle is None
    assert (shop.folder() / "build.log").read_text() == "Python 3.14.1\n"


async def test_a_required_version_that_cannot_be_installed_is_one_line_with_the_reason(shop, tmp_path):
    with_installer(shop, installer_with(tmp_path, uv="echo 'no `route` to host' >&2; exit 2"), tmp_path / "home")
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.99")})
    ready = await shop.ready()
    assert ready.obstacle is not None
    assert "nothing was spent" in ready.obstacle.sentence
    assert "uv could not install it: `no 'route' to host`" in ready.obstacle.sentence
    assert "`uv python install 3.99`" in ready.obstacle.sentence
