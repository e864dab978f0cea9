"""The image as far as it can be checked without building it: `make container` does that."""

import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEALTHCHECK = ROOT / "deploy" / "healthcheck.py"
NAMESPACES = {"clone", "clone3", "mount", "pivot_root", "sethostname", "umount2", "unshare"}
NEVER = {
    "acct", "add_key", "bpf", "delete_module", "finit_module", "init_module", "io_uring_setup", "kexec_file_load",
    "kexec_load", "keyctl", "open_by_handle_at", "perf_event_open", "quotactl", "reboot", "request_key", "setns",
    "settimeofday", "swapoff", "swapon", "syslog", "userfaultfd",
}  # fmt: skip


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    """Returns instruction and arguments, each on one line."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(name, words.strip()) for name, _, words in (line.partition(" ") for line in lines if line.strip())]


def last(steps, name: str) -> str:
    return [words for one, words in steps if one == name][-1]


def test_the_base_image_is_pinned_by_date_and_digest(steps):
    (base,) = [words for name, words in steps if name == "ARG" and words.startswith("BASE=")]
    assert re.fullmatch(r"BASE=debian:bookworm-\d{8}-slim@sha256:[0-9a-f]{64}", base)
    assert [words for name, words in steps if name == "FROM"] == ["${BASE} AS built", "${BASE} AS system", "scratch"]


def test_every_python_package_is_installed_under_the_lock_file(steps):
    built = next(words for name, words in steps if name == "RUN" and "pip install" in words)
    for install in re.findall(r"pip install [^&]*", built):
        assert (
            "--require-hashes --requirement requirements.lock" in install or "--no-deps --no-build-isolation" in install
        )


def test_the_image_runs_as_an_unprivileged_user_behind_tini(steps):
    assert last(steps, "USER") == "10001:10001"
    assert json.loads(last(steps, "ENTRYPOINT")) == ["/usr/bin/tini", "--", "treehand"]
    assert last(steps, "VOLUME") == "/var/lib/treehand"


def test_the_health_check_needs_no_shell_and_no_curl(steps):
    check = last(steps, "HEALTHCHECK")
    assert json.loads(check.partition("CMD ")[2]) == ["python3", "-I", "-S", "/opt/treehand/healthcheck.py"]


def test_the_build_context_contains_only_copied_files(steps):
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in ignored if line and not line.startswith("#")]
    copied = [words.split()[:-1] for name, words in steps if name == "COPY" and "--from" not in words]
    assert patterns[0] == "*"
    assert {line[1:] for line in patterns if line.startswith("!")} == {name for names in copied for name in names}


def test_everything_that_the_program_installs_is_copied_into_the_image(steps):
    """setuptools says nothing about documentation that is missing."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = [one for named in tables["data-files"].values() for one in named]
    patterns += [f"{module}.py" for module in tables["py-modules"]]
    copied = {
        name for words in (w for n, w in steps if n == "COPY" and "--from" not in w) for name in words.split()[:-1]
    }
    assert [one for one in patterns if one not in copied and str(Path(one).parent) not in copied] == []


def test_the_image_is_built_for_any_machine(steps):
    """No name of an architecture is in the Dockerfile."""
    assert not re.search(r"amd64|x86_64|arm64|aarch64", " ".join(words for _, words in steps))


# The seccomp profile


@pytest.fixture(scope="module")
def groups() -> list[dict]:
    profile = json.loads((ROOT / "deploy" / "seccomp.json").read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {group["action"] for group in profile["syscalls"]} == {"SCMP_ACT_ALLOW"}
    return profile["syscalls"]


def test_system_calls_of_bubblewrap_are_in_one_group_only(groups):
    (needed,) = [group for group in groups if "bubblewrap" in group.get("comment", "")]
    assert set(needed["names"]) == NAMESPACES
    assert "args" not in needed
    others = [group for group in groups if group is not needed]
    assert {name for group in others for name in group["names"]} & NAMESPACES == {"clone"}
    (clone,) = [group for group in others if group["names"] == ["clone"]]
    assert clone["args"] == [{"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]


def test_the_profile_allows_no_call_that_only_an_administrator_needs(groups):
    allowed = {name for group in groups for name in group["names"]}
    assert allowed & NEVER == set()
    assert {"execve", "openat", "futex", "epoll_wait", "seccomp", "prctl"} <= allowed


def test_the_lists_of_the_profile_are_sorted(groups):
    assert all(group["names"] == sorted(set(group["names"])) for group in groups)


# The health check


@contextmanager
def daemon(status: int) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(**env: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", "-S", HEALTHCHECK]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_a_daemon_that_responds_is_healthy_at_any_address(tmp_path):
    with daemon(200) as bind:
        assert ask(TREEHAND_WEB__BIND=bind).returncode == 0
        assert ask(TREEHAND_WEB__BIND=bind.replace("127.0.0.1", "0.0.0.0")).returncode == 0
        (tmp_path / "treehand.toml").write_text(f'[web]\nbind = "{bind}"\n')
        assert ask(TREEHAND_CONFIG=str(tmp_path / "treehand.toml")).returncode == 0


def test_a_daemon_that_does_not_respond_is_unhealthy_and_the_reason_is_printed():
    with daemon(503) as bind:
        said = ask(TREEHAND_WEB__BIND=bind)
    assert (said.returncode, said.stderr) == (1, f"{bind} answers 503\n")
    assert "no answer from" in ask(TREEHAND_WEB__BIND=bind).stderr
    assert "no health check" in ask(TREEHAND_WEB__BIND="").stderr
