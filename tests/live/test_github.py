"""The story on a real repository: `TREEHAND_LIVE_GITHUB=owner/name GITHUB_TOKEN=... make live`.

Only the model is scripted. The test works on its own base branch and cleans up; the issue stays, closed. Without the
two variables it is skipped, and says so.
"""

import os
import time
from collections.abc import Iterator

import httpx
import pytest

from bot.demo.scripted_model import SayText, ScriptedModel
from tests.program.conftest import Person, model_env, person, script_of, write  # noqa: F401 - a fixture

NAME = os.environ.get("TREEHAND_LIVE_GITHUB", "")
TOKEN = os.environ.get("GITHUB_TOKEN", "")
API = os.environ.get("TREEHAND_GITHUB__API_URL", "https://api.github.com")

pytestmark = pytest.mark.skipif(not (NAME and TOKEN), reason="TREEHAND_LIVE_GITHUB and GITHUB_TOKEN are not both set")


class Ground:
    """Actions of a person on the repository, through the API."""

    def __init__(self) -> None:
        self._client = httpx.Client(
            base_url=API, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60, follow_redirects=True
        )
        self.base = f"live-{int(time.time())}"
        default = self.ask("GET", "")["default_branch"]
        tip = self.ask("GET", f"/git/ref/heads/{default}")["object"]["sha"]
        self.ask("POST", "/git/refs", ref=f"refs/heads/{self.base}", sha=tip)
        made = self.ask("POST", "/issues", title="A live test of Treehand", body="Write `live.txt` with one line.")
        self.number = made["number"]

    def ask(self, verb: str, rest: str, **body: object):
        answer = self._client.request(verb, f"/repos/{NAME}{rest}", json=body or None)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def labels(self) -> set[str]:
        return {label["name"] for label in self.ask("GET", f"/issues/{self.number}")["labels"]}

    def pull(self) -> dict:
        owner = NAME.partition("/")[0]
        found = self.ask("GET", f"/pulls?state=all&base={self.base}")
        return next(pull for pull in found if pull["head"]["label"].startswith(f"{owner}:treehand/"))

    def branches(self) -> list[str]:
        return [ref["ref"] for ref in self.ask("GET", "/git/matching-refs/heads/treehand/")]

    def clean(self) -> None:
        for pull in self.ask("GET", f"/pulls?state=open&base={self.base}"):
            self.ask("PATCH", f"/pulls/{pull['number']}", state="closed")
            self.ask("DELETE", f"/git/refs/heads/{pull['head']['ref']}")
        self.ask("DELETE", f"/git/refs/heads/{self.base}")
        self.ask("PATCH", f"/issues/{self.number}", state="closed")
        self._client.close()


@pytest.fixture
def ground() -> Iterator[Ground]:
    ground = Ground()
    yield ground
    ground.clean()


async def test_a_run_from_label_over_a_comment_to_merge_is_cleaned_up(person: Person, ground: Ground):  # noqa: F811
    (person.repository / "treehand.toml").write_text(
        f'state_dir = "{person.home}/state"\n[github]\napi_url = "{API}"\n[[projects]]\nname = "live"\n'
        f'tracker = "github"\nrepository = "{NAME}"\nbase = "{ground.base}"\n'
    )
    person.env["GITHUB_TOKEN"] = TOKEN
    person.env |= {name: os.environ[name] for name in ("SSL_CERT_FILE", "HTTPS_PROXY") if name in os.environ}
    ground.ask("POST", f"/issues/{ground.number}/labels", labels=["ai"])
    async with ScriptedModel(script_of((write("alive", "live.txt"),), (SayText("One line, as asked."),))) as model:
        await person.does("once", **model_env(model))
        pull = ground.pull()
        assert "ai:review" in ground.labels()

        ground.ask("POST", f"/issues/{pull['number']}/comments", body="Thank you. Anything to add?")
        await person.does("once", **model_env(model))
        said = [one["body"] for one in ground.ask("GET", f"/issues/{pull['number']}/comments")]
        assert any("No file was changed." in text for text in said)

        if pull["draft"]:  # where the plan has drafts
            mark_ready(pull)
        ground.ask("PUT", f"/pulls/{pull['number']}/merge", merge_method="squash")
        await person.does("once", **model_env(model))
    assert not {label for label in ground.labels() if label.startswith("ai")}
    assert f"refs/heads/{pull['head']['ref']}" not in ground.branches()
    assert len(ground.ask("GET", f"/pulls?state=all&base={ground.base}")) == 1


def mark_ready(pull: dict) -> None:
    """Marks a draft as ready, which is possible only by GraphQL; a draft cannot be merged."""
    document = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    url = API.removesuffix("/v3") + "/graphql"  # an Enterprise server has it beside /v3
    answer = httpx.post(
        url,
        json={"query": document, "variables": {"id": pull["node_id"]}},
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=60,
    )
    answer.raise_for_status()
    assert "errors" not in answer.json(), answer.text
