"""Environment of setup, agents and teardown: port numbers, names, and download caches of tools. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

OFFLINE = {
    "npm_config_offline": "true",
    "UV_OFFLINE": "1",
    "CARGO_NET_OFFLINE": "true",
    "GOPROXY": "off",
    "COMPOSER_DISABLE_NETWORK": "1",
    "COREPACK_ENABLE_NETWORK": "0",
}
"""Variables that let tools use their downloads at once where there is no network."""
_SKIPPED_DOWNLOADS = {
    "HUSKY": "0",
    "LEFTHOOK": "0",
    "SKIP_INSTALL_SIMPLE_GIT_HOOKS": "1",
    "PUPPETEER_SKIP_DOWNLOAD": "1",
    "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    "CYPRESS_INSTALL_BINARY": "0",
    "ELECTRON_SKIP_BINARY_DOWNLOAD": "1",
    "SENTRYCLI_SKIP_DOWNLOAD": "1",
}
"""Variables with which install scripts leave out git hooks, which agents do not run, and browsers from other hosts."""
_CODE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org")
_OTHER_WAYS = ("ssh://git@{}/", "git@{}:", "git://{}/")
"""Addresses that package managers use for dependencies on repositories: they reach nothing through a proxy."""
_PROXY = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port}"


def worktree_variables(worktree: str, ports: Sequence[int]) -> dict[str, str]:
    """Variables of setup, agent and teardown alike; named after the folder, which may be older than the branch."""
    slug = re.sub(r"[^a-z0-9]+", "-", worktree.lower()).strip("-")
    numbered = {f"TREEHAND_PORT_{number}": str(port) for number, port in enumerate(ports)}
    return {"PORT": str(ports[0]), **numbered, "COMPOSE_PROJECT_NAME": f"treehand-{slug}"}


def cache_variables(cache: Path) -> dict[str, str]:
    """Variables through which tools find downloads in the cache; agents get them too, and a read-only cache."""
    return {
        "CARGO_HOME": str(cache / "cargo"),
        "GOMODCACHE": str(cache / "go"),
        "BUNDLE_PATH": str(cache / "bundle"),
        "NUGET_PACKAGES": str(cache / "nuget"),
        "YARN_GLOBAL_FOLDER": str(cache / "yarn-berry"),
        "MAVEN_OPTS": f"-Dmaven.repo.local={cache / 'maven'}",
        "GRADLE_RO_DEP_CACHE": str(cache / "gradle" / "caches"),
        "COREPACK_HOME": str(cache / "corepack"),
        "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
        "COREPACK_ENABLE_AUTO_PIN": "0",
    }


def _node_proxy_variables(proxy: str) -> dict[str, str]:
    """Variables for Yarn 2 and later, and for install scripts that use Node's own https: they ignore HTTPS_PROXY."""
    return {"YARN_HTTP_PROXY": proxy, "YARN_HTTPS_PROXY": proxy, "NODE_USE_ENV_PROXY": "1"}


def _git_over_https() -> dict[str, str]:
    """Variables with which git reaches public repositories through the proxy, however a lock file names them."""
    ways = [(f"url.https://{host}/.insteadOf", way.format(host)) for host in _CODE_HOSTS for way in _OTHER_WAYS]
    numbered = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(ways)}
    numbered |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(ways)}
    return {"GIT_CONFIG_COUNT": str(len(ways)), **numbered}


def setup_variables(cache: Path, network_variables: Mapping[str, str], tools: Collection[str] = ()) -> dict[str, str]:
    """No questions, downloads go to the cache, and the worktree gets copies: no hard links into the cache."""
    pnpm_variables = {"npm_config_store_dir": str(cache / "pnpm"), "npm_config_package_import_method": "copy"}
    proxy = network_variables.get("HTTPS_PROXY", "")
    port = proxy.rpartition(":")[2]
    return {
        **cache_variables(cache),
        **({"JAVA_TOOL_OPTIONS": _PROXY.format(port=port), **_node_proxy_variables(proxy)} if port else {}),
        **_SKIPPED_DOWNLOADS,
        **_git_over_https(),
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
        **(pnpm_variables if "npm" not in tools else {}),  # npm would complain about them
        "YARN_CACHE_FOLDER": str(cache / "yarn"),
        "npm_config_manage_package_manager_versions": "false",
        "npm_config_package_manager_strict": "false",
        "BUN_INSTALL_CACHE_DIR": str(cache / "bun"),
        "BUN_CONFIG_MAX_HTTP_REQUESTS": "32",  # the proxy refuses more connections than Bun makes
        "COMPOSER_CACHE_DIR": str(cache / "composer"),
        "GRADLE_USER_HOME": str(cache / "gradle"),
        "MAVEN_USER_HOME": str(cache / "maven-wrapper"),
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
    }
