"""Manifests of deployments, checked against published schemas and our own rules."""

import configparser
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from bot import __version__
from bot.settings.load import SECRETS, known_keys
from bot.settings.schema import Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
KUBERNETES, UNIT = DEPLOY / "kubernetes" / "treehand.yaml", DEPLOY / "treehand.service"
PROGRAMS = Path(sys.executable).parent


def says(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def ensure_settings(names: set[str]) -> None:
    """Checks that each variable is a setting or names the place of a secret."""
    known = {f"TREEHAND_{key.upper().replace('.', '__')}" for key in known_keys()} | set(SECRETS.values())
    assert {name for name in names if name.startswith("TREEHAND_")} <= known | {"TREEHAND_CONFIG"}


# Compose


def test_the_compose_file_is_valid():
    done = says(PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_compose_container_has_exactly_the_permissions_of_the_sandbox():
    service = yaml.safe_load(COMPOSE.read_text())["services"]["treehand"]
    assert (service["read_only"], service["user"], service["cap_drop"]) == (True, "10001:10001", ["ALL"])
    assert service["hostname"] == "treehand"
    assert set(service["security_opt"]) == {
        "no-new-privileges:true", "seccomp:./seccomp.json", "systempaths=unconfined", "apparmor=unconfined",
    }  # fmt: skip
    assert not {"ports", "privileged", "cap_add", "network_mode", "pid"} & set(service)
    assert {volume.split(":")[1] for volume in service["volumes"]} == {
        "/var/lib/treehand",
        "/etc/treehand/treehand.toml",
    }
    ensure_settings(set(service["environment"]))


# Kubernetes


@pytest.fixture(scope="module")
def resources() -> dict[str, dict]:
    return {one["kind"]: one for one in yaml.safe_load_all(KUBERNETES.read_text())}


@pytest.mark.parametrize("version", ["1.33", "1.37"])
def test_the_kubernetes_manifests_are_valid(version: str):
    done = says(PROGRAMS / "kubernetes-validate", "--strict", "--kubernetes-version", version, KUBERNETES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed for resource ") == len(
        list(yaml.safe_load_all(KUBERNETES.read_text()))
    )


def test_there_is_one_controller_with_a_persistent_state(resources):
    spec = resources["StatefulSet"]["spec"]
    assert spec["replicas"] == 1
    (claim,) = spec["volumeClaimTemplates"]
    (container,) = spec["template"]["spec"]["containers"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts[claim["metadata"]["name"]] == "/var/lib/treehand"
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert container["image"] == f"treehand:{__version__}"
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] >= 60


def test_the_pod_has_exactly_the_permissions_of_the_sandbox(resources):
    pod = resources["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {
        "type": "Localhost", "localhostProfile": "treehand/seccomp.json",
    }  # fmt: skip
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "procMount": "Unmasked",
        "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert pod["hostUsers"] is False  # no pod may have the whole of /proc otherwise
    assert not pod["automountServiceAccountToken"]
    assert {"startupProbe", "livenessProbe"} <= set(container)


def test_the_settings_load_and_secrets_are_only_referenced(resources, tmp_path):
    settings = Settings(**tomllib.loads(resources["ConfigMap"]["data"]["treehand.toml"]))
    assert settings.projects[0].forge == "github"
    assert "Secret" not in resources
    (container,) = resources["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    ensure_settings({one["name"] for one in container["env"]})


# The unit


@pytest.fixture(scope="module")
def unit() -> dict[str, list[str]]:
    """Returns all values of each key of the service section."""
    section = UNIT.read_text().partition("[Service]")[2].partition("[Install]")[0]
    found: dict[str, list[str]] = {}
    for line in section.splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_is_valid():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text())
    assert parser.sections() == ["Unit", "Service", "Install"]


def test_each_credential_of_the_unit_is_used_by_a_setting(unit):
    loaded = {one.partition(":")[0] for one in unit["LoadCredential"]}
    told = dict(one.partition("=")[::2] for one in unit["Environment"])
    assert {value.removeprefix("%d/") for value in told.values() if value.startswith("%d/")} == loaded
    ensure_settings(set(told))


def test_the_unit_has_no_privileges_and_a_state_directory(unit):
    single = {key: values[0] for key, values in unit.items() if len(values) == 1}
    assert single["User"] == "treehand"
    assert single["StateDirectory"] == "treehand"
    assert single["CapabilityBoundingSet"] == ""
    assert single["NoNewPrivileges"] == single["PrivateUsers"] == "yes"
    assert single["ProtectSystem"] == "strict"
    assert int(single["TimeoutStopSec"]) >= 30  # draining takes up to twenty-five


def test_the_unit_allows_what_the_sandbox_needs(unit):
    """Each of these breaks the sandbox or the agent: tried under a real systemd."""
    assert not {"RestrictNamespaces", "ProtectHostname", "ProcSubset", "MemoryDenyWriteExecute"} & set(unit)
    assert {"@mount", "sethostname"} <= set(unit["SystemCallFilter"][0].split())
    assert "AF_NETLINK" in unit["RestrictAddressFamilies"][0]
