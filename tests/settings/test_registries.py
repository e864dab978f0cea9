"""Settings of a company: registries with their tokens, and its own authority."""

import os
import re

import pytest

from bot.errors import BadSettings
from bot.git.command import inherited_environment
from bot.sandbox.build import sandbox_rules
from bot.settings.credentials import ensure_registry_tokens, known_secrets, registry_tokens
from bot.settings.load import load
from tests.sandbox.fake_registry import Company


@pytest.fixture
def write(tmp_path):
    def writing(text: str):
        (tmp_path / "treehand.toml").write_text(text)
        return load(tmp_path / "treehand.toml")

    return writing


REGISTRY = '[[registries]]\nhost = "npm.example"\n'
SETTINGS = 'state_dir = "state"\nsandbox.ca_file = "company-ca.pem"'


def test_the_token_of_a_registry_comes_from_a_variable_or_a_file(write, tmp_path, monkeypatch):
    monkeypatch.setenv("NPM_TOKEN", " from-the-variable ")
    (tmp_path / "token").write_text("user:from-the-file\n")

    assert registry_tokens(write(f'{REGISTRY}token_env = "NPM_TOKEN"')) == {"npm.example": "from-the-variable"}
    from_file = write(f'{REGISTRY}token_file = "token"\nauth = "basic"\npath = "/npm"')
    assert registry_tokens(from_file) == {"npm.example": "user:from-the-file"}
    (known,) = sandbox_rules(from_file).registries
    assert (str(known.host), known.auth, known.path) == ("npm.example:443", "basic", "/npm/")
    assert sandbox_rules(from_file).setup_hosts == {"npm.example"}
    assert {"user:from-the-file", "from-the-file"} <= set(known_secrets(from_file).values())


@pytest.mark.parametrize(
    ("token", "auth", "message"),
    [
        ("", "bearer", "There is no token for the registry npm.example: set the variable NPM_TOKEN"),
        ("two words", "bearer", "must be one line of plain ASCII."),
        ("a\nb: c", "bearer", "must be one line of plain ASCII."),
        ("tok\u00e9n", "bearer", "must be one line of plain ASCII."),
        ("password", "basic", 'must be `user:password` with `auth = "basic"`.'),
    ],
)
def test_a_token_that_cannot_be_sent_is_reported_without_its_text(write, monkeypatch, token, auth, message):
    monkeypatch.setenv("NPM_TOKEN", token)
    with pytest.raises(BadSettings, match=re.escape(message)) as refused:
        ensure_registry_tokens(write(f'{REGISTRY}token_env = "NPM_TOKEN"\nauth = "{auth}"'))
    assert not token or token not in str(refused.value).replace("`user:password`", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "company-ca.pem cannot be read: No such file or directory."),
        ("", "company-ca.pem contains no certificate. It must be a PEM file"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "contains a damaged certificate."),
    ],
)
def test_a_ca_file_that_cannot_be_used_is_reported(write, tmp_path, content, message):
    if content is not None:
        (tmp_path / "company-ca.pem").write_text(content)
    with pytest.raises(BadSettings, match=rf"^sandbox.ca_file: .*{re.escape(message)}"):
        write(SETTINGS)


def test_clients_of_the_host_and_its_git_trust_the_ca_file(write, tmp_path, monkeypatch):
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"):
        monkeypatch.setenv(name, "/nonexistent")
    company = Company(tmp_path)

    assert company.ca_file.exists()
    settings = write(SETTINGS)

    bundle = settings.state_dir / "authorities.pem"
    assert company.ca_file.read_text() in bundle.read_text()
    assert {os.environ[name] for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")} == {str(bundle)}
    assert inherited_environment()["GIT_SSL_CAINFO"] == str(bundle)
    before = bundle.read_text()
    write(SETTINGS)
    assert bundle.read_text() == before
