# ruff: noqa: E501 - lock files and minified programs have long lines
"""Random data without secrets: lock files, hashes, pictures, dummies. And invented secrets that look real.

Rule: deterministic; none of the secrets opens anything.
"""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.secret_scan.canaries import private_key

_WORDLIKE = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + "234567"
_HEX = "0123456789abcdef"
_URL = _WORDLIKE + "-_"
_NAMES = ("left-pad", "request", "tokenizer", "js-tokens", "secret-stack", "passport", "keyv", "@babel/core", "chalk")
_SOURCES = (
    "*.py",
    "*.js",
    "*.md",
    "*.txt",
    "*.json",
    "*.toml",
    "*.html",
    "*.css",
    "RECORD",
    "METADATA",
    "*.pyi",
    "*.lock",
)


def _sri(chance: random.Random) -> str:
    return "sha512-" + base64.b64encode(chance.randbytes(64)).decode()


def _npm(chance: random.Random) -> str:
    packages = {
        f"node_modules/{chance.choice(_NAMES)}-{number}": {
            "version": f"{number}.2.3",
            "resolved": f"https://packages.example/{chance.choice(_NAMES)}/-/{number}.tgz",
            "integrity": _sri(chance),
            "license": "MIT",
        }
        for number in range(60)
    }
    return json.dumps({"name": "shop", "lockfileVersion": 3, "packages": packages}, indent=2)


def _yarn(chance: random.Random) -> str:
    return "\n".join(
        f'"{name}@^{number}.0.1":\n  version "{number}.0.4"\n  resolved "https://packages.example/{name}.tgz#{chance.randbytes(20).hex()}"'
        f"\n  integrity {_sri(chance)}\n  checksum: {chance.randbytes(64).hex()}\n"
        for number, name in enumerate(_NAMES * 5)
    )


def _python_lock(chance: random.Random) -> str:
    return "\n".join(
        f'[[package]]\nname = "{name}"\nversion = "{number}.1"\nfiles = [\n'
        f'    {{file = "{name}-{number}.1-py3-none-any.whl", hash = "sha256:{chance.randbytes(32).hex()}"}},\n]\n'
        f'content-hash = "{chance.randbytes(32).hex()}"'
        for number, name in enumerate(_NAMES * 5)
    )


def _requirements(chance: random.Random) -> str:
    return "\n".join(
        f"{name}=={number}.1 \\\n    --hash=sha256:{chance.randbytes(32).hex()} \\\n    --hash=sha256:{chance.randbytes(32).hex()}"
        for number, name in enumerate(_NAMES * 5)
    )


def _cargo(chance: random.Random) -> str:
    return "\n".join(
        f'[[package]]\nname = "{name}"\nversion = "0.{number}.1"\nchecksum = "{chance.randbytes(32).hex()}"\n'
        for number, name in enumerate(_NAMES * 5)
    )


def _go_sum(chance: random.Random) -> str:
    return "\n".join(
        f"example.org/{name}/token v1.{number}.0{mod} h1:{base64.b64encode(chance.randbytes(32)).decode()}"
        for number, name in enumerate(_NAMES * 4)
        for mod in ("", "/go.mod")
    )


def _uuids(chance: random.Random) -> str:
    names = ("id", "user_id", "request_token", "session", "secret_id", "correlation-id", "token", "idempotency_key")
    return "\n".join(f'"{chance.choice(names)}": "{uuid.UUID(bytes=chance.randbytes(16))}",' for _ in range(60))


def _commits(chance: random.Random) -> str:
    return "\n".join(f"{chance.randbytes(20).hex()} Make the token and the password field wider" for _ in range(60))


def _workflow(chance: random.Random) -> str:
    uses = "\n".join(f"      - uses: actions/checkout@{chance.randbytes(20).hex()} # v4" for _ in range(20))
    return (
        f"jobs:\n  test:\n    steps:\n{uses}\n"
        "    env:\n      GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}\n      NPM_TOKEN: ${{ secrets.NPM_TOKEN_FOR_RELEASES_2024 }}\n"
        "      API_KEY: $API_KEY_FROM_VAULT_1\n      DATABASE_URL: postgres://postgres:postgres@localhost:5432/test\n"
    )


def _minified(chance: random.Random) -> str:
    letters = string.ascii_lowercase
    pieces = (
        lambda: (
            f"function {chance.choice(letters)}({chance.choice(letters)}){{return this.token={chance.choice(letters)}.token||null}}"
        ),
        lambda: f'{chance.choice(letters)}.password="{chance.choice(("text", "password", "current-password"))}",',
        lambda: f"e.exports={chance.choice(letters)}(0x{chance.getrandbits(24):x}),secretKey:n.secretKey.toString(16),",
        lambda: (
            f'tokenType:"{chance.choice(("Punctuator", "NumericLiteral", "StringLiteral2"))}",apiKey:t.options.apiKey2,'
        ),
        lambda: (
            f"var {chance.choice(letters)}={{token:{chance.choice(letters)}.getToken(e1,t2),authKey:r[14].authKey}};"
        ),
    )
    return "\n".join("".join(chance.choice(pieces)() for _ in range(40)) for _ in range(20))


def _svg(chance: random.Random) -> str:
    paths = (
        "".join(
            f"{chance.choice('MLCQAZmlcqaz')}{chance.uniform(-99, 99):.3f} {chance.uniform(-99, 99):.3f}"
            for _ in range(90)
        )
        for _ in range(20)
    )
    return "<svg>\n" + "\n".join(f'<path id="key{chance.getrandbits(20)}" d="{path}"/>' for path in paths) + "\n</svg>"


def _pictures(chance: random.Random) -> str:
    drawn = (base64.b64encode(chance.randbytes(chance.randint(60, 3000))).decode() for _ in range(20))
    return "\n".join(f'<img alt="token" src="data:image/png;base64,{one}">' for one in drawn)


def _dummies(_: random.Random) -> str:
    return """
API_KEY=your-api-key-here-1234567890
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
OPENAI_API_KEY=sk-...
ANTHROPIC_API_KEY=sk-ant-api03-your-key-goes-here-and-never-into-git
token = "test-token-1234567890abcdef"
password = "correct-horse-battery-staple"
password: hunter2hunter2
secret_key = "django-insecure-change-me-0000000000"
SECRET = os.environ["SESSION_SECRET_V2"]
token = response.json()["access_token_v2"]
const apiKey = process.env.STRIPE_API_KEY_V2;
postgres://user:password@db.example.com:5432/shop
redis://:${REDIS_PASSWORD}@cache.internal:6379/0
https://<token>@github.com/owner/name.git
amqp://guest:guest@localhost:5672/
mysql://root:root@127.0.0.1/test
https://x-access-token:%s@github.com
token: eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c
PEM = re.compile("-----BEGIN RSA PRIVATE KEY-----")
def token_for(self, repository: str, *, anew: bool = False) -> str:
authorization: Bearer <your token, 40 letters>
password_hash = "$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW"
"""


ORDINARY: dict[str, Callable[[random.Random], str]] = {
    "package-lock.json": _npm,
    "yarn.lock": _yarn,
    "poetry.lock": _python_lock,
    "requirements.lock": _requirements,
    "Cargo.lock": _cargo,
    "go.sum": _go_sum,
    "uuids.json": _uuids,
    "log.txt": _commits,
    "ci.yml": _workflow,
    "app.min.js": _minified,
    "logo.svg": _svg,
    "page.html": _pictures,
    "env.example": _dummies,
}


def ordinary_files(each: int) -> Iterator[tuple[str, str]]:
    for name, make in ORDINARY.items():
        for number in range(1 if make is _dummies else each):
            yield f"{number}/{name}", make(random.Random(f"{name} {number}"))


def real_files(folders: list[Path], most: int) -> Iterator[tuple[str, str]]:
    """Returns text files of this machine, evenly selected."""
    found = sorted({path for folder in folders for kind in _SOURCES for path in folder.rglob(kind) if path.is_file()})
    for path in found[:: max(len(found) // most, 1)]:
        yield str(path), path.read_text(encoding="utf-8", errors="replace")


def _of(chance: random.Random, alphabet: str, count: int) -> str:
    return "".join(chance.choices(alphabet, k=count))


SECRETS: dict[str, Callable[[random.Random], str]] = {
    "GitHub classic": lambda c: f"token: gh{c.choice('pousr')}_{_of(c, _WORDLIKE, 36)}",
    "GitHub fine-grained": lambda c: f"github_pat_{_of(c, _WORDLIKE, 22)}_{_of(c, _WORDLIKE, 59)}",
    "GitLab": lambda c: f"export T=glpat-{_of(c, _URL, 20)}",
    "AWS access": lambda c: f'"{c.choice(("AKIA", "ASIA"))}{_of(c, _UPPER, 16)}"',
    "AWS secret": lambda c: f"aws_secret_access_key = {_of(c, _WORDLIKE + '/+', 40)}",
    "Google": lambda c: f"key=AIza{_of(c, _URL, 35)}&q=tea",
    "Google OAuth": lambda c: f'"client_secret":"GOCSPX-{_of(c, _URL, 28)}"',
    "Azure storage": lambda c: (
        f"AccountName=a;AccountKey={base64.b64encode(c.randbytes(64)).decode()};EndpointSuffix=b"
    ),
    "Azure client": lambda c: f"secret={_of(c, _WORDLIKE, 3)}8Q~{_of(c, _WORDLIKE + '-_.', 34)}",
    "Slack bot": lambda c: f"xoxb-{c.randrange(10**12, 10**13)}-{c.randrange(10**12, 10**13)}-{_of(c, _WORDLIKE, 24)}",
    "Slack webhook": lambda c: (
        f"https://hooks.slack.com/services/T{_of(c, _UPPER, 8)}/B{_of(c, _UPPER, 10)}/{_of(c, _WORDLIKE, 24)}"
    ),
    "Stripe": lambda c: f"{c.choice('sr')}k_live_{_of(c, _WORDLIKE, c.choice((24, 99)))}",
    "OpenAI": lambda c: f"sk-proj-{_of(c, _URL, 74)}T3BlbkFJ{_of(c, _URL, 74)}",
    "OpenAI classic": lambda c: f"'sk-{_of(c, _WORDLIKE, 20)}T3BlbkFJ{_of(c, _WORDLIKE, 20)}'",
    "Anthropic": lambda c: f"sk-ant-{c.choice(('api03', 'admin01', 'oat01'))}-{_of(c, _URL, 93)}AA",
    "Hugging Face": lambda c: f"hf_{_of(c, string.ascii_letters, 34)}",
    "npm": lambda c: f"//packages.example/:_authToken=npm_{_of(c, _WORDLIKE, 36)}",
    "PyPI": lambda c: f"password = pypi-AgEIcHlwaS5vcmc{_of(c, _URL, 150)}",
    "SendGrid": lambda c: f"SG.{_of(c, _URL, 22)}.{_of(c, _URL, 43)}",
    "Twilio": lambda c: f"sid = 'SK{_of(c, _HEX, 32)}'",
    "Twilio token": lambda c: f"TWILIO_AUTH_TOKEN={_of(c, _HEX, 32)}",
    "Linear": lambda c: f"lin_api_{_of(c, _WORDLIKE, 40)}",
    "Discord": lambda c: f"{c.choice('MNO')}{_of(c, _URL, 25)}.{_of(c, _URL, 6)}.{_of(c, _URL, 38)}",
    "Telegram": lambda c: f"bot{c.randrange(10**9, 10**10)}:AA{_of(c, _URL, 33)}".removeprefix("bot"),
    "JWT": lambda c: f"Bearer eyJhbGciOiJIUzI1NiJ9.eyJ{_of(c, _URL, 60)}.{_of(c, _URL, 43)}",
    "private key": private_key,
    "private key in JSON": lambda c: json.dumps({"private_key": private_key(c)}),
    "URL": lambda c: f"postgres://shop:{_of(c, _WORDLIKE, 14)}@db.prod.teashop.org:5432/shop",
    "named, quoted": lambda c: f'API_KEY = "{_of(c, _WORDLIKE, 32)}"',
    "named, JSON": lambda c: f'  "clientSecret": "{_of(c, _URL, 40)}",',
    "named, YAML": lambda c: f"session_secret: {c.randbytes(32).hex()}",
    "named, env": lambda c: f"export AUTH_TOKEN={base64.b64encode(c.randbytes(24)).decode()}",
    "named, header": lambda c: f'curl -H "Authorization: Bearer {_of(c, _URL, 40)}" https://api.teashop.org',
    "password": lambda c: f'password = "{_of(c, _WORDLIKE, 9)}#{_of(c, _WORDLIKE, 5)}7aZ"',
}


def real_looking_secrets(count: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(7)
    for number in range(count):
        name = list(SECRETS)[number % len(SECRETS)]
        yield name, SECRETS[name](chance)
