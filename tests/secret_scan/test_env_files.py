"""Secret values are extracted from `.env` files, and common words are not."""

import time

import pytest

from bot.secret_scan.env_files import secrets_in
from bot.secret_scan.scanner import Secrets


def values(text: str) -> list[str]:
    return [value for _, value in secrets_in(".env", text)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("API_KEY=abcd-efgh-ijkl", ["abcd-efgh-ijkl"]),
        ("export DB_PASSWORD='swordfish'", ["swordfish"]),
        ('STRIPE="sk_live_51H8x" # ours', ["sk_live_51H8x"]),
        ("WEBHOOK=a1b2c3d4 # ours", ["a1b2c3d4"]),
        ("DATABASE_URL=postgres://app:hunter22@db/app", ["hunter22", "postgres://app:hunter22@db/app"]),
        ("  secret: v4lue-of-yaml  ", ["v4lue-of-yaml"]),
        ("SENTRY_DSN=https://0a1b@o1.ingest.example/7", ["https://0a1b@o1.ingest.example/7"]),
        ("NODE_ENV=development", []),
        ("PORT=3000", []),
        ("SECRET_KEY=changeme", []),
        ("DATABASE_URL=postgres://postgres:postgres@localhost:5432/shop", []),
        ("API_TOKEN=your-token-here", []),
        ("TOKEN=sk_test_4eC39HqLyjWD", ["sk_test_4eC39HqLyjWD"]),
        ("AWS_REGION=eu-west-1", []),
        ("DB_NAME=shop_dev1", []),
        ("STORAGE=LocalFileStorage", []),
        ("ADMIN=ana@example.com", []),
        ("ID=AKxQzWpLmTvRyBdH", ["AKxQzWpLmTvRyBdH"]),
        ("HOST=127.0.0.1", []),
        ("BASE_URL=http://localhost:3000/app", []),
        ("# API_KEY=abcd-efgh-ijkl", []),
        ("", []),
        ("just words", []),
    ],
)
def test_secrets_in_a_file_of_variables_are_recognized(line, found):
    assert values(line) == found


def test_long_lines_are_parsed_quickly():
    started = time.monotonic()
    assert values(f"X={'aB' * 20_000}!") == [f"{'aB' * 20_000}!"]
    assert values(f"X={'ab-' * 20_000}!") == [f"{'ab-' * 20_000}!"]
    assert values(f"X={'Ab' * 20_000}!") == [f"{'Ab' * 20_000}!"]
    assert time.monotonic() - started < 2


def test_a_private_key_is_one_secret():
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"
    assert values(key) == [key]
    secrets = Secrets()
    for name, value in secrets_in("dev.pem", key):
        secrets.keep(name, value)
    assert secrets.find("see MIIEvQIBADANBgkqhkiG9w0BAQEFAASC") == ("dev.pem",)


def test_kept_secrets_stay_known_after_many_learned_ones():
    secrets = Secrets()
    secrets.keep("A of .env", "first-of-all-9")
    for number in range(500):
        secrets.learn(f"token {number}", f"minted-token-{number:06}")
    assert secrets.find("here is first-of-all-9") == ("A of .env",)
