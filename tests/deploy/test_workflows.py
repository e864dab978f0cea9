"""Workflows and the action, held against GitHub's schemas, known attacks and our own rules, without a network."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE, CI = ROOT / ".github/workflows/release.yml", ROOT / ".github/workflows/ci.yml"
RUNNER, ACTION = ROOT / "deploy" / "github-actions" / "treehand.yml", ROOT / "action.yml"
PROGRAMS = Path(sys.executable).parent
COMMIT = "3d3c42e5aac5ba805825da76410c181273ba90b1"


def says(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def loaded(path: Path) -> dict:
    return yaml.safe_load(path.read_text())


@pytest.fixture
def filled_in(tmp_path: Path) -> Path:
    """The workflow for a runner, after its reader has named a commit."""
    file = tmp_path / ".github" / "workflows" / "treehand.yml"
    file.parent.mkdir(parents=True)
    shutil.copy(ROOT / ".github" / "actionlint.yaml", file.parents[1])
    file.write_text(RUNNER.read_text().replace("@COMMIT", f"@{COMMIT}"))
    return file


def findings(*files: Path) -> list[str]:
    """By zizmor's rules: script injection, too many permissions, unpinned actions, dangerous triggers and more."""
    done = says(PROGRAMS / "zizmor", "--offline", "--quiet", "--persona", "pedantic", "--format", "json-v1", *files)
    assert done.stdout, done.stderr
    return [one["ident"] for one in json.loads(done.stdout)]


@pytest.mark.parametrize("path", [*OURS, RUNNER], ids=named)
def test_each_workflow_is_valid(path: Path):
    done = says(PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_is_valid():
    done = says(PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.github-actions", ACTION)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_workflow_has_a_security_finding(filled_in: Path):
    assert findings(*OURS, ACTION, filled_in) == []


def test_a_finding_would_be_noticed(tmp_path: Path):
    """An event's text as a part of a command, and an action that is pinned by a tag."""
    file = tmp_path / "workflow.yml"
    steps = "[{run: 'echo ${{ github.event.issue.title }}'}, {uses: actions/checkout@v7}]"
    file.write_text(f"on: issues\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps: {steps}\n")
    assert {"template-injection", "unpinned-uses"} <= set(findings(file))


@pytest.mark.skipif(not shutil.which("actionlint"), reason="actionlint is not installed; `ci.yml` runs it")
@pytest.mark.parametrize("path", OURS, ids=named)
def test_actionlint_accepts_each_workflow(path: Path):
    done = says("actionlint", path)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not shutil.which("actionlint"), reason="actionlint is not installed; `ci.yml` runs it")
def test_actionlint_accepts_the_workflow_for_a_runner(filled_in: Path):
    done = says("actionlint", "-config-file", filled_in.parents[1] / "actionlint.yaml", filled_in)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", OURS, ids=named)
def test_every_action_is_pinned_by_its_commit_and_names_its_version(path: Path):
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []
    assert len(set(used)) == len({one.partition("@")[0] for one in used})  # one version of each


@pytest.mark.parametrize("path", OURS, ids=named)
def test_no_expression_is_part_of_a_command(path: Path):
    jobs = loaded(path)["jobs"].values()
    assert [step["run"] for job in jobs for step in job["steps"] if "${{" in step.get("run", "")] == []


def test_each_job_has_the_permissions_it_needs_and_a_time_limit():
    for path in OURS:
        assert loaded(path)["permissions"] == {}
        assert all(job["timeout-minutes"] <= 60 for job in loaded(path)["jobs"].values())
    assert {name: job["permissions"] for name, job in loaded(RELEASE)["jobs"].items()} == {
        "files": {"contents": "read"},
        "image": {"contents": "read", "packages": "write"},
        "tags": {"attestations": "write", "id-token": "write", "packages": "write"},
        "attest": {"attestations": "write", "id-token": "write"},
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    assert all(job["permissions"] == {"contents": "read"} for job in loaded(CI)["jobs"].values())


def test_only_a_tag_publishes_and_no_secret_is_stored():
    assert loaded(RELEASE)[True] == {"push": {"tags": ["v*"]}}  # YAML's `on` is true
    assert loaded(RELEASE)["jobs"]["pypi"]["environment"] == "pypi"
    assert "secrets." not in RELEASE.read_text() + CI.read_text()


def test_ci_runs_the_commands_of_the_readme_with_every_python_that_the_metadata_names():
    job = loaded(CI)["jobs"]["test"]
    classified = re.findall(r"Python :: (3\.\d+)\"", (ROOT / "pyproject.toml").read_text())
    assert job["strategy"]["matrix"]["python"] == classified
    assert [step["run"] for step in job["steps"][-3:]] == ["make demo", "make check", "make test"]


# The workflow for a runner


def test_the_workflow_for_a_runner_uses_no_text_of_people():
    (job,) = loaded(RUNNER)["jobs"].values()
    assert [step["uses"] for step in job["steps"]] == ["OWNER/treehand@COMMIT"]
    used = re.findall(r"\$\{\{\s*([\w.]+)", RUNNER.read_text())
    assert all(name.startswith("secrets.") for name in used)


def test_one_job_runs_at_a_time_to_its_end_and_has_no_permissions():
    workflow = loaded(RUNNER)
    (job,) = workflow["jobs"].values()
    assert workflow["concurrency"] == {"group": "treehand", "cancel-in-progress": False}
    assert workflow["permissions"] == {}
    assert job["environment"] == "treehand"
    assert job["runs-on"] == ["self-hosted", "treehand"]
    assert job["timeout-minutes"] <= 120
    assert "!github.event.repository.fork" in job["if"]


def test_only_events_that_read_the_workflow_from_the_default_branch_start_it():
    assert set(loaded(RUNNER)[True]) == {"schedule", "workflow_dispatch", "issues", "issue_comment"}


def test_the_workflow_for_a_runner_gives_the_action_inputs_that_it_has():
    (job,) = loaded(RUNNER)["jobs"].values()
    assert set(job["steps"][0]["with"]) <= set(loaded(ACTION)["inputs"])


# The action


FAKE_PYTHON = """#!/usr/bin/env bash
# stands in for Python: `-c` prints a version, and `-m venv FOLDER` makes a pip that writes what it sees
set -eu
[ "$1" = -c ] && { echo "fake ${FAKE_VERSION:-1}"; exit; }
mkdir -p "$3/bin"
cat > "$3/bin/pip" <<'PIP'
#!/usr/bin/env bash
folder=$(dirname "$0")
echo "pip $*" >> "$folder/../calls"
env > "$folder/../environment"
[ -z "${PIP_FAILS:-}" ] || exit 1
printf '#!/bin/sh\\necho "treehand $* with $TREEHAND_CONFIG, token $GITHUB_TOKEN"\\n' > "$folder/treehand"
chmod +x "$folder/treehand"
PIP
chmod +x "$3/bin/pip"
"""
SECRETS = dict.fromkeys(("GITHUB_TOKEN", "ANTHROPIC_API_KEY", "TREEHAND_GITHUB__TOKEN", "ACTIONS_ID_TOKEN"), "s3cr3t")


class Runner:
    """Runs the steps of the action as GitHub's runner does."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.output, python = folder / "tools", folder / "output", folder / "python"
        python.write_text(FAKE_PYTHON)
        python.chmod(0o755)
        self.inputs = {"python": str(python), "config": '/etc/treehand/it\'s "mine" $(touch x).toml'}
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "GITHUB_ACTION_PATH": str(ROOT), **SECRETS,
            "RUNNER_TOOL_CACHE": str(self.tools), "GITHUB_OUTPUT": str(self.output), "HTTPS_PROXY": "http://proxy",
        }  # fmt: skip
        self.folder = folder

    def run(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Returns the result of the last step that was run."""
        self.output.write_text("")
        for step in loaded(ACTION)["runs"]["steps"]:
            outputs = dict(line.split("=", 1) for line in self.output.read_text().splitlines())
            known = {f"inputs.{k}": v for k, v in self.inputs.items()}
            known |= {f"steps.install.outputs.{k}": v for k, v in outputs.items()}
            own = {name: known[value.strip("${} ")] for name, value in step["env"].items()}
            done = self._bash(step["run"], {**self.environment, **own, **variables})
            if done.returncode:
                return done
        return done

    def _bash(self, script: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(
            words, cwd=self.folder, env=dict(env), capture_output=True, text=True, check=False, timeout=60
        )

    def versions(self) -> list[Path]:
        return [one for one in (self.tools / "treehand").iterdir() if one.is_dir()]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_action_installs_its_own_version_once_and_runs_it(runner: Runner):
    for _ in range(2):
        done = runner.run()
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"treehand once with {runner.inputs['config']}, token s3cr3t\n"
    (version,) = runner.versions()
    assert (version / "calls").read_text().splitlines() == [
        f"pip install --quiet --require-hashes --requirement {ROOT}/requirements.lock",
        f"pip install --quiet --no-deps --no-build-isolation {ROOT}",
    ]
    assert not (runner.folder / "x").exists()


def test_pip_sees_no_secret_and_can_use_a_proxy(runner: Runner):
    runner.run(PIP_INDEX_URL="https://packages.example")
    (version,) = runner.versions()
    seen = (version / "environment").read_text()
    assert "s3cr3t" not in seen
    assert "HTTPS_PROXY=http://proxy" in seen
    assert "PIP_INDEX_URL=https://packages.example" in seen


def test_an_installation_that_failed_is_repeated(runner: Runner):
    assert runner.run(PIP_FAILS="yes").returncode != 0
    assert runner.run().returncode == 0
    assert len(runner.versions()) == 1


def test_another_python_gets_a_folder_of_its_own_and_old_folders_are_removed(runner: Runner):
    runner.run()
    (first,) = runner.versions()
    runner.run(FAKE_VERSION="2")
    assert len(runner.versions()) == 2
    os.utime(first, (1_600_000_000, 1_600_000_000))
    runner.run(FAKE_VERSION="2")
    assert len(runner.versions()) == 1
    assert not first.exists()


def test_inputs_reach_the_shell_as_variables_only():
    action = loaded(ACTION)
    assert [step["run"] for step in action["runs"]["steps"] if "${{" in step["run"]] == []
    assert "github.event" not in ACTION.read_text()
    assert all(one["description"] and one["default"] for one in action["inputs"].values())
