"""Credentials in `treehand init`: copied only after a person has agreed, and kept for their owner alone."""

import stat

import pytest

from bot.cli.init_credentials import ask_github_token, ask_model_key
from bot.cli.init_settings import SettingsDraft
from bot.cli.kept_secrets import keep_secret, secret_file
from bot.cli.questions import Questions
from bot.settings.schema import Settings

ON_GITHUB = SettingsDraft("shop", "github", "acme/shop")
TOKEN = "gho_secretsecret"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home where gh is signed in, without credentials in the environment."""
    for name in ("GITHUB_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "gh").write_text(f"#!/bin/sh\necho {TOKEN}\n")
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def answers(monkeypatch):
    """A person at a terminal who gives these answers."""

    def made(*words: str) -> Questions:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        given = iter(words)
        monkeypatch.setattr("builtins.input", lambda _: next(given))
        monkeypatch.setattr("bot.cli.questions.getpass", lambda _: next(given))
        return Questions(use_defaults=False)

    return made


def test_a_kept_secret_is_for_its_owner_alone_and_is_never_overwritten():
    keep_secret(file := secret_file("git hub/../x.token"), "one")
    assert (file.name, file.read_text()) == ("git-hub-..-x.token", "one")
    assert [stat.S_IMODE(one.stat().st_mode) for one in (file, file.parent)] == [0o600, 0o700]
    with pytest.raises(FileExistsError):
        keep_secret(file, "two")
    assert file.read_text() == "one"


@pytest.mark.parametrize("answer", ["", "n"])
def test_the_token_of_gh_is_copied_if_the_person_agrees(answers, answer):
    draft = ask_github_token(ON_GITHUB, Settings(), answers(answer))
    file = secret_file("github.com.token")
    assert draft.token_file == (None if answer else file)
    assert file.exists() == (not answer)
    assert TOKEN not in str(draft)


def test_without_anybody_to_ask_no_token_is_copied(home):
    draft = ask_github_token(ON_GITHUB, Settings(), Questions(use_defaults=True))
    assert ask_model_key(draft, Settings(), Questions(use_defaults=True)) == ON_GITHUB
    assert not (home / ".config").exists()


def test_a_credential_of_the_environment_is_used_where_it_is(answers, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    ask = answers()
    assert ask_model_key(ask_github_token(ON_GITHUB, Settings(), ask), Settings(), ask) == ON_GITHUB
    said = capsys.readouterr().out
    assert "The agent uses ANTHROPIC_API_KEY of your environment" in said
    assert "secret" not in said


def test_what_an_earlier_init_has_kept_is_used_again(answers):
    keep_secret(secret_file("github.com.token"), "one")
    keep_secret(secret_file("model.key"), "two")
    ask = answers()
    draft = ask_model_key(ask_github_token(ON_GITHUB, Settings(), ask), Settings(), ask)
    assert (draft.token_file, draft.key_file) == (secret_file("github.com.token"), secret_file("model.key"))
    assert ask.left == 5


@pytest.mark.parametrize("wrong", ["two words of a key", "short", "schlüsselschlüssel"])
def test_what_cannot_be_a_key_is_asked_for_again(answers, wrong, capsys):
    draft = ask_model_key(ON_GITHUB, Settings(), answers(wrong, "sk-ant-api-secret"))
    assert draft.key_file and draft.key_file.read_text() == "sk-ant-api-secret"
    assert "This is not a key." in capsys.readouterr().out
