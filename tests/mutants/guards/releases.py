"""Guards of installations: what installs Treehand gets no secret."""

from tests.mutants.guards.guard import Guard

GUARDS = (
    Guard(
        "T6: on a runner, pip gets none of the job's secrets",
        "deploy/github-actions/install.sh",
        '*) unset "$name" ;;',
        "*) : ;;",
        ("tests/deploy/test_workflows.py::test_pip_sees_no_secret_and_can_use_a_proxy",),
    ),
)
