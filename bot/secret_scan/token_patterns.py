"""What the keys of well-known makers look like.

Rule: linear. Every pattern begins with something rare and repeats nothing without a limit.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.secret_scan.entropy import entropy, is_placeholder, is_random

_ALONE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Not in the middle of a word; but a line end may be escaped before it."""


@dataclass(frozen=True, slots=True)
class _Maker:
    kind: str
    marks: tuple[str, ...]
    """One of these is in every text that has one: looked for first, being much quicker."""
    key: re.Pattern[str]
    """Its only group is what chance made of it."""


def _maker(kind: str, marks: str, pattern: str) -> _Maker:
    return _Maker(kind, tuple(marks.split()), re.compile(pattern))


_MAKERS = (
    _maker("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_|github_pat_)([A-Za-z0-9_]{30,255})"),
    _maker(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- glimt- gloas- glrtr-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas|rtr)-([A-Za-z0-9_-]{20,255})",
    ),
    _maker("AWS access key", "AKIA ASIA ABIA ACCA", _ALONE + r"(?:AKIA|ASIA|ABIA|ACCA)([A-Z0-9]{16})(?![A-Za-z0-9])"),
    _maker(
        "AWS secret key",
        "aws AWS Aws secret_access_key secretaccesskey SECRET_ACCESS_KEY SecretAccessKey secretAccessKey",
        r"(?i:aws.{0,20}(?:key|secret)|secret_?access_?key)['\"]?\s{0,3}(?:=>|[=:,])\s{0,3}['\"]?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _maker(
        "Google API key",
        "AIza",
        r"AIza([A-Za-z0-9_-]{35})(?![A-Za-z0-9_-])",
    ),
    _maker("Google OAuth secret", "GOCSPX-", r"GOCSPX-([A-Za-z0-9_-]{28})"),
    _maker("Google OAuth token", "ya29.", _ALONE + r"ya29\.([A-Za-z0-9_-]{30,255})"),
    _maker("Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    _maker("Azure client secret", "8Q~", r"[A-Za-z0-9_~.-]{3}8Q~([A-Za-z0-9_~.-]{31,34})"),
    _maker("Azure signature", "sig=", r"[?&;]sig=([A-Za-z0-9%+/]{43,80}(?:=|%3[dD]))"),
    _maker("Slack token", "xox", r"xox[abeoprs](?:\.xox[bp])?-([A-Za-z0-9-]{20,255})"),
    _maker("Slack app token", "xapp-", r"xapp-([A-Za-z0-9-]{40,255})"),
    _maker(
        "Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,255})"
    ),
    _maker("Stripe key", "k_live_ k_test_ k_prod_", r"[sr]k_(?:live|test|prod)_([A-Za-z0-9]{16,255})"),
    _maker("Stripe webhook secret", "whsec_", r"whsec_([A-Za-z0-9+/]{32,64})"),
    _maker("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-([A-Za-z0-9_-]{40,255})"),
    _maker("OpenAI key", "sk-", _ALONE + r"sk-([A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48})(?![A-Za-z0-9])"),
    _maker("Anthropic key", "sk-ant-", r"sk-ant-(?:[a-z]{3,8}[0-9]{2}-)?([A-Za-z0-9_-]{32,255})"),
    _maker("Hugging Face token", "hf_ api_org_", _ALONE + r"(?:hf_|api_org_)([A-Za-z0-9]{34,40})(?![A-Za-z0-9])"),
    _maker("npm token", "npm_", r"npm_([A-Za-z0-9]{36})(?![A-Za-z0-9])"),
    _maker("PyPI token", "pypi-A", r"pypi-A[A-Za-z0-9]{10}([A-Za-z0-9_-]{50,255})"),
    _maker("SendGrid key", "SG.", r"SG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
    _maker("Twilio key", "SK", _ALONE + r"SK([0-9a-f]{32})(?![A-Za-z0-9])"),
    _maker(
        "Twilio token",
        "twilio TWILIO Twilio",
        r"(?i:twilio.{0,20}(?:token|secret))['\"]?\s{0,3}[=:,]\s{0,3}['\"]?([0-9a-f]{32})(?![A-Za-z0-9])",
    ),
    _maker("Linear key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_([A-Za-z0-9]{32,64})"),
    _maker(
        "Discord token", ".", _ALONE + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.([A-Za-z0-9_-]{27,38})(?![\w.-])"
    ),
    _maker(
        "Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,80})"
    ),
    _maker("Telegram token", ":AA", _ALONE + r"[0-9]{8,10}:(AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])"),
    _maker("DigitalOcean token", "_v1_", r"do[opr]_v1_([0-9a-f]{64})"),
    _maker("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})"),
    _maker("Databricks token", "dapi", _ALONE + r"dapi([0-9a-f]{32})(?![A-Za-z0-9])"),
    _maker("Docker token", "dckr_", r"dckr_[op]at_([A-Za-z0-9_-]{27,64})"),
)
_LEAST_BITS = 3.0
_LONG = 20
"""Nobody types so long a password into a setting for tests."""

_JWT = re.compile(_ALONE + r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{4,8000}\.([A-Za-z0-9_-]{40,1400})")
_SHOWN_EVERYWHERE = ("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ")
"""The signatures of the example that every text about them has."""

_PEM = re.compile(r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(
    r"(?:[^A-Za-z0-9+/]|\\[nr]){1,40}"
    r"(?:[A-Z][A-Za-z-]{2,20}: [^\n]{0,200}\n[^A-Za-z0-9+/]{0,40}){0,4}([A-Za-z0-9+/]{40,100})"
)

_URL = re.compile(r"(?<=[a-z0-9])://[^\s:/@'\"<>]{0,100}:([^\s/@'\"<>]{3,200})@(\[?[A-Za-z0-9_.:-]{1,200})")
_MADE_UP = re.compile(
    r"(?:my|super|very|s3)?(?:passw(?:or)?d|pass|pwd?|secret|token|user(?:name)?|admin|root|guest|testing|credentials|key"
    r"|api_?key|changeme|postgres|mysql|rabbitmq|mongo|redis|minio|docker|foo|bar|baz|x-oauth-basic|secure)*[0-9!]{0,4}",
    re.IGNORECASE,
)
_HERE = re.compile(
    r"(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[?::1|10\.[\d.]+|192\.168\.[\d.]+|[\w-]+|(?:[\w-]+\.)*example(?:\.\w+)?"
    r"|(?:[\w-]+\.)*(?:test|invalid|localhost|local|internal))(?::\d*)?",
    re.IGNORECASE,
)


def find_all(text: str) -> Iterator[tuple[str, int]]:
    """What it is, and where in the text."""
    for maker in _MAKERS:
        if any(mark in text for mark in maker.marks):
            real = (match for match in maker.key.finditer(text) if _is_real(match[1]))
            yield from ((maker.kind, match.start()) for match in real)
    yield from _signed(text) if "eyJ" in text else ()
    yield from _private_keys(text)
    yield from _urls(text)


def _signed(text: str) -> Iterator[tuple[str, int]]:
    for match in _JWT.finditer(text):
        if match[1] not in _SHOWN_EVERYWHERE and _is_real(match[1]):
            yield "JSON web token", match.start()


def _private_keys(text: str) -> Iterator[tuple[str, int]]:
    """Its first line alone is in many texts about keys."""
    for match in _PEM.finditer(text):
        body = _PEM_BODY.match(text, match.end())
        if body and _is_real(body[1]):
            yield "private key", match.start()


def _urls(text: str) -> Iterator[tuple[str, int]]:
    for match in _URL.finditer(text):
        password, host = match.groups()
        if _MADE_UP.fullmatch(password) or is_placeholder(password) or set(password) & set("${}()*[]\\`|;"):
            continue
        if (len(password) >= _LONG and is_random(password)) or not _HERE.fullmatch(host):
            yield "password in a URL", match.start()


def _is_real(value: str) -> bool:
    return entropy(value) >= _LEAST_BITS and not is_placeholder(value)
