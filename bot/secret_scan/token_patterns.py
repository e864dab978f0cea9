"""Token formats of well-known services: one regular expression for each. Add new ones to `_TOKEN_PATTERNS`.

Rule: linear time. Every pattern begins with a rare string and has no unbounded repetition.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.secret_scan.entropy import entropy, is_placeholder, is_random

_NOT_IN_WORD = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Not in the middle of a word, except after an escaped line end."""


@dataclass(frozen=True, slots=True)
class _TokenPattern:
    kind: str
    substrings: tuple[str, ...]
    """Every match contains one of these; searching for them first is much faster."""
    regex: re.Pattern[str]
    """Its only group is the random part."""


def _token(kind: str, substrings: str, regex: str) -> _TokenPattern:
    return _TokenPattern(kind, tuple(substrings.split()), re.compile(regex))


_TOKEN_PATTERNS = (
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_|github_pat_)([A-Za-z0-9_]{30,255})"),
    _token(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- glimt- gloas- glrtr-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas|rtr)-([A-Za-z0-9_-]{20,255})",
    ),
    _token(
        "AWS access key", "AKIA ASIA ABIA ACCA", _NOT_IN_WORD + r"(?:AKIA|ASIA|ABIA|ACCA)([A-Z0-9]{16})(?![A-Za-z0-9])"
    ),
    _token(
        "AWS secret key",
        "aws AWS Aws secret_access_key secretaccesskey SECRET_ACCESS_KEY SecretAccessKey secretAccessKey",
        r"(?i:aws.{0,20}(?:key|secret)|secret_?access_?key)['\"]?\s{0,3}(?:=>|[=:,])\s{0,3}['\"]?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _token(
        "Google API key",
        "AIza",
        r"AIza([A-Za-z0-9_-]{35})(?![A-Za-z0-9_-])",
    ),
    _token("Google OAuth secret", "GOCSPX-", r"GOCSPX-([A-Za-z0-9_-]{28})"),
    _token("Google OAuth token", "ya29.", _NOT_IN_WORD + r"ya29\.([A-Za-z0-9_-]{30,255})"),
    _token("Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    _token("Azure client secret", "8Q~", r"[A-Za-z0-9_~.-]{3}8Q~([A-Za-z0-9_~.-]{31,34})"),
    _token("Azure signature", "sig=", r"[?&;]sig=([A-Za-z0-9%+/]{43,80}(?:=|%3[dD]))"),
    _token("Slack token", "xox", r"xox[abeoprs](?:\.xox[bp])?-([A-Za-z0-9-]{20,255})"),
    _token("Slack app token", "xapp-", r"xapp-([A-Za-z0-9-]{40,255})"),
    _token(
        "Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,255})"
    ),
    _token("Stripe key", "k_live_ k_test_ k_prod_", r"[sr]k_(?:live|test|prod)_([A-Za-z0-9]{16,255})"),
    _token("Stripe webhook secret", "whsec_", r"whsec_([A-Za-z0-9+/]{32,64})"),
    _token("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-([A-Za-z0-9_-]{40,255})"),
    _token(
        "OpenAI key",
        "sk-",
        _NOT_IN_WORD + r"sk-([A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48})(?![A-Za-z0-9])",
    ),
    _token("Anthropic key", "sk-ant-", r"sk-ant-(?:[a-z]{3,8}[0-9]{2}-)?([A-Za-z0-9_-]{32,255})"),
    _token("Hugging Face token", "hf_ api_org_", _NOT_IN_WORD + r"(?:hf_|api_org_)([A-Za-z0-9]{34,40})(?![A-Za-z0-9])"),
    _token("npm token", "npm_", r"npm_([A-Za-z0-9]{36})(?![A-Za-z0-9])"),
    _token("PyPI token", "pypi-A", r"pypi-A[A-Za-z0-9]{10}([A-Za-z0-9_-]{50,255})"),
    _token("SendGrid key", "SG.", r"SG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
    _token("Twilio key", "SK", _NOT_IN_WORD + r"SK([0-9a-f]{32})(?![A-Za-z0-9])"),
    _token(
        "Twilio token",
        "twilio TWILIO Twilio",
        r"(?i:twilio.{0,20}(?:token|secret))['\"]?\s{0,3}[=:,]\s{0,3}['\"]?([0-9a-f]{32})(?![A-Za-z0-9])",
    ),
    _token("Linear key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_([A-Za-z0-9]{32,64})"),
    _token(
        "Discord token",
        ".",
        _NOT_IN_WORD + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.([A-Za-z0-9_-]{27,38})(?![\w.-])",
    ),
    _token(
        "Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,80})"
    ),
    _token("Telegram token", ":AA", _NOT_IN_WORD + r"[0-9]{8,10}:(AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])"),
    _token("DigitalOcean token", "_v1_", r"do[opr]_v1_([0-9a-f]{64})"),
    _token("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})"),
    _token("Databricks token", "dapi", _NOT_IN_WORD + r"dapi([0-9a-f]{32})(?![A-Za-z0-9])"),
    _token("Docker token", "dckr_", r"dckr_[op]at_([A-Za-z0-9_-]{27,64})"),
)
_MINIMUM_ENTROPY = 3.0
_LONG_PASSWORD = 20
"""Characters; test settings have shorter passwords."""

_JWT = re.compile(
    r"(?<![A-Za-z0-9_-])(?P<header>[A-Za-z0-9_-]{13,})\.eyJ[A-Za-z0-9_-]{4,8000}\.(?P<signature>[A-Za-z0-9_-]{40,1400})"
)
_JWT_HEADER = re.compile(_NOT_IN_WORD + r"eyJ[A-Za-z0-9_-]{10,}")
_EXAMPLE_SIGNATURES = ("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ")
"""Signatures of the example tokens in JWT documentation."""

_PEM = re.compile(r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(
    r"(?:[^A-Za-z0-9+/]|\\[nr]){1,40}"
    r"(?:[A-Z][A-Za-z-]{2,20}: [^\n]{0,200}\n[^A-Za-z0-9+/]{0,40}){0,4}([A-Za-z0-9+/]{40,100})"
)

_URL = re.compile(r"(?<=[a-z0-9])://[^\s:/@'\"<>]{0,100}:([^\s/@'\"<>]{3,200})@(\[?[A-Za-z0-9_.:-]{1,200})")
_EXAMPLE_PASSWORD = re.compile(
    r"(?:my|super|very|s3)?(?:passw(?:or)?d|pass|pwd?|secret|token|user(?:name)?|admin|root|guest|testing|credentials|key"
    r"|api_?key|changeme|postgres|mysql|rabbitmq|mongo|redis|minio|docker|foo|bar|baz|x-oauth-basic|secure)*[0-9!]{0,4}",
    re.IGNORECASE,
)
_LOCAL_HOST = re.compile(
    r"(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[?::1|10\.[\d.]+|192\.168\.[\d.]+|[\w-]+|(?:[\w-]+\.)*example(?:\.\w+)?"
    r"|(?:[\w-]+\.)*(?:test|invalid|localhost|local|internal))(?::\d*)?",
    re.IGNORECASE,
)


def find_tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yields the kind of each token and its position in the text."""
    for pattern in _TOKEN_PATTERNS:
        if any(one in text for one in pattern.substrings):
            real = (match for match in pattern.regex.finditer(text) if _is_real(match[1]))
            yield from ((pattern.kind, match.start()) for match in real)
    yield from _find_web_tokens(text) if "eyJ" in text else ()
    yield from _find_private_keys(text)
    yield from _find_url_passwords(text)


def _find_web_tokens(text: str) -> Iterator[tuple[str, int]]:
    for match in _JWT.finditer(text):
        header = _JWT_HEADER.search(text, *match.span("header"))
        if header and match["signature"] not in _EXAMPLE_SIGNATURES and _is_real(match["signature"]):
            yield "JSON web token", header.start()


def _find_private_keys(text: str) -> Iterator[tuple[str, int]]:
    """Requires key material: the header line alone is common in documentation."""
    for match in _PEM.finditer(text):
        body = _PEM_BODY.match(text, match.end())
        if body and _is_real(body[1]):
            yield "private key", match.start()


def _find_url_passwords(text: str) -> Iterator[tuple[str, int]]:
    for match in _URL.finditer(text):
        password, host = match.groups()
        if _EXAMPLE_PASSWORD.fullmatch(password) or is_placeholder(password) or set(password) & set("${}()*[]\\`|;"):
            continue
        if (len(password) >= _LONG_PASSWORD and is_random(password)) or not _LOCAL_HOST.fullmatch(host):
            yield "password in a URL", match.start()


def _is_real(value: str) -> bool:
    return entropy(value) >= _MINIMUM_ENTROPY and not is_placeholder(value)
