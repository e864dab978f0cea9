"""`treehand init`: what it detects, asks and writes, and what it never does."""

import asyncio
import json
import os
import pty
import re
import stat
import tomllib
from html.parser import HTMLParser

import httpx
import pytest

from tests.fakes.github import ServedGitHub
from tests.fakes.linear.fixtures import linear
from tests.program.conftest import SECONDS, TREEHAND, Person

__all__ = ["linear"]

SHOP, BOT = "acme/shop", "treehand-bot"


def written(person: Person) -> dict:
    return tomllib.loads((person.repository / "treehand.toml").read_text())


def on_remote(person: Person, url: str, name: str = "origin") -> None:
    person.git("remote", "add", name, url)


def ssh_that_knows(person: Person, alias: str, host: str) -> None:
    """Installs an ssh that maps a host name like ssh's settings."""
    tools = person.home / "bin"
    tools.mkdir()
    (tools / "ssh").write_text(f'#!/bin/sh\n[ "$1 $2 $3" = "-G -- {alias}" ] && echo "hostname {host}"\n')
    (tools / "ssh").chmod(0o755)
    person.env["PATH"] = f"{tools}:{person.env['PATH']}"


# Detection


async def test_the_github_repository_is_detected_and_the_token_explained(person: Person):
    on_remote(person, "git@github.com:acme/shop.git")
    said = await person.does("init", "--yes", "--no-check")
    (project,) = written(person)["projects"]
    assert (project["tracker"], project["repository"], project["name"]) == ("github", SHOP, "shop")
    assert "github" not in written(person)
    assert "https://github.com/settings/personal-access-tokens/new" in said
    assert re.search(
        r"Contents: +read and write.+Issues: +read and write.+Pull requests: +read and write", said, re.DOTALL
    )


async def test_git_and_ssh_settings_of_the_user_resolve_the_address(person: Person):
    (person.home / ".gitconfig").write_text('[url "ssh://git@work/"]\n\tinsteadOf = at-work:\n')
    ssh_that_knows(person, "work", "github.com")
    on_remote(person, "at-work:acme/shop.git")
    await person.does("init", "--yes", "--no-check")
    assert written(person)["projects"][0]["repository"] == SHOP


async def test_a_fork_is_used_and_its_upstream_is_mentioned(person: Person):
    on_remote(person, "https://github.com/ana/shop")
    on_remote(person, "https://github.com/acme/shop", "upstream")
    said = await person.does("init", "--yes", "--no-check")
    assert written(person)["projects"][0]["repository"] == "ana/shop"
    assert "There is also acme/shop (upstream)" in said


async def test_an_enterprise_server_is_recognised_by_its_response(person: Person, github: ServedGitHub):
    on_remote(person, f"{github.url}/acme/shop.git")
    await person.does("init", "--yes", "--no-check")
    assert written(person)["github"]["api_url"] == github.enterprise_url
    assert written(person)["projects"][0]["repository"] == SHOP
    assert [call.path for call in github.calls()] == ["/api/v3/meta"]


async def test_a_repository_that_is_not_on_github_stays_local_and_init_says_so(person: Person):
    on_remote(person, "https://127.0.0.1:1/acme/shop.git")
    said = await person.does("init", "--yes", "--no-check")
    assert "This repository is on 127.0.0.1, which is not GitHub: pull requests stay on this machine." in said
    (project,) = written(person)["projects"]
    assert (project["tracker"], project["repository"], project["base"]) == ("local", ".", "main")


async def test_the_here_option_overrides_the_remotes(person: Person):
    on_remote(person, "git@github.com:acme/shop.git")
    await person.does("init", "--yes", "--no-check", "--here")
    assert written(person)["projects"][0]["repository"] == "."


async def test_init_in_a_subfolder_names_the_top_folder(person: Person):
    below = person.repository / "src"
    below.mkdir()
    answer = await person.treehand("init", "--yes", within=("env", "--chdir=src"))
    assert (answer.code, f"Change to its top: cd {person.repository}" in answer.err) == (2, True)
    assert list(below.iterdir()) == []


async def test_the_settings_file_may_be_elsewhere_and_the_current_repository_is_used(person: Person, tmp_path):
    (elsewhere := tmp_path / "my settings").mkdir()
    file = elsewhere / "ours.toml"
    said = await person.does("--config", str(file), "init", "--here", "--yes", "--no-check")
    (project,) = tomllib.loads(file.read_text())["projects"]
    assert project["repository"] == str(person.repository)
    assert f"export TREEHAND_CONFIG='{file}'" in said
    assert not (person.repository / "treehand.toml").exists()
    assert await person.does("issue", "new", "One", TREEHAND_CONFIG=str(file)) == "shop#1"


async def test_a_folder_name_with_accents_gives_a_project_name_without(person: Person):
    there = person.repository / "häuser und gärten"
    person.git("clone", "--quiet", ".", there.name)
    answer = await person.treehand("init", "--here", "--yes", "--no-check", within=("env", f"--chdir={there}"))
    assert answer.code == 0, answer.err
    assert tomllib.loads((there / "treehand.toml").read_text())["projects"][0]["name"] == "hauser-und-garten"


# What init never does


async def test_existing_settings_are_never_overwritten(person: Person):
    file = person.repository / "treehand.toml"
    file.write_text("label = 'mine'\n")
    answer = await person.treehand("init", "--yes")
    assert (answer.code, "exists already, and `treehand init` never overwrites it" in answer.err) == (2, True)
    assert file.read_text() == "label = 'mine'\n"


async def test_no_secret_is_written_to_the_settings_and_an_existing_token_is_not_requested(person: Person):
    on_remote(person, "https://ana:hunter2-hunter2@github.com/acme/shop.git")
    said = await person.does("init", "--yes", "--no-check", GITHUB_TOKEN="ghp_" + "a1" * 18)
    text = (person.repository / "treehand.toml").read_text()
    assert not re.search("hunter2|ghp_", text + said)
    assert "personal-access-tokens" not in said


def gh_that_is_signed_in(person: Person) -> dict[str, str]:
    tools = person.home / "bin"
    tools.mkdir()
    (tools / "gh").write_text('#!/bin/sh\n[ "$1 $2" = "auth token" ] && echo gho_secretsecret\n')
    (tools / "gh").chmod(0o755)
    on_remote(person, "https://github.com/acme/shop.git")
    return {"PATH": f"{tools}:{person.env['PATH']}"}


async def test_without_a_persons_consent_no_token_of_gh_is_copied(person: Person):
    said = await person.does("init", "--yes", "--no-check", **gh_that_is_signed_in(person))
    assert "export GITHUB_TOKEN=$(gh auth token --hostname github.com)" in said
    assert "gho_" not in said + (person.repository / "treehand.toml").read_text()
    assert not (person.home / ".config/treehand/github.com.token").exists()


async def test_with_consent_a_copy_of_the_token_of_gh_is_kept_for_its_owner_alone(person: Person):
    person.env |= gh_that_is_signed_in(person) | {"ANTHROPIC_API_KEY": "k"}
    async with Terminal(person, "init", "--no-check") as terminal:
        await terminal.answers("[github] ", "")
        await terminal.sees("gh is signed in to github.com as you.")
        await terminal.answers("[Y/n]", "")
        assert await terminal.ends() == 0
        assert "gho_" not in terminal.shown
    file = person.home / ".config/treehand/github.com.token"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("gho_secretsecret", 0o600)
    assert written(person)["github"]["token_file"] == str(file)
    assert "gho_" not in (person.repository / "treehand.toml").read_text()


async def test_a_key_that_is_pasted_is_not_shown_and_kept_for_its_owner_alone(person: Person):
    async with Terminal(person, "init", "--no-check") as terminal:
        await terminal.answers("[here] ", "")
        await terminal.answers("(Enter: later): ", "not a key")
        await terminal.answers("This is not a key. A key is one long word.", "")
        assert await terminal.ends() == 0
    assert "agent" not in written(person)
    (person.repository / "treehand.toml").unlink()
    async with Terminal(person, "init", "--no-check") as terminal:
        await terminal.answers("[here] ", "")
        await terminal.answers("(Enter: later): ", "sk-ant-api-secret")
        assert await terminal.ends() == 0
        assert "sk-ant" not in terminal.shown
    file = person.home / ".config/treehand/model.key"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("sk-ant-api-secret", 0o600)
    assert written(person)["agent"] == {"key_file": str(file)}
    (person.repository / "treehand.toml").unlink()
    assert f"The agent uses the key in {file}." in await person.does("init", "--yes", "--no-check")


async def test_git_ignores_the_settings_file_in_this_clone_alone(person: Person):
    said = await person.does("init", "--here", "--yes", "--no-check")
    assert "Git ignores it: /treehand.toml is in .git/info/exclude." in said
    assert person.git("status", "--porcelain") == ""
    (person.repository / "treehand.toml").unlink()
    assert "Git ignores it" not in await person.does("init", "--here", "--yes", "--no-check")


async def test_editors_find_the_schema_of_the_settings_on_this_machine(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    schema = person.home / ".config/treehand/treehand.schema.json"
    assert (person.repository / "treehand.toml").read_text().splitlines()[0] == f"#:schema file://{schema}"
    assert schema.read_text() == await person.does("schema") + "\n"


async def test_folders_of_tools_that_setup_needs_are_added(person: Person):
    tool = person.home / "opt/node-20/bin"
    tool.mkdir(parents=True)
    (tool / "npm").write_text("#!/bin/sh\n")
    (tool / "npm").chmod(0o755)
    (person.repository / "package.json").write_text('{"scripts": {"test": "true"}, "dependencies": {"a": "1"}}\n')
    person.git("add", ".")
    person.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=Node")
    settings = person.repository / "treehand.toml"
    settings.write_text(f'state_dir = "{person.home}/state"\n[[projects]]\nname = "shop"\nrepository = "."\n')
    call = (
        "import sys; from pathlib import Path; from bot.cli.init_finish import _folders_of; "
        "from bot.settings.load import load; print(*_folders_of(['npm', 'git'], load(Path('treehand.toml'))))"
    )
    process = await asyncio.create_subprocess_exec(
        TREEHAND[0], "-c", call, cwd=person.repository, env={**person.env, "PATH": f"{tool}:{person.env['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert (await process.communicate())[0].decode().strip() == str(tool.parent)


async def test_init_ends_with_an_issue_to_begin_with(person: Person):
    async with Terminal(person, "init", "--here") as terminal:
        await terminal.answers("(Enter: later): ", "sk-ant-api-secret")
        await terminal.answers(
            "Begin with an issue? Its title, or the number of an open one (Enter: later): ", "Say hi"
        )
        assert await terminal.ends() == 0
        assert "treehand logs shop#1 -f" in terminal.shown
    (issue,) = json.loads(await person.does("issue", "list", "--json"))
    assert (issue["title"], issue["labels"]) == ("Say hi", ["ai"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--repository", "shop"), "--repository: 'shop' is not a repository on GitHub: write OWNER/NAME"),
        (("--here", "--app"), "--app is for GitHub and --here is for this machine"),
        (("--app",), "Which repository on GitHub? OWNER/NAME: '' is not a repository on GitHub"),
        (("--here", "--name", "a b"), "use letters, digits, '-', '_' and '.'"),
    ],
)
async def test_every_mistake_is_reported_with_a_fix_and_leaves_no_file(person: Person, words, expected):
    answer = await person.treehand("init", "--yes", *words)
    assert (answer.code, expected in answer.err) == (2, True), answer.err
    assert not (person.repository / "treehand.toml").exists()


# Creation of labels


async def test_with_a_token_labels_are_created_and_everything_is_checked(person: Person, github: ServedGitHub):
    env = {"GITHUB_TOKEN": github.token_for(BOT), "TREEHAND_GITHUB__API_URL": github.url}
    said = await person.does("init", "--yes", "--repository", SHOP, **env)
    assert "shop/labels" not in said  # all are well
    assert "failed  model" in said
    labels = github.world.repository(SHOP).labels
    assert {"ai", "ai:queued", "ai:working", "ai:review", "ai:asking"} <= set(labels)


async def test_linear_issues_can_be_combined_with_local_pull_requests(person: Person, linear):
    on_remote(person, "git@github.com:acme/shop.git")
    env = {"LINEAR_API_KEY": linear.token_for(BOT), "TREEHAND_LINEAR__API_URL": linear.url}
    await person.does("init", "--yes", "--team", "eng", "--here", "--no-check", **env)
    (project,) = written(person)["projects"]
    assert (project["tracker"], project["team"], project["repository"]) == ("linear", "ENG", ".")


# On a terminal


class Terminal:
    """A user at a terminal who reads a question before answering it."""

    def __init__(self, person: Person, *words: str) -> None:
        self.shown, self._person, self._words = "", person, words

    async def __aenter__(self):
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self._process = await asyncio.create_subprocess_exec(
            *TREEHAND, *self._words, cwd=self._person.repository, env=self._person.env, start_new_session=True,
            stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        self._person.started.append(self._process)
        os.close(theirs)
        return self

    async def __aexit__(self, *_: object) -> None:
        os.close(self._ours)

    async def sees(self, text: str) -> None:
        async with asyncio.timeout(SECONDS):
            while text not in self.shown:
                assert self._process.returncode is None or self._read(), self.shown
                await asyncio.sleep(0.02)
                self._read()

    def _read(self) -> bool:
        try:
            self.shown += (more := os.read(self._ours, 65536).decode())
        except OSError:
            return False
        return bool(more)

    async def answers(self, question: str, words: str) -> None:
        await self.sees(question)
        self.shown = self.shown.partition(question)[2]
        os.write(self._ours, f"{words}\n".encode())

    async def ends(self) -> int:
        async with asyncio.timeout(SECONDS):
            while self._process.returncode is None:
                self._read()
                await asyncio.sleep(0.02)
        return self._process.returncode


async def test_a_detected_repository_is_not_asked_for_and_a_mistake_is_asked_again(person: Person):
    on_remote(person, "git@github.com:acme/shop.git")
    async with Terminal(person, "init", "--no-check") as terminal:
        await terminal.answers("Where are the issues? github, linear, here: [github] ", "gitlab")
        await terminal.answers(
            "'gitlab' is not an option.\r\nWhere are the issues? github, linear, here: [github] ", ""
        )
        await terminal.sees("Contents:        read and write")
        await terminal.answers("(Enter: later): ", "")
        await terminal.answers("(Enter: later): ", "")
        assert await terminal.ends() == 0
        assert "Issues and pull requests are on GitHub, in acme/shop." in terminal.shown
        assert 'Workflows run what agents wrote at once; `ci = "after-approval"`' in terminal.shown
    (project,) = written(person)["projects"]
    assert (project["repository"], project["ci"]) == ("acme/shop", "at-once")


async def test_issues_in_linear_need_the_key_of_a_team(person: Person):
    async with Terminal(person, "init", "--no-check") as terminal:
        await terminal.answers("[here] ", "linear")
        await terminal.answers("Which team in Linear? Its key, such as ENG: ", "eng")
        await terminal.answers("(Enter: later): ", "")
        assert await terminal.ends() == 0
    assert written(person)["projects"][0]["team"] == "ENG"


async def test_an_unanswered_question_writes_no_file(person: Person):
    async with Terminal(person, "init", "--no-check") as terminal:
        await terminal.answers("[here] ", "\x04")
        assert await terminal.ends() == 2
        assert "Traceback" not in terminal.shown
    assert not (person.repository / "treehand.toml").exists()


# A GitHub App


class Forms(HTMLParser):
    """The forms of a page: targets and fields."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        given = dict(attrs)
        if tag == "form":
            self.found.append((given["action"], {}))
        if tag == "input":
            self.found[-1][1][given["name"]] = given["value"]


async def address_shown(process: asyncio.subprocess.Process) -> str:
    async with asyncio.timeout(SECONDS):
        while line := (await process.stdout.readline()).decode():
            if found := re.fullmatch(r"    (http://127\.0\.0\.1:\S+)", line.rstrip()):
                return found[1]
    raise AssertionError((await process.stderr.read()).decode())


@pytest.fixture
def app_env(github: ServedGitHub) -> dict[str, str]:
    return {"TREEHAND_GITHUB__API_URL": github.enterprise_url}


async def test_an_app_is_created_in_the_browser_installed_and_used_at_once(person: Person, github, app_env):
    process = await person.start("init", "--yes", "--app", "--repository", SHOP, **app_env)
    place = await address_shown(process)
    assert len(place.rpartition("/")[2]) > 20  # nobody guesses it
    async with httpx.AsyncClient(follow_redirects=True) as browser:
        (organization, fields), (own, _) = Forms((await browser.get(place)).text).found
        assert organization.startswith(f"{github.url}/organizations/acme/settings/apps/new?state=")
        assert own.startswith(f"{github.url}/settings/apps/new?state=")
        manifest = json.loads(fields["manifest"])
        assert manifest["default_permissions"]["contents"] == "write"
        assert manifest["hook_attributes"]["active"] is False
        arrived = await browser.post(organization, data=fields)
    assert "App created" in arrived.text
    (app,) = github.world.apps.values()
    github.world.install_app(app, SHOP)
    out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, err.decode()
    said = out.decode()
    assert f"{github.url}/apps/treehand-shop/installations/new" in said
    assert "shop/labels" not in said  # all are well

    settings = written(person)["github"]
    key = person.home / ".config/treehand" / f"treehand-shop-{app.id}.pem"
    assert (settings["app_id"], settings["private_key_file"]) == (app.id, str(key))
    assert (key.read_text(), stat.S_IMODE(key.stat().st_mode)) == (app.private_key, 0o600)
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert "PRIVATE KEY" not in said + (person.repository / "treehand.toml").read_text()


async def test_a_forged_callback_does_not_install_an_app(person: Person, github, app_env):
    process = await person.start("init", "--yes", "--app", "--repository", SHOP, **app_env)
    place = await address_shown(process)
    foreign = github.world.create_app("foreign")
    github.world.codes["stolen"] = foreign
    async with httpx.AsyncClient() as browser:
        root = place.rpartition("/")[0]
        assert (await browser.get(f"{root}/back?code=stolen&state=guessed")).status_code == 404
        assert (await browser.get(f"{place}/back?code=stolen&state=guessed")).status_code == 403
        assert (await browser.get(place, headers={"Host": "evil.example.com"})).status_code == 403
    assert github.world.codes == {"stolen": foreign}
    process.terminate()
    await process.wait()


async def test_an_expired_code_is_reported_on_the_page_and_can_be_retried(person: Person, github, app_env):
    process = await person.start("init", "--yes", "--app", "--repository", SHOP, **app_env)
    place = await address_shown(process)
    async with httpx.AsyncClient() as browser:
        (_, _), (own, fields) = Forms((await browser.get(place)).text).found
        back = (await browser.post(own, data=fields)).headers["location"]
        codes = dict(github.world.codes)
        github.world.codes.clear()
        assert "GitHub rejects the code of the new App (404)" in (await browser.get(back)).text
        github.world.codes |= codes
        assert "App created" in (await browser.get(back)).text
    process.terminate()
    await process.wait()


# Commands that files of the repository name


def add_ci(person: Person) -> None:
    files = {"Makefile": "test:\n\ttrue\n", ".github/workflows/ci.yml": _CI}
    for name, text in files.items():
        file = person.repository / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    person.git("add", *files)
    person.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=Tests")


_CI = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
    - run: cmake -S . -B build
    - run: ctest --test-dir build
"""
_CTEST = "cmake -S . -B build && ctest --test-dir build"


async def test_different_commands_are_listed_and_none_is_written(person: Person):
    add_ci(person)
    said = await person.does("init", "--here", "--yes", "--no-check")
    assert f"1  {_CTEST} (.github/workflows/ci.yml, job test)" in said
    assert "2  make test (Makefile)" in said
    assert 'To use 2, add this to the project: verify = ["make test"]' in said
    assert "verify" not in written(person)["projects"][0]


async def test_the_chosen_command_is_written(person: Person):
    add_ci(person)
    person.env["ANTHROPIC_API_KEY"] = "k"
    async with Terminal(person, "init", "--here", "--no-check") as terminal:
        await terminal.answers("Which of them? 1, 2: [1] ", "3")
        await terminal.answers("Answer 1 or 2.\r\nWhich of them? 1, 2: [1] ", "2")
        assert await terminal.ends() == 0
    assert written(person)["projects"][0]["verify"] == ["make test"]
    answer = await person.treehand("check", "--json")
    assert json.loads(answer.out)["shop/verify"]["detail"] == "make test (projects.verify)"


async def test_check_names_the_commands_that_were_not_chosen(person: Person):
    add_ci(person)
    await person.does("init", "--here", "--yes", "--no-check")
    answer = await person.treehand("check", "--json")
    assert json.loads(answer.out)["shop/verify"]["detail"].startswith(
        f"{_CTEST} (.github/workflows/ci.yml, job test); not chosen: make test (Makefile)"
    )


async def test_the_clone_of_a_repository_on_github_is_read(person: Person):
    on_remote(person, "git@github.com:acme/shop.git")
    add_ci(person)
    said = await person.does("init", "--yes", "--no-check")
    assert "2  make test (Makefile)" in said
    assert "different commands" not in await person.does(
        "--config", "other.toml", "init", "--yes", "--no-check", "--repository", "acme/other"
    )
