"""The image: its content, and that Treehand works in it as elsewhere. Real containers, by Podman."""

import json
import re
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot import __version__
from tests.container.podman import AS_TOLD, CONFINED, IMAGE, LIMITS, PROFILE, ROOT

MEGABYTE = 10**6
MOST = 200 * MEGABYTE
SHOP = '[web]\nbind = "127.0.0.1:8700"\n[limits]\nfree_disk_gb = 0\n[[projects]]\nname = "shop"\nrepository = "{0}"\n'
SECONDS = 90


def without_namespaces(folder) -> str:
    """Returns a profile like Docker's own: ours, without the calls that bubblewrap needs."""
    profile = json.loads(PROFILE.read_text())
    profile["syscalls"] = [one for one in profile["syscalls"] if "bubblewrap" not in one.get("comment", "")]
    file = folder / "plain.json"
    file.write_text(json.dumps(profile))
    return f"seccomp={file}"


def finding(ground, name: str, *given: str) -> dict:
    settings = ground.settings('[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "acme/shop"\n')
    return json.loads(ground.podman.run("check", "--json", given=(*settings, *given)).stdout)[name]


def test_the_image_has_the_version_of_the_source(ground):
    assert ground.podman.run("--version").stdout == f"treehand {__version__}\n"


def test_the_image_without_the_agents_program_is_small(ground):
    whole = int(ground.podman("image", "inspect", "--format", "{{.Size}}", IMAGE).stdout)
    program = int(ground.look("stat -c %s /opt/treehand/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude"))
    ground.figures.append(
        f"image: {whole / MEGABYTE:.0f} MB, of them the agent's program {program / MEGABYTE:.0f} MB,"
        f" everything else {(whole - program) / MEGABYTE:.0f} MB"
    )
    assert whole - program < MOST


def test_the_image_runs_as_an_unprivileged_user_that_cannot_gain_privileges(ground):
    assert ground.look("id -u; id -g").split() == ["10001", "10001"]
    assert ground.look(
        "find / -xdev -perm /6000 -type f 2>/dev/null; grep -E 'CapEff|NoNewPrivs' /proc/self/status"
    ) == ("CapEff:\t0000000000000000\nNoNewPrivs:\t1")


def test_the_image_contains_no_unneeded_files(ground):
    there = ground.look(
        "ls /opt/treehand; ls -d /src /etc/apt /usr/bin/apt-get /usr/bin/perl 2>/dev/null; ls /etc/treehand"
    )
    assert sorted(there.split()) == ["bin", "healthcheck.py", "include", "lib", "lib64", "pyvenv.cfg", "share"]
    assert "bubblewrap" in ground.look("cat /var/lib/dpkg/status")


def test_the_image_has_the_documentation_and_the_seccomp_profile(ground):
    assert ground.podman.run("docs", "security").stdout == (ROOT / "docs" / "security.md").read_text()
    assert ground.look("cat /opt/treehand/share/doc/treehand/deploy/seccomp.json") == PROFILE.read_text().strip()


def test_only_state_and_tmp_can_be_written(ground):
    written = ground.look(
        "for place in / /etc /etc/treehand /usr /opt/treehand /var /var/lib/treehand /tmp; do"
        " touch $place/mark 2>/dev/null && echo $place; done; true"
    )
    assert written.split() == ["/var/lib/treehand", "/tmp"]


def test_the_sandbox_works_with_the_seccomp_profile_and_unmasked_proc(ground):
    found = finding(ground, "sandbox", *CONFINED)
    assert found["ok"], found["detail"]
    assert len(found["probes"]) > 20


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("lacking", "why"),
    [("profile", "Its seccomp profile forbids them."), ("proc", "A container that hides a part of /proc?")],
)
def test_without_profile_or_unmasked_proc_the_start_is_refused_with_the_needed_flags(ground, command, lacking, why):
    given = ("--security-opt", without_namespaces(ground.folder)) if lacking == "profile" else CONFINED[:2]
    settings = ground.settings(SHOP.format("acme/shop").replace('"shop"\n', '"shop"\ntracker = "github"\n'))
    key = ("--env", "ANTHROPIC_API_KEY=stand-in", "--env", "GITHUB_TOKEN=stand-in")
    done = ground.podman.run(command, given=(*settings, *key, *given))
    assert done.returncode == 1
    assert why in done.stdout + done.stderr
    assert (
        "--security-opt seccomp=deploy/seccomp.json --security-opt systempaths=unconfined" in done.stdout + done.stderr
    )


@pytest.mark.parametrize(("given", "kind"), [(CONFINED, "bwrap"), ((), "none")])
def test_the_demo_works_in_the_image(ground, given, kind):
    story = json.loads(ground.podman.run("demo", "--once", "--json", given=given, check=True).stdout)
    assert story["sandbox"] == kind
    assert len(story["pull_requests"]) == 3


def test_the_demo_reports_that_it_runs_without_a_sandbox_and_the_reason(ground):
    said = ground.podman.run("demo", "--once", check=True).stdout
    assert "The demo runs without the sandbox, which `treehand run` requires" in " ".join(said.split())
    assert "--security-opt seccomp=deploy/seccomp.json" in said


@contextmanager
def daemon(ground, *given: str) -> Iterator[str]:
    words = ("--detach", "--init=false", *AS_TOLD, *LIMITS, *CONFINED, *given)
    name = ground.podman("run", *words, IMAGE).stdout.strip()
    try:
        yield name
    finally:
        ground.podman("rm", "--force", "--time", "1", name, check=False)


def test_the_daemon_is_healthy_stops_in_order_and_finds_its_state_again(ground):
    code, state = ground.folder / "code", ground.folder / "state"
    code.mkdir()
    state.mkdir()
    make = "git init -q -b main . && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m One"
    subprocess.run(["sh", "-c", make], cwd=code, check=True)
    for folder in (code, state):
        subprocess.run(["chown", "-R", "10001:10001", folder], check=True)
    given = (
        *ground.settings(SHOP.format("/var/lib/code")), "--env", "ANTHROPIC_API_KEY=stand-in",
        "--volume", f"{code}:/var/lib/code", "--volume", f"{state}:/var/lib/treehand",
    )  # fmt: skip
    podman = ground.podman
    with daemon(ground, *given) as name:
        ill = podman("healthcheck", "run", name, check=False)
        well = _until(lambda: podman("healthcheck", "run", name, check=False).returncode == 0)
        assert well, f"{ill.stdout}{podman('logs', name).stdout}{podman('logs', name).stderr}"
        assert podman("exec", name, "cat", "/proc/1/comm").stdout.strip() == "tini"
        key = podman("exec", name, "treehand", "issue", "new", "Keep me").stdout
        assert "shop#1" in key
        kept = podman("exec", name, "sh", "-c", "treehand backup --to - | tar -tz").stdout
        assert {"treehand.db", "forge/desk.sqlite"} <= set(kept.split())
        podman("stop", "--time", "60", name)
        assert podman("inspect", "--format", "{{.State.ExitCode}}", name).stdout.strip() == "0"
    assert "Keep me" in podman.run("issue", "list", given=given, check=True).stdout


def test_a_daemon_that_does_not_respond_is_unhealthy(ground):
    words = ("-I", "-S", "/opt/treehand/healthcheck.py")
    done = ground.podman.run(*words, given=("--entrypoint", "/usr/bin/python3"))
    assert done.returncode == 1
    assert "no answer from 127.0.0.1:8700" in done.stderr


def test_the_image_has_the_package_versions_of_the_lock_file(ground):
    """One package is checked for all: they were installed from the same lock file."""
    locked = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text()))
    direct = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert any(one.startswith("claude-agent-sdk") for one in direct)
    installed = ground.look("ls /opt/treehand/lib/python3*/site-packages")
    assert f"claude_agent_sdk-{locked['claude-agent-sdk']}.dist-info" in installed


def _until(fact) -> bool:
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        if fact():
            return True
        time.sleep(0.5)
    return False
