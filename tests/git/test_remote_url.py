"""Remote URLs of every form are parsed as git does."""

import pytest

from bot.git.remote_url import parse_remote_url


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git",
        "https://github.com/acme/shop/",
        "https://www.github.com/acme/shop.git",
        "https://ana:secret@github.com/acme/shop.git",
        "http://github.com/acme/shop.git",
        "git://github.com/acme/shop.git",
        "git@github.com:acme/shop.git",
        "github.com:acme/shop",
        "git@github.com:/acme/shop.git",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git+ssh://git@GitHub.com/acme/shop.git",
        "  git@github.com:acme/shop.git\n",
    ],
)
def test_every_form_of_a_github_address_is_parsed(text: str):
    found = parse_remote_url(text)
    assert found is not None
    assert (found.host, found.repository, found.is_github) == ("github.com", "acme/shop", True)
    assert found.api_url == "https://api.github.com"


@pytest.mark.parametrize(
    ("text", "site", "api"),
    [
        ("https://code.acme.example/acme/shop.git", "https://code.acme.example", "https://code.acme.example/api/v3"),
        (
            "https://code.acme.example:8443/a/b",
            "https://code.acme.example:8443",
            "https://code.acme.example:8443/api/v3",
        ),
        ("ssh://git@code.acme.example:2222/a/b", "https://code.acme.example", "https://code.acme.example/api/v3"),
        ("git@code.acme.example:a/b.git", "https://code.acme.example", "https://code.acme.example/api/v3"),
        ("git@acme.ghe.com:a/b.git", "https://acme.ghe.com", "https://api.acme.ghe.com"),
    ],
)
def test_the_api_address_of_an_enterprise_server_is_derived(text: str, site: str, api: str):
    found = parse_remote_url(text)
    assert found is not None
    assert (found.site, found.api_url) == (site, api)


@pytest.mark.parametrize("text", ["", "/srv/git/shop.git", "../shop", "file:///srv/git/shop.git", "shop", "C:/shop"])
def test_a_local_path_is_no_remote_address(text: str):
    assert parse_remote_url(text) is None


def test_a_path_that_is_not_owner_and_name_names_no_repository():
    found = parse_remote_url("https://gitlab.com/group/sub/shop.git")
    assert found is not None
    assert (found.path, found.repository) == ("group/sub/shop", "")


def test_a_password_in_an_address_is_dropped():
    assert "secret" not in repr(parse_remote_url("https://ana:secret@github.com/acme/shop.git"))


def test_an_ssh_alias_can_be_resolved_to_its_real_host():
    alias = parse_remote_url("git@work:acme/shop.git")
    assert alias is not None
    assert alias.on("github.com").api_url == "https://api.github.com"
