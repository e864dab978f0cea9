"""What the bot says about checks, conflicts and the base. Pure text in, text out.

Names of checks and what they print come from outside: they are shown as such, and cut.
"""

import re
from collections.abc import Sequence

from bot.domain.policy import Policy
from bot.domain.pull_request import CheckState, FailedCheck, PullRequest
from bot.domain.run import Phase, Run
from bot.engine.quoting import inline, quote

CHECKS = "**Checks:**"
"""How the paragraph of a pull request's text begins that is kept up to date."""
_LISTED = 20
_URL = re.compile(r"https?://[^\s()<>\[\]\"'`]+")


def of_pull_request(pull: PullRequest) -> str:
    """Empty: there is nothing to say."""
    told = " ".join(part for part in (_checks(pull), _conflict(pull)) if part)
    failed = [_line(check) for check in pull.checks.failed[:_LISTED]] if pull.checks.state is CheckState.RED else []
    more = len(pull.checks.failed) - len(failed) if failed else 0
    return "\n".join([f"{CHECKS} {told}", *failed, *([f"- and {more} more"] if more else [])]) if told else ""


def checks_stay_red(broken: Sequence[FailedCheck], fixes: int, policy: Policy) -> str:
    names = ", ".join(f"`{inline(check.name)}`" for check in broken[:_LISTED])
    tried = f"{fixes} turn{'s' if fixes != 1 else ''} spent on that did not help, and more I am not to spend"
    why = tried if policy.ci_fixes else "I am not to mend checks by myself"
    return f"Red on the newest commit, and not on the base: {names}. {why[0].upper()}{why[1:]} (`ci_fixes`)."


def nothing_mended(names: Sequence[str], words: str) -> str:
    listed = ", ".join(f"`{inline(name)}`" for name in names[:_LISTED])
    said = f"\n\nThe agent says:\n\n{quote(words)}" if words.strip() else ""
    return f"A turn was spent on the red checks{f' ({listed})' if listed else ''}. No file was changed.{said}"


def will_rebase(base: str) -> str:
    return f"Taking the newest `{inline(base)}` in. That is a merge: nobody's commits are rewritten."


def nothing_to_rebase() -> str:
    return "There is no open pull request to take the base into."


def no_rebase_before_the_plan() -> str:
    return "Not now: a plan comes first."


def no_rebase_now(run: Run) -> str:
    if run.phase is Phase.WORKING:
        return "An agent is at work in there. Say it again when the turn has ended."
    return f"Not now: {run.reason}."


def _checks(pull: PullRequest) -> str:
    checks, on = pull.checks, f"on `{pull.head[:10]}`"
    match checks.state:
        case CheckState.NONE:
            return ""
        case CheckState.PENDING:
            return f"⏳ running {on}."
        case CheckState.GREEN:
            return f"✅ {_count(checks.passed)} {on}."
        case CheckState.RED:
            return f"❌ {len(checks.failed)} failed, {checks.passed} passed {on}."


def _count(passed: int) -> str:
    return f"{passed} passed" if passed else "passed"


def _conflict(pull: PullRequest) -> str:
    return f"⚠️ Conflicts with `{inline(pull.base) or 'its base'}`." if pull.conflicts else ""


def _line(check: FailedCheck) -> str:
    link = f" ([details]({check.url}))" if _URL.fullmatch(check.url) else ""
    base = ", red on the base as well" if check.on_base else ""
    return f"- `{inline(check.name)}`{link}{base}"
