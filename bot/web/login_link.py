"""Login link: a code signed with the token that logs somebody in once, within ten minutes."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

LIFETIME_SECONDS = 600.0


def make_link(address: str, token: str, *, now: float) -> str:
    """`address` is the dashboard's own: `http://127.0.0.1:8700`."""
    content = f"{int(now + LIFETIME_SECONDS)}.{secrets.token_hex(8)}"
    return f"{address}/login?code={content}.{_signature(content, token)}"


@dataclass(slots=True)
class LoginLinks:
    """The codes that were used. A restart forgets them, but they end soon."""

    used: dict[str, float] = field(default_factory=dict)

    def use(self, code: str, token: str, *, now: float) -> bool:
        """Returns whether the code is one of ours, is not over, and is used for the first time."""
        content, _, signature = code.rpartition(".")
        if not hmac.compare_digest(signature.encode(), _signature(content, token).encode()):
            return False
        ends = float(content.partition(".")[0])
        self.used = {one: end for one, end in self.used.items() if end > now}
        is_good = now < ends and content not in self.used
        self.used[content] = ends
        return is_good


def _signature(content: str, token: str) -> str:
    return hmac.new(token.encode(), f"treehand login link\0{content}".encode(), hashlib.sha256).hexdigest()
