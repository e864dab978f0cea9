"""Messages about checks, conflicts, rebase and evidence. Pure text in, text out.

Rule: names of checks and their output come from outside: they are quoted, and cut.
"""

import re
from collections.abc import Sequence

from bot.domain.policy import Policy
from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest
from bot.domain.run import Phase, Run
from bot.domain.turn import TurnReport
from bot.text.quote_untrusted import code_span, quote

CHECKS = "**Checks:**"
"""Opening of the checks paragraph in a pull request's text."""
EVIDENCE = "**Evidence:**"
"""Opening of the evidence paragraph."""
_LISTED = 20
_MEGABYTE = 1_000_000
_URL = re.compile(r"https?://[A-Za-z0-9/.:?=%_~,;-]+(?:[&#+][A-Za-z0-9/.:?=%_~,;-]+)*")


def of_pull_request(pull: PullRequest, *, waits: str = "") -> str:
    """Checks paragraph; empty if nothing is known. `waits`: why CI has not started."""
    state = " ".join(part for part in (waits, _checks(pull), _conflict(pull)) if part)
    failed = [_line(check) for check in pull.checks.failed[:_LISTED]] if pull.checks.state is CheckState.RED else []
    more = len(pull.checks.failed) - len(failed) if failed else 0
    return "\n".join([f"{CHECKS} {state}", *failed, *([f"- and {more} more"] if more else [])]) if state else ""


def of_evidence(run: Run, turn: TurnReport) -> str:
    """Evidence paragraph; empty if there is none."""
    if not turn.evidence:
        return ""
    lines = [
        f"- {code_span(one.name)} ({one.media_type.partition(';')[0]}, {_size(one.size)})" for one in turn.evidence
    ]
    where = f"`treehand show {run.key}` prints where the files are"
    return "\n".join([f"{EVIDENCE} left by the agent and not reviewed; {where}.", *lines])


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= _MEGABYTE else f"{-(-count // 1000)} kB"


def checks_stay_red(broken: Sequence[FailedCheck], fixes: int, policy: Policy) -> str:
    names = ", ".join(f"{code_span(check.name)}" for check in broken[:_LISTED])
    tried = f"{fixes} turn{'s' if fixes != 1 else ''} did not fix that, which is the limit (`ci_fixes`)."
    why = tried if policy.ci_fixes else "`ci_fixes` is 0, so the agent fixes checks only if you ask."
    return f"Failed on the newest commit but not on the base: {names}. {why}"


def nothing_fixed(names: Sequence[str], words: str) -> str:
    listed = ", ".join(f"{code_span(name)}" for name in names[:_LISTED])
    summary = f"\n\nThe agent says:\n\n{quote(words)}" if words.strip() else ""
    return f"A turn was spent on the failed checks{f' ({listed})' if listed else ''}. No file was changed.{summary}"


def will_rebase(base: str) -> str:
    return f"Merging the newest {code_span(base)} into the branch. No commit is rewritten."


def nothing_to_rebase() -> str:
    return "There is no open pull request to merge the base into."


def no_rebase_before_the_plan() -> str:
    return "Not now: the agent has to propose a plan first."


def no_rebase_now(run: Run) -> str:
    if run.phase is Phase.WORKING:
        return "An agent is working in the worktree. Repeat the command when its turn has ended."
    return f"Not now: {run.reason}."


def _checks(pull: PullRequest) -> str:
    checks, on = pull.checks, f"on `{pull.head[:10]}`"
    if checks.unseen:
        return f"{_seen(checks)} {on}; {checks.unseen} cannot be seen with this token."
    match checks.state:
        case CheckState.NONE:
            return ""
        case CheckState.PENDING:
            return f"⏳ running {on}."
        case CheckState.GREEN:
            return f"✅ {_count(checks.passed)} {on}."
        case CheckState.RED:
            return f"❌ {len(checks.failed)} failed, {checks.passed} passed {on}."


def _seen(checks: Checks) -> str:
    """Without a mark that all is well: the rest is not known."""
    counts = ((len(checks.failed), "failed"), (checks.passed, "passed"), (checks.pending, "running"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "none seen"


def _count(passed: int) -> str:
    return f"{passed} passed" if passed else "passed"


def _conflict(pull: PullRequest) -> str:
    return f"⚠️ Conflicts with {code_span(pull.base or 'its base')}." if pull.conflicts else ""


def _line(check: FailedCheck) -> str:
    link = f" ([details]({check.url}))" if _URL.fullmatch(check.url) else ""
    base = ", failed on the base as well" if check.on_base else ""
    return f"- {code_span(check.name)}{link}{base}"
