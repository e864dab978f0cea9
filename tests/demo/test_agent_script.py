"""The script of the demo follows the comments, in any order."""

import pytest

from bot.demo.agent_script import CONFLICT, DISCOUNT, REDIRECT_DISCOUNT, agent_script
from bot.demo.messages_api import parse_request
from bot.demo.scripted_model import UseTool

RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "as it is"}


def basket_after(*said: str) -> str:
    """Returns the code of the basket after these comments, and one answer of the model."""
    messages = [{"role": "user", "content": text} for text in said]
    messages += [{"role": "assistant", "content": "I will look."}, {"role": "user", "content": [RESULT]}]
    request = parse_request(
        {"model": "some-model", "max_tokens": 100, "tools": [{"name": "Write"}], "messages": messages}
    )
    (written,) = [step for step in agent_script(0)(request) if isinstance(step, UseTool)]
    return written.input["content"]


@pytest.mark.parametrize("later", [(CONFLICT, REDIRECT_DISCOUNT), (REDIRECT_DISCOUNT, CONFLICT)])
def test_a_remark_and_a_conflict_each_change_the_code_in_any_order(later):
    drafts = [basket_after(DISCOUNT, *later[:count]) for count in range(3)]
    assert len(set(drafts)) == 3
    assert "line.quantity" in drafts[-1]
    assert "raise ValueError" in drafts[-1]
