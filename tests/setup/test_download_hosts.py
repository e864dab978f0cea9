"""Download hosts: read from the repository's files, from its tools, and from refusals of the proxy."""

import pytest

from bot.domain.setup_plan import SetupStep
from bot.setup.download_hosts import hosts_in_files, hosts_of_tools, missing_hosts, refused_hosts, setup_hosts_line
from bot.setup.failure_advice import FailedCommand, explain_failure
from bot.setup.plan import SetupOverrides, plan_setup
from bot.setup.repository_files import RepositoryFiles
from bot.setup.run_command import CommandOutcome

COMPOSER = """{"packages": [{"name": "a", "dist": {"url": "https://dist.example.com/a.zip"},
  "support": {"source": "https://source.example.com"}, "funding": [{"url": "https://money.example.com"}]}],
  "packages-dev": [{"dist": {"url": "https://dist.example.com/b.zip"}}, {"dist": null}, 7]}"""
POM = """<project xmlns="https://schema.example.com"><url>https://home.example.com</url>
  <repositories><repository><id>x</id><url>https://maven.example.com/r</url></repository></repositories></project>"""
MANIFEST = {"package.json": "{}"}
PYPROJECT = """\
[project]
dependencies = ["a @ https://a.example.com/a.whl", "b @ git+https://b.example.com/b", "c"]
[dependency-groups]
test = ["d@ https://d.example.com/d.zip", {include-group = "x"}]
[[tool.uv.index]]
url = "https://uv.example.com/simple"
[tool.uv.sources]
e = {git = "https://e.example.com/e"}
[tool.uv.pip]
index-url = "https://pip.example.com/simple"
extra-index-url = ["https://extra.example.com/simple", 7]
[[tool.poetry.source]]
url = "https://poetry.example.com/simple"
[project.urls]
Home = "https://home.example.com"
[tool.sponcon]
sponsors = [
  {name = "x", url = "https://money.example.com"},
]
[[tool.sponcon.more]]
url = "https://more-money.example.com"
"""
"""Shops and sponsors are in it as well: nobody downloads from them."""


@pytest.mark.parametrize(
    ("files", "hosts"),
    [
        ({**MANIFEST, "package-lock.json": '"resolved": "https://Npm.example.com/a.tgz", "x": "https://no"'},
         ["npm.example.com"]),
        ({**MANIFEST, "package-lock.json": "{}", ".npmrc": "x=1\n@us:registry=https://u:p@own.example.com:8443/npm/\n"},
         ["own.example.com:8443"]),
        ({**MANIFEST, "yarn.lock": 'a@1:\n  resolved "https://yarn.example.com:443/a.tgz#1"\n'}, ["yarn.example.com"]),
        ({**MANIFEST, "yarn.lock": "__metadata:\n", ".yarnrc.yml": 'npmRegistryServer: "https://b.example.com"\n'},
         ["b.example.com"]),
        ({**MANIFEST, "pnpm-lock.yaml": "{tarball: https://pnpm.example.com/a.tgz}"}, ["pnpm.example.com"]),
        ({"uv.lock": 'registry = "https://index.example.com/simple"\nurl = "https://files.example.com/a.whl"\n'},
         ["index.example.com", "files.example.com"]),
        ({"poetry.lock": 'url = "https://poetry.example.com/simple"\n'}, ["poetry.example.com"]),
        ({"requirements.txt": "# https://no\n--index-url https://pip.example.com/simple\na @ https://a.example.com/a\n"},
         ["pip.example.com", "a.example.com"]),
        ({"pyproject.toml": PYPROJECT},
         ["uv.example.com", "poetry.example.com", "e.example.com", "pip.example.com", "extra.example.com",
          "a.example.com", "b.example.com", "d.example.com"]),
        ({"pyproject.toml": "[project]\n[tool]\nuv = 7\npoetry = {source = 7, dependencies = {a = [{url = 7}]}}"}, []),
        ({"Cargo.toml": "", "Cargo.lock": 'source = "sparse+https://cargo.example.com/i/"\nsource = "registry+https://x"'},
         ["cargo.example.com"]),
        ({"Gemfile": "", "Gemfile.lock": "GEM\n  remote: https://gems.example.com/\n"}, ["gems.example.com"]),
        ({"composer.json": "{}", "composer.lock": COMPOSER}, ["dist.example.com"]),
        ({"composer.json": "{}", "composer.lock": "[" * 100_000}, []),
        ({"pom.xml": POM}, ["maven.example.com"]),
        ({"build.gradle": 'maven { url "https://g.example.com/r" }',
          "gradle/wrapper/gradle-wrapper.properties": r"distributionUrl=https\://w.example.com/g.zip"},
         ["g.example.com", "w.example.com"]),
        ({"web/package.json": "{}", "web/yarn.lock": "resolved https://in.example.com/x", "yarn.lock": "https://no"},
         ["in.example.com"]),
        ({"uv.lock": 'url = "https://localhost/a"\nurl = "file:///a"\nurl = "http://plain.example.com"'}, []),
    ],
)  # fmt: skip
def test_download_hosts_are_read_from_lock_files_and_tool_settings(files, hosts):
    assert list(plan_setup(RepositoryFiles.of(files), SetupOverrides()).hosts) == hosts


@pytest.mark.parametrize(
    ("files", "tools"),
    [
        ({**MANIFEST, "package-lock.json": '{"packages": {"node_modules/a": {}}}'}, ("npm",)),
        ({**MANIFEST, "package-lock.json": '{"packages": {"": {}}}'}, ()),
        ({**MANIFEST, "package-lock.json": '"node_modules/a": {"resolved": "https://npm.example.com/a"}'}, ()),
        ({"requirements.txt": "six"}, ("python3",)),
        ({"requirements.txt": "--no-index\nsix"}, ()),
        ({"go.mod": "", "go.sum": "x"}, ("go",)),
        ({"Cargo.toml": ""}, ()),
    ],
)
def test_tools_are_queried_if_no_file_names_a_host_and_downloads_are_needed(files, tools):
    assert plan_setup(RepositoryFiles.of(files), SetupOverrides()).silent == tools


def test_hosts_are_parsed_from_the_output_of_a_tool():
    asked = []

    def ask(words):
        asked.append(words)
        return "https://default.example.com/\nnot a host,direct|sum.example.com\n"

    assert hosts_of_tools(["npm"], ask) == ("default.example.com", "sum.example.com")
    assert asked == [("npm", "config", "get", "registry")]
    assert hosts_of_tools(["npm"], lambda _: "") == ()


def test_refused_hosts_are_parsed_from_the_messages_of_the_proxy():
    words = ("reach a.example.com:443 (3 times)", "reach b.example.com:8443", "ask the proxy for GET /", "and 2 more")
    assert refused_hosts(words) == ("a.example.com", "b.example.com:8443")
    assert refused_hosts(["reach c.example.com through a connection to d:443", "reach x;y:443"]) == ()


def test_a_host_with_the_default_port_is_the_same_host():
    assert missing_hosts(["A.example.com", "b.example.com:444"], ["a.example.com:443", "b.example.com"]) == (
        "b.example.com:444",
    )
    assert setup_hosts_line(["a", "b", "a"]) == 'setup_hosts = ["a", "b"]'


def test_hosts_wanted_by_an_agents_setup_are_named_and_not_offered_for_the_allowlist():
    step, outcome = SetupStep("npm ci", why="package-lock.json"), CommandOutcome(1, "")
    attempt = FailedCommand(step, outcome, "", ("reach evil.example.com:443",), ("npm.example.com",), ())
    found = explain_failure(attempt, "", seconds=60)
    assert found.hosts == ("evil.example.com",)
    assert not any("setup_hosts = [" in one for one in found.advice)
    assert any("Before you allow these hosts" in one for one in found.advice)


@pytest.mark.parametrize(
    ("lock", "name", "text"),
    [
        ("pom.xml", "pom.xml", "<repository>" * 200_000),
        ("yarn.lock", "yarn.lock", "resolved" * 300_000),
        ("yarn.lock", ".yarnrc", "registry" * 300_000),
        ("yarn.lock", ".yarnrc.yml", "npmRegistryServer:" * 150_000),
        ("requirements.txt", "requirements.txt", "\n" * 1_000_000),
        ("build.gradle", "build.gradle", "url " * 300_000),
    ],
)
def test_a_file_made_to_be_slow_to_parse_is_parsed_quickly(lock: str, name: str, text: str):
    """With a pattern that backtracks, each of these takes hours."""
    assert hosts_in_files(RepositoryFiles.of({lock: "", name: text}), [SetupStep("x", locks=(lock,))]) == ()
