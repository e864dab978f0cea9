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


_SECRET = f"{_JOB}        env: {{KEY: ${{{{ secrets.DEPLOY }}}}}}\n"


@pytest.mark.attack("T8", "A workflow starts on an unusual event, and nobody is told")
@pytest.mark.parametrize(
    "event",
    [
        "pull_request_review",
        "pull_request_review_comment",
        "issue_comment",
        "deployment_status",
        "deployment",
        "status",
    ],
)
@pytest.mark.parametrize(
    "form", ["on: {}\n", "'on': [{}]\n", "on:\n  {}:\n", "on: {{{}: {{}}}}\n", "on:\n- '{}' # x\n"]
)
def test_events_of_reviews_comments_and_deployments_are_reported_as_not_held(event, form):
    (found,) = find_powerful_workflows([".github/workflows/ci.yml"], lambda _: form.format(event) + _SECRET)
    assert (found.events, found.is_held) == ((event,), False)


@pytest.mark.attack("T8", "A workflow is spelled so that its words are not recognised, and nobody is told")
@pytest.mark.parametrize(
    "text",
    [
        'on: "p\\u0075sh"\n' + _SECRET,
        'on: ["pull\\x5frequest"]\n' + _SECRET,
        'on: "pu\\\n  sh"\n' + _SECRET,
        "".join(f"{letter}\0" for letter in f"on: push\n{_SECRET}"),
        f'on: push\n{_JOB}    perm: "wr\\U00000069te"\n'.replace("perm:", "permissions:\n      contents:"),
    ],
)
def test_other_spellings_of_yaml_are_reported(text):
    assert len(powers(text)) == 1


def test_permissions_of_one_job_say_nothing_about_the_other_jobs():
    jobs = "jobs:\n  a:\n    permissions:\n      contents: read\n  b:\n    steps: []\n"
    assert powers(f"on: push\n{jobs}") == ["the repository's default permissions"]


@pytest.mark.attack("T8", "A workflow hands its powers to another one that it calls, and nobody is told")
def test_powers_of_called_workflows_count_for_their_callers():
    calls = "on: push\npermissions: {}\njobs:\n  a:\n    uses: ./.github/workflows/inner.yml\n"
    texts = {
        ".github/workflows/ci.yml": calls,
        ".github/workflows/inner.yml": f"on: workflow_call\n{_JOB}    environment: production\n",
        ".github/workflows/far.yml": calls.replace("./", "acme/ci/").replace("inner.yml", "x.yml@v1"),
    }
    found = find_powerful_workflows(texts, texts.__getitem__)
    assert {one.name: one.powers for one in found} == {
        "ci.yml": ("an environment",),
        "far.yml": ("a workflow of another repository",),
    }


@pytest.mark.parametrize("where", ["self-hosted", "[self-hosted, linux]", "{group: ours}", "\n      group: ours"])
def test_runners_of_the_operator_are_a_power(where):
    assert powers(f"on: push\n{_JOB}    runs-on: {where}\n") == ["a runner of yours"]
    assert powers(f"on: push\n{_JOB}    runs-on: ubuntu-24.04\n") == []


def test_words_of_steps_are_no_events():
    step = f"on: push\n{_JOB}      - run: git status --short && ./deployment.sh\n"
    (found,) = find_powerful_workflows([".github/workflows/a.yml"], lambda _: f"{step}permissions: write-all\n")
    assert found.events == ("push",)


def test_only_files_that_github_reads_count():
    assert powers("on: push\n", "ci.yml") == powers("on: push\n", ".github/workflows/old/ci.yml") == []


def test_workflows_that_no_commit_message_can_skip_are_marked():
    (held,) = find_powerful_workflows([".github/workflows/a.yaml"], lambda _: "on: push\n")
    (not_held,) = find_powerful_workflows([".github/workflows/b.yml"], lambda _: "on: [push, create]\n")
    assert (held.is_held, not_held.is_held) == (True, False)
    assert str(held) == "a.yaml (on push: the repository's default permissions)"
