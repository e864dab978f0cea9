"""Workflows that would run an agent's code with too many permissions are reported; others are not."""

import pytest

from bot.domain.ci_workflows import find_powerful_workflows

_JOB = "permissions:\n  contents: read\njobs:\n  test:\n    steps:\n      - run: make test\n"


def powers(text: str, name: str = ".github/workflows/ci.yml") -> list[str]:
    return [power for one in find_powerful_workflows([name], lambda _: text) for power in one.powers]


@pytest.mark.attack("T8", "A workflow that runs what an agent wrote has secrets, and nobody is told")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"on: push\n{_JOB}        env: {{KEY: ${{{{ secrets.DEPLOY }}}}}}\n", ["secrets"]),
        (f"on: [push]\n{_JOB}        env: {{KEY: \"${{{{ secrets['DEPLOY'] }}}}\"}}\n", ["secrets"]),
        (f"on:\n  pull_request:\n{_JOB}        env: {{ALL: ${{{{ toJSON(secrets) }}}}}}\n", ["secrets"]),
        (f"'on': pull_request\n{_JOB}    secrets: inherit\n", ["secrets"]),
        (f"on: pull_request_target\n{_JOB}    environment: production\n", ["an environment"]),
        ("on: push\npermissions: write-all\njobs: {}\n", ["write permissions"]),
        ("on: push\npermissions: {contents: read, id-token: write}\njobs: {}\n", ["write permissions"]),
        ("on: create\njobs: {}\n", ["the repository's default permissions"]),
        (f"on: push\n{_JOB}        env: {{T: ${{{{ secrets.GITHUB_TOKEN }}}}}}\n", []),
        (f"on: push\n{_JOB}", []),
        (f"on: workflow_dispatch\n{_JOB}        env: {{KEY: ${{{{ secrets.DEPLOY }}}}}}\n", []),
    ],
)
def test_permissions_of_a_workflow_are_reported(text, named):
    assert powers(text) == named


def test_only_files_that_github_reads_count():
    assert powers("on: push\n", "ci.yml") == powers("on: push\n", ".github/workflows/old/ci.yml") == []


def test_workflows_that_no_commit_message_can_skip_are_marked():
    (held,) = find_powerful_workflows([".github/workflows/a.yaml"], lambda _: "on: push\n")
    (not_held,) = find_powerful_workflows([".github/workflows/b.yml"], lambda _: "on: [push, create]\n")
    assert (held.is_held, not_held.is_held) == (True, False)
    assert str(held) == "a.yaml (on push: the repository's default permissions)"
