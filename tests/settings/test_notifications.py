"""Settings for notifications and the log: their effect, and the errors for mistakes."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.notification import NotificationKind
from bot.errors import BadSettings
from bot.secret_scan.build import load_secrets
from bot.settings.credentials import notify_urls
from bot.settings.load import load
from bot.status.build_notifier import build_notifier, channel_findings
from bot.store.runs import RunStore
from tests.notifications.stand_ins import Hook, hook

SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.delenv("TREEHAND_NOTIFY__URLS", raising=False)

    def written(toml: str):
        (tmp_path / "treehand.toml").write_text(toml)
        return load(tmp_path / "treehand.toml")

    return written


@pytest.fixture
def web() -> Iterator[Hook]:
    with hook() as there:
        yield there


def test_addresses_come_from_the_environment_a_file_or_the_settings_in_this_order(write, tmp_path, monkeypatch):
    (tmp_path / "whom").write_text("json://file.example.com\n\njson://other.example.com\n")
    assert notify_urls(write('[notify]\nurls = ["json://toml.example.com"]')) == ("json://toml.example.com",)
    settings = write('[notify]\nurls = ["json://toml.example.com"]\nurls_file = "whom"')
    assert notify_urls(settings) == ("json://file.example.com", "json://other.example.com")
    monkeypatch.setenv("TREEHAND_NOTIFY__URLS", "json://a.example.com json://b.example.com/x,y")
    assert notify_urls(load(tmp_path / "treehand.toml")) == ("json://a.example.com", "json://b.example.com/x,y")
    monkeypatch.setenv("TREEHAND_NOTIFY__URLS", '["json://a.example.com"]')
    assert notify_urls(settings) == ("json://a.example.com",)
    monkeypatch.setenv("TREEHAND_NOTIFY__URLS", '["json://a')
    with pytest.raises(BadSettings, match="a list in JSON") as caught:
        notify_urls(settings)
    assert "json://a" not in str(caught.value)


def test_a_mistake_in_the_addresses_does_not_repeat_them(write):
    with pytest.raises(BadSettings) as caught:
        write(f'notify.urls = "{SLACK}"')
    assert "notify.urls" in str(caught.value)
    assert "TIiajkdnlazkcOXrIdevi7FQ" not in str(caught.value)


def test_secrets_in_an_address_are_redacted(write, monkeypatch):
    monkeypatch.setenv(
        "TREEHAND_NOTIFY__URLS", f"{SLACK} mailtos://ana:correct-horse@mail.example.com?to=ana@example.com"
    )
    redact = load_secrets(write("")).redact
    for said in ("POST /TIiajkdnlazkcOXrIdevi7FQ", "login correct-horse", SLACK):
        assert "redacted" in redact(said)
        assert not {"TIiajkdnlazkcOXrIdevi7FQ", "correct-horse"} & set(redact(said).split("/"))
    assert redact("mail.example.com does not answer") == "mail.example.com does not answer"


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('notify.on = ["merged"]', "notify.on"),
        ('notify.quiet = "22-7"', "use HH:MM-HH:MM"),
        ('notify.quiet = "24:00-07:00"', "use HH:MM-HH:MM"),
        ('notify.zone = "Atlantis"', "use a time zone"),
        ('notify.zone = "../../etc/passwd"', "use a time zone"),
        ("notify.digest_minutes = -1", "greater than or equal to 0"),
        ('notify.link = "javascript:alert(1)"', "use the address of the dashboard"),
        ('log.format = "xml"', "'text' or 'json'"),
        ('log.level = "loud"', "'debug', 'info'"),
    ],
)
def test_an_invalid_value_is_refused_with_the_fix(write, toml, said):
    with pytest.raises(BadSettings, match=said):
        write(toml)


def test_notification_preferences_come_from_the_settings(write, tmp_path):
    settings = write(
        '[notify]\non = ["failed", "trouble"]\nquiet = "22:00-07:00"\nzone = "Asia/Tokyo"\ndigest_minutes = 5\n'
    )
    store = RunStore.open(tmp_path / "treehand.db")
    preferences = build_notifier(settings, store, str).preferences
    assert preferences.on == {NotificationKind.FAILED, NotificationKind.TROUBLE}
    assert preferences.quiet
    assert (preferences.quiet.begin, preferences.quiet.end, str(preferences.quiet.zone)) == (
        22 * 60,
        7 * 60,
        "Asia/Tokyo",
    )
    assert preferences.digest_seconds == 300
    assert build_notifier(write(""), store, str).preferences.quiet is None
    store.close()


def test_the_link_setting_is_in_every_message(write, tmp_path, web):
    settings = write(
        f'state_dir = "state"\n[notify]\nlink = "https://bot.example.com/"\nurls = ["{web.url}"]\n'
        '[[projects]]\nname = "shop"\nrepository = "owner/shop"\ntracker = "local"\n'
    )
    assert settings.notify.link == "https://bot.example.com"
    composed = build_notifier(settings, RunStore.open(tmp_path / "treehand.db"), str).compose
    from bot.domain.notification import Notification
    from bot.engine.notifications import NotificationBatch

    (tmp_path / "state").mkdir()
    said = composed(NotificationBatch(1, (Notification(NotificationKind.ASKING, "shop#7/2", "x", 1.0, "why"),)))
    assert said.body == "shop#7 needs you\nwhy\nDashboard: https://bot.example.com/runs/shop%237"


def test_check_lists_channels_by_kind_and_host_and_sends_a_message_on_request(write, web, capsys):
    settings = write(f'notify.urls = ["{web.url}", "{SLACK}", "nonsense"]')
    found = channel_findings(settings, send_test=False)
    assert [(name, ok) for name, ok, _ in found] == [("notify/1", True), ("notify/2", True), ("notify/3", False)]
    assert [detail.split()[:2] for _, _, detail in found[:2]] == [["json", "127.0.0.1"], ["slack", "(`treehand"]]
    assert not {"a1b2c3d4e5f6", "A1BRTD4JD"} & set(" ".join(detail for _, _, detail in found).split("/"))
    assert web.got == []
    assert channel_findings(write(f'notify.urls = ["{web.url}"]'), send_test=True)[0][1:] == (
        True,
        "json 127.0.0.1: a message was sent",
    )
    assert [one["title"] for one in web.got] == ["Treehand: a test"]


def test_the_log_follows_the_format_and_level_settings(write, tmp_path):
    from bot.system import logs

    settings = write('log.format = "json"\nlog.level = "warning"')
    root = logging.getLogger()
    before, level, file = root.handlers[:], root.level, tmp_path / "log"
    logs.configure_logging(file=file, quiet=True, form=settings.log.format, level=settings.log.level)
    logging.getLogger("bot.test").info("small")
    logging.getLogger("bot.test").warning("large")
    for handler in set(root.handlers) - set(before):
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)
    assert [json.loads(line)["message"] for line in Path(file).read_text().splitlines()] == ["large"]
