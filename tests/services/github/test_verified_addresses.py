"""Logins of collaborators by their verified e-mail address."""

from tests.services.github.github_bot import REPO, Bot


async def test_a_login_is_found_by_its_published_address(bot):
    bot.world.addresses = {"ana": "Ana@acme.example", "tom": "tom@acme.example"}
    assert await bot.repository.login_of("ana@ACME.example") == "ana"
    assert await bot.repository.may_push("ana")
    assert await bot.repository.login_of("tom@acme.example") == "tom"
    assert not await bot.repository.may_push("tom")


async def test_an_address_shown_by_no_login_or_by_two_is_unknown(bot):
    bot.world.set_permission(REPO, "ana2", "write")
    bot.world.addresses = {"ana": "ana@acme.example", "ana2": "ana@acme.example"}
    assert await bot.repository.login_of("ana@acme.example") == ""
    assert await bot.repository.login_of("bob@acme.example") == ""
    assert await bot.repository.login_of("") == ""


async def test_addresses_are_read_page_by_page_and_once_in_ten_minutes(bot):
    for number in range(120):
        bot.world.set_permission(REPO, f"p{number}", "write")
    bot.world.addresses = {"p119": "last@acme.example"}
    assert await bot.repository.login_of("last@acme.example") == "p119"
    asked = len(bot.requests())
    assert asked >= 2
    assert await bot.repository.login_of("other@acme.example") == ""
    assert bot.requests() == []


async def test_a_token_without_access_to_addresses_finds_no_login(github, tmp_path):
    github.world.set_permission(REPO, "reader", "read")
    github.world.addresses = {"ana": "ana@acme.example"}
    bot = Bot(github, tmp_path, token=github.token_for("reader"))
    assert await bot.repository.login_of("ana@acme.example") == ""
    bot.close()
