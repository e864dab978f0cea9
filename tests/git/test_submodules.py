"""Submodules as .gitmodules lists them."""

from pathlib import Path

import pytest

from bot.git.submodules import git_dir_within, url_on_same_host

PARENT = "https://git.example/acme/shop.git"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("../lib.git", "https://git.example/acme/lib.git"),
        ("../../other/lib", "https://git.example/other/lib.git"),
        ("./lib", "https://git.example/acme/shop/lib.git"),
        ("https://git.example/acme/lib", "https://git.example/acme/lib.git"),
        ("git@git.example:acme/lib.git", "https://git.example/acme/lib.git"),
        ("https://elsewhere.example/acme/lib", ""),
        ("http://127.0.0.1/lib", ""),
        ("/etc", ""),
        ("file:///etc", ""),
        ("ext::sh -c true", ""),
        ("--upload-pack=true", ""),
        ("../../../../..", ""),
    ],
)
def test_a_submodule_is_fetched_from_the_host_of_its_repository_only(url, address):
    assert url_on_same_host(url, PARENT) == address


@pytest.mark.parametrize("parent", ["", "/srv/shop.git", "http://git.example/acme/shop.git"])
def test_nothing_is_fetched_for_a_repository_without_an_https_address(parent):
    assert url_on_same_host("../lib.git", parent) == ""


@pytest.mark.parametrize("name", ["", "../shop", "lib/../../shop", "/etc", "lib//x", "none"])
def test_a_name_that_leads_out_of_the_folder_names_no_git_directory(tmp_path: Path, name):
    for place in ("modules/lib", "shop", "modules"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "HEAD").write_text("x")
    assert git_dir_within(tmp_path / "modules", name) is None
    assert git_dir_within(tmp_path / "modules", "lib") == tmp_path / "modules" / "lib"
