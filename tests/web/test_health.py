"""Health: all we depend on, and what still works."""

from bot.app import store_of
from bot.domain.health import Ailment, Health
from bot.settings import Limits
from tests.web.house import open_house


async def test_what_is_well_is_shown_with_how_it_is(house):
    page = (await house.page("/health")).text
    assert all(text in page for text in ("disk", "GB free", "sandbox", "model", "embedded tracker and forge"))
    assert "not well" not in page


async def test_what_is_not_well_comes_first_and_says_what_still_works(tmp_path):
    async with open_house(tmp_path, limits=Limits(free_disk_gb=1e9)) as house:
        page = (await house.page("/health")).text
        assert page.index("not well") < page.index("sandbox")
        assert "nothing new starts before there is room" in page
        assert "disk: only" in (await house.page("/")).text


async def test_what_only_the_daemon_knows_is_shown_by_it(house):
    store = store_of(house.settings)
    store.tidings.note([Ailment(Health("gate", ok=True, detail="the model answers agents"), 1.0)], ())
    store.close()
    assert "the model answers agents" in (await house.page("/health")).text
