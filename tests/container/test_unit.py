"""The unit under a real systemd, started in its own container. The container sees nothing else of this machine."""

import json
import re
import time
from collections.abc import Callable, Iterator

import pytest

from tests.container.podman import BASE, IMAGE, LIMITS, ROOT, Podman

UNIT = ROOT / "deploy" / "treehand.service"
COMMAND = ROOT / "deploy" / "treehand.sh"
MACHINE = "localhost/treehand-machine:tried"
MOST = 3.0
SECONDS = 90
_RECIPE = f"""\
FROM {BASE}
RUN apt-get update -qq && apt-get install --yes -qq --no-install-recommends \\
    bubblewrap ca-certificates curl dbus git python3 systemd systemd-sysv
COPY --from={IMAGE} /opt/treehand /opt/treehand
RUN useradd --system --home-dir /var/lib/treehand --shell /usr/sbin/nologin treehand
"""
_SETTINGS = """\
[limits]
free_disk_gb = 0
[[projects]]
name = "shop"
repository = "/srv/shop"
"""
_PREPARE = """
mount --make-rshared /
git init -q -b main /srv/shop
git -C /srv/shop -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m One
chown -R treehand /srv/shop
install -m 0600 /dev/stdin /etc/treehand/model-key <<< sk-ant-stand-in
install -m 0600 /dev/stdin /etc/treehand/github-token <<< ghp-stand-in
"""


_MODEL = """
cat > /root/model.py <<'END'
from http.server import BaseHTTPRequestHandler, HTTPServer

class CountsTokens(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"input_tokens": 1}')

HTTPServer(("127.0.0.1", 8600), CountsTokens).serve_forever()
END
systemd-run --quiet --unit=model python3 /root/model.py
systemctl set-environment ANTHROPIC_BASE_URL=http://127.0.0.1:8600
"""
"""A model that answers only the request of `treehand check`: the machine has no network."""


class Machine:
    def __init__(self, podman: Podman, name: str) -> None:
        self._podman, self._name = podman, name

    def does(self, script: str) -> str:
        done = self._podman("exec", self._name, "bash", "-euc", script, check=False, seconds=300)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def tries(self, script: str) -> bool:
        return self._podman("exec", self._name, "bash", "-euc", script, check=False).returncode == 0


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Iterator[Machine]:
    podman, folder = Podman(ROOT / ".venv" / "container"), tmp_path_factory.mktemp("machine")
    (folder / "Containerfile").write_text(_RECIPE)
    (folder / "treehand.toml").write_text(_SETTINGS)
    podman("build", "--isolation", "chroot", "--pull=never", "--tag", MACHINE, str(folder))
    given = ("--volume", f"{UNIT}:/etc/systemd/system/treehand.service:ro")
    given += ("--volume", f"{COMMAND}:/usr/local/bin/treehand:ro")
    settings = ("--volume", f"{folder}/treehand.toml:/etc/treehand/treehand.toml:ro")
    words = ("--detach", "--systemd=always", "--privileged", "--network", "none", *LIMITS, *given, *settings)
    name = podman("run", *words, MACHINE, "/sbin/init").stdout.strip()
    machine = Machine(podman, name)
    try:
        if not _until(lambda: machine.tries("systemctl is-system-running | grep -qE 'running|degraded'")):
            pytest.skip("NOT TRIED: the unit. systemd does not start in a container here.")
        machine.does(_PREPARE)
        machine.does(_MODEL)
        yield machine
    finally:
        podman("rm", "--force", "--time", "1", name, check=False)
        podman("image", "rm", "--force", MACHINE, check=False)


def test_the_exposure_level_of_the_unit_is_below_three(machine):
    said = machine.does("systemd-analyze security --offline=true --no-pager /etc/systemd/system/treehand.service")
    (level,) = re.findall(r"Overall exposure level for treehand.service: ([\d.]+)", said)
    assert float(level) < MOST
    machine.does("systemd-analyze verify treehand.service")


def test_the_service_passes_the_sandbox_check_and_stops_in_order(machine):
    machine.does("systemctl start treehand")
    assert _until(lambda: machine.tries("curl --fail --silent http://127.0.0.1:8700/readyz")), logs(machine)
    assert re.search(r"sandbox self-test passed: bwrap [\d.]+: \d+ probes passed", logs(machine))
    assert machine.does("stat -c '%U %a' /var/lib/treehand/treehand.db") == "treehand 600"
    machine.does("systemctl stop treehand")
    assert machine.does("systemctl show treehand --property=Result --value") == "success"
    assert "shutdown started" in logs(machine)


def test_a_new_credential_is_read_at_the_next_start(machine):
    machine.does("systemctl start treehand")
    machine.does(
        "install -m 0600 /dev/stdin /etc/treehand/model-key <<< sk-ant-another-one && systemctl restart treehand"
    )
    assert machine.does("cat /run/credentials/treehand.service/model-key") == "sk-ant-another-one"
    machine.does("systemctl stop treehand")


def test_commands_of_a_user_run_with_the_services_user_settings_and_secrets(machine):
    checked = json.loads(machine.does("treehand check --json"))
    assert {name: one["detail"] for name, one in checked.items() if not one["ok"]} == {}
    assert machine.does("treehand issue new 'Keep me'").startswith("shop#1")
    assert machine.does("find /var/lib/treehand ! -user treehand") == ""


def test_a_backup_is_restored_by_the_documented_commands(machine):
    """Uses the commands of deploy/README.md, while the daemon runs."""
    machine.does("treehand issue new 'Keep me, too'; systemctl start treehand; sleep 2")
    machine.does("umask 077; treehand backup --to - > /var/backups/treehand.tar.gz")
    machine.does("systemctl stop treehand; mv /var/lib/treehand /var/lib/gone")
    page = (ROOT / "deploy" / "README.md").read_text().partition("## Restore")[2].partition("## Upgrade")[0]
    told = [line.removeprefix("    ") for line in page.splitlines() if line.startswith("    ")]
    assert len(told) == 5
    machine.does("cd /var/backups; " + "\n".join(told))
    assert _until(lambda: machine.tries("curl --fail --silent http://127.0.0.1:8700/readyz")), logs(machine)
    assert "Keep me, too" in machine.does("treehand issue list")
    machine.does("systemctl stop treehand")


def test_a_mistake_in_the_settings_is_not_retried(machine):
    broken = 'printf "[Service]\\nEnvironment=TREEHAND_LABLE=x\\n" > /etc/systemd/system/treehand.service.d/x.conf'
    machine.does(f"mkdir -p /etc/systemd/system/treehand.service.d && {broken} && systemctl daemon-reload")
    machine.does("systemctl start treehand || true")
    assert _until(lambda: machine.tries("systemctl is-failed --quiet treehand"))
    assert machine.does("systemctl show treehand --property=NRestarts --value") == "0"
    machine.does("rm -r /etc/systemd/system/treehand.service.d && systemctl daemon-reload")


def test_the_demo_works_with_the_rights_of_the_unit(machine):
    """The same unit, with the demo in place of the daemon."""
    text = (
        UNIT.read_text().replace("treehand run\n", "treehand demo --once --json\n").replace("Type=exec", "Type=oneshot")
    )
    text = re.sub(r"^Restart.*\n", "", text, flags=re.MULTILINE)
    machine.does(f"cat > /run/systemd/system/story.service <<'END'\n{text}\nEND\nsystemctl daemon-reload")
    machine.does("systemctl start story")
    told = machine.does("journalctl --unit story --output cat --no-pager | grep '^{'")
    story = json.loads(told)
    assert (story["sandbox"], len(story["pull_requests"])) == ("bwrap", 3)


def logs(machine: Machine) -> str:
    return machine.does("journalctl --unit treehand --no-pager")


def _until(fact: Callable[[], bool]) -> bool:
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        if fact():
            return True
        time.sleep(0.5)
    return False
