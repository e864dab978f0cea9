"""The variables that setup, agents and teardown find: ports, names, and where tools keep what they download. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

_PROXY = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port}"


def names_for(worktree: str, ports: Sequence[int]) -> dict[str, str]:
    """The same in setup, for the agent and in teardown; by the folder, which may have been there before the branch."""
    slug = re.sub(r"[^a-z0-9]+", "-", worktree.lower()).strip("-")
    numbered = {f"TREEHAND_PORT_{number}": str(port) for number, port in enumerate(ports)}
    return {"PORT": str(ports[0]), **numbered, "COMPOSE_PROJECT_NAME": f"treehand-{slug}"}


def places_in(cache: Path) -> dict[str, str]:
    """Where tools find again what was downloaded; agents as well, for whom it is read-only."""
    return {
        "CARGO_HOME": str(cache / "cargo"),
        "GOMODCACHE": str(cache / "go"),
        "BUNDLE_PATH": str(cache / "bundle"),
        "NUGET_PACKAGES": str(cache / "nuget"),
        "YARN_GLOBAL_FOLDER": str(cache / "yarn-berry"),
        "MAVEN_OPTS": f"-Dmaven.repo.local={cache / 'maven'}",
        "GRADLE_RO_DEP_CACHE": str(cache / "gradle" / "caches"),
    }


def while_setting_up(cache: Path, reaching: Mapping[str, str], tools: Collection[str] = ()) -> dict[str, str]:
    """Nobody is asked anything, downloads are kept, and nothing in the worktree is one with what lies in the cache."""
    of_pnpm = {"npm_config_store_dir": str(cache / "pnpm"), "npm_config_package_import_method": "copy"}
    port = reaching.get("HTTPS_PROXY", "").rpartition(":")[2]
    return {
        **places_in(cache),
        **({"JAVA_TOOL_OPTIONS": _PROXY.format(port=port)} if port else {}),
        "CI": "1",
        "DEBIAN_FRONTEND": "noninteractive",
        "GIT_TERMINAL_PROMPT": "0",
        "XDG_CACHE_HOME": str(cache / "xdg"),
        "UV_CACHE_DIR": str(cache / "uv"),
        "UV_LINK_MODE": "copy",
        "PIP_CACHE_DIR": str(cache / "pip"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "POETRY_VIRTUALENVS_IN_PROJECT": "true",
        "npm_config_cache": str(cache / "npm"),
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
        **(of_pnpm if "npm" not in tools else {}),  # which would complain about them
        "YARN_CACHE_FOLDER": str(cache / "yarn"),
        "BUN_INSTALL_CACHE_DIR": str(cache / "bun"),
        "COMPOSER_CACHE_DIR": str(cache / "composer"),
        "GRADLE_USER_HOME": str(cache / "gradle"),
        "MAVEN_USER_HOME": str(cache / "maven-wrapper"),
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
    }
