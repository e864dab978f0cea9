"""The stand-in Linear behaves like Linear, as far as a client of its GraphQL API can tell."""

import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest
from graphql import get_named_type, is_leaf_type

from tests.fakes.linear import LinearWorld, ServedLinear, fixtures
from tests.fakes.linear.faults import ALWAYS
from tests.fakes.linear.field_registry import FIELDS
from tests.fakes.linear.filters import FILTERS
from tests.fakes.linear.schema import schema

linear = fixtures.linear

OURS = "treehand-bot"
# Each request has its own connection; there is no certificate to read.
HTTP = httpx.Client(verify=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
SAY = "mutation Say($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id body } } }"
CHANGE = "mutation Change($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }"


FILTER_TYPES = {
    "issue": "IssueFilter", "comment": "CommentFilter", "state": "WorkflowStateFilter", "label": "IssueLabelFilter",
    "user": "UserFilter", "team": "TeamFilter", "project": "ProjectFilter", "attachment": "AttachmentFilter",
    "reaction": "ReactionFilter",
}  # fmt: skip


class Client:
    """A minimal client."""

    def __init__(self, linear: ServedLinear, user: str = OURS, **how: Any) -> None:
        self.linear, self.token = linear, linear.token_for(user, **how)

    def post(self, document: str, *, header: str = "", patience: float = 5, **variables: Any) -> httpx.Response:
        headers, body = {"Authorization": header or self.token}, {"query": document, "variables": variables}
        return HTTP.post(self.linear.url, json=body, headers=headers, timeout=patience)

    def __call__(self, document: str, **variables: Any) -> Any:
        answer = self.post(document, **variables).json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def refused(self, document: str, **variables: Any) -> dict[str, Any]:
        """Returns the extensions of the first error, with its message."""
        first = self.post(document, **variables).json()["errors"][0]
        return {**first["extensions"], "message": first["message"]}

    def found(self, wanted: dict[str, Any], **more: Any) -> list[str]:
        """Returns identifiers, newest first."""
        document = """query Find($filter: IssueFilter, $archived: Boolean) {
            issues(filter: $filter, includeArchived: $archived) { nodes { identifier } } }"""
        return [one["identifier"] for one in self(document, filter=wanted, **more)["issues"]["nodes"]]

    def history(self, identifier: str) -> list[dict[str, Any]]:
        """Returns the history, oldest first."""
        document = """query Past($id: String!) { issue(id: $id) { history { nodes {
            actor { name } actorId botActor { type } addedLabels { name } removedLabels { name } addedLabelIds
            fromState { name } toState { name } fromTitle toTitle updatedDescription descriptionUpdatedBy { name }
            fromTeam { key } toTeam { key } archived trashed fromPriority toPriority createdAt } } } }"""
        return self(document, id=identifier)["issue"]["history"]["nodes"][::-1]


@pytest.fixture
def world(linear: ServedLinear) -> LinearWorld:
    return linear.world


@pytest.fixture
def client(linear: ServedLinear) -> Client:
    return Client(linear)


@pytest.fixture
def wrong(linear: ServedLinear) -> Iterator[list[str]]:
    """Returns violations that the test caused on purpose."""
    yield linear.violations
    assert linear.violations
    linear.violations.clear()


@pytest.fixture(autouse=True)
def an_issue(linear: ServedLinear) -> None:
    linear.world.open_issue("ENG", "The answer is wrong", "Please.", by="ana", labels=["treehand"])


def comment(**given: Any) -> dict[str, Any]:
    return {"input": {"issueId": "ENG-1", "body": "Hello.", **given}}


# Authentication


def test_a_key_is_sent_bare_and_an_oauth_token_with_bearer(linear, client):
    oauth = Client(linear, oauth=True)
    me = "{ viewer { name isMe app } }"
    assert client(me)["viewer"] == {"name": OURS, "isMe": True, "app": True}
    assert oauth.post(me, header=f"Bearer {oauth.token}").status_code == 200
    for header in (f"Bearer {client.token}", oauth.token, "lin_api_nonsense", "x"):
        answer = client.post(me, header=header)
        assert answer.status_code == 401
        assert answer.json()["errors"][0]["extensions"]["code"] == "AUTHENTICATION_ERROR"


def test_a_revoked_key_is_refused(world, client):
    world.revoke(client.token)
    assert client.refused("{ viewer { id } }")["type"] == "authentication error"


def test_a_read_only_key_changes_nothing(linear, world):
    reader = Client(linear, scopes=("read",))
    assert reader.found({}) == ["ENG-1"]
    assert reader.refused(SAY, **comment())["code"] == "FORBIDDEN"
    assert world.comments("ENG-1") == []
    assert linear.history[-1].errors == ("FORBIDDEN",)


def test_a_key_for_comments_may_only_comment(linear):
    narrow = Client(linear, scopes=("read", "comments:create"))
    assert narrow(SAY, **comment())["commentCreate"]["success"]
    assert narrow.refused(CHANGE, id="ENG-1", input={"title": "x"})["code"] == "FORBIDDEN"


def test_an_invalid_document_is_refused_and_recorded(client, wrong):
    answer = client.post("{ issues { nodes { nonsense } } }")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    assert "nonsense" in wrong[0]
    assert client.post("{ issues").json()["errors"][0]["extensions"]["code"] == "GRAPHQL_PARSE_FAILED"


@pytest.mark.parametrize("wanted", [{"updatedAt": {"gt": "yesterday"}}, {"team": "ENG"}, {"nonsense": {"eq": 1}}])
def test_invalid_variables_are_refused_and_recorded(client, wrong, wanted):
    answer = client.post("query Find($f: IssueFilter) { issues(filter: $f) { nodes { id } } }", f=wanted)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"


def test_a_missing_feature_of_the_stand_in_is_always_an_error(client, wrong):
    assert client.refused('{ issue(id: "ENG-1") { needs { nodes { id } } } }')["code"] == "GAP"
    assert client.refused("{ issues(filter: {slaStatus: {eq: Breached}}) { nodes { id } } }")["code"] == "GAP"
    assert client.refused(SAY, **comment(createAsUser="Somebody"))["code"] == "GAP"
    assert len(wrong) == 3


def test_an_invalid_response_is_recorded(world, client, wrong):
    world.find("ENG-1").title = None
    assert "errors" in client.post('{ issue(id: "ENG-1") { title } }').json()
    assert "does not fit" in wrong[0]


def test_every_request_is_recorded(linear, client):
    client(SAY, **comment())
    call = linear.history[-1]
    assert (call.operation, call.fields, call.by, call.effects) == ("Say", ("commentCreate",), OURS, True)
    assert (call.status, call.errors, call.variables["input"]["body"]) == (200, (), "Hello.")
    assert linear.calls("commentCreate") == [call]


def test_the_clock_stands_still_and_is_in_every_response(world, client):
    world.now = 1_800_000_000.25
    world.advance(60)
    answer = client.post("{ viewer { id } }")
    assert parsedate_to_datetime(answer.headers["Date"]).timestamp() == 1_800_000_060
    assert LinearWorld(5.0).now == 5.0


def test_a_ticking_clock_follows_the_real_one():
    world = LinearWorld(ticking=True)
    world.advance(3600)
    assert -1 < world.now - time.time() - 3600 < 5


def selection(kind: Any, *, deep: bool = True) -> str:
    """Returns all fields of a type that the stand-in can answer."""
    told = []
    for name in FIELDS.get(kind.name, ()):
        field = kind.fields[name]
        of = get_named_type(field.type)
        if is_leaf_type(of):
            told.append(name)
        elif deep:
            inner = get_named_type(of.fields["nodes"].type) if of.name.endswith("Connection") else of
            own = selection(inner, deep=False) or "__typename"
            told.append(f"{name} {{ nodes {{ {own} }} }}" if inner is not of else f"{name} {{ {own} }}")
    return " ".join(told)


@pytest.mark.parametrize(
    "root",
    [
        "viewer", "organization", "users", "teams", "issues", "comments", "issueLabels", "workflowStates", "projects",
        "attachments", "integrations",
    ],
)  # fmt: skip
def test_every_field_matches_linears_schema(linear, world, root):
    said = world.comment("ENG-1", "Hello.", by=None, integration="slack")
    world.add_project("Sail", "ENG")
    world.add_label("small", group="Size")
    world.automate("ENG", "merge", "Done")
    world.open_issue("ENG", "Two", by="ana", parent="ENG-1", project="Sail", assignee="bob")
    world.relate("ENG-1", "blocks", "ENG-2", by="ana")
    world.move_team("ENG-2", world.add_team("OPS", members=[OURS]), by="ana")
    world.attach(world.find("ENG-1"), "https://example.com", "There", world.user("ana"))
    world.react(world.find_comment(said), "eyes", world.user("ana"))
    linear.limits.single = linear.limits.complexity = 1e9
    kind = get_named_type(schema().query_type.fields[root].type)
    if kind.name.endswith("Connection"):
        inner = selection(get_named_type(kind.fields["nodes"].type))
        inside = f"nodes {{ {inner} }} edges {{ cursor node {{ id }} }} pageInfo {{ hasNextPage }}"
    else:
        inside = selection(kind)
    assert Client(linear)(f"{{ {root} {{ {inside} }} }}")[root]


def test_the_tables_contain_only_fields_of_linears_schema():
    known = {name: kind.fields.keys() for name, kind in schema().type_map.items() if hasattr(kind, "fields")}
    tables = {kind: FIELDS[kind] for kind in FIELDS if kind != "Connection"}
    tables |= {FILTER_TYPES[kind]: FILTERS[kind] for kind in FILTERS}
    assert not {f"{kind}.{name}" for kind in tables for name in tables[kind].keys() - known[kind]}


# Rate limits


def test_the_complexity_of_a_query_is_computed_like_linears(linear, client):
    document = "query Poll { issues(first: 10) { nodes { id title team { key } labels { nodes { name } } } } }"
    # labels 1 + 50 * (nodes 1 + 0.1) = 56; team 1.1; nodes 1 + 0.2 + 57.1 = 58.3; issues 1 + 10 * 58.3.
    assert client.post(document).headers["X-Complexity"] == "584"
    assert linear.history[-1].complexity == 584
    assert client.post("{ viewer { id name } }").headers["X-Complexity"] == "2"
    sized = "query Poll($n: Int = 2) { issues(last: $n) { ...Few } } fragment Few on IssueConnection { nodes { id } }"
    assert client.post(sized).headers["X-Complexity"] == "4"
    assert client.post(sized, n=7).headers["X-Complexity"] == "9"


def test_limits_are_in_the_headers_and_refill_continuously(linear, world, client):
    linear.limits.requests = 3
    left = [client.post("{ viewer { id } }").headers["X-RateLimit-Requests-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    refused = client.post("{ viewer { id } }")
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["extensions"]["code"] == "RATELIMITED"
    assert refused.headers["X-RateLimit-Requests-Limit"] == "3"
    assert int(refused.headers["X-RateLimit-Requests-Reset"]) == pytest.approx((world.now + 3600) * 1000, abs=1000)
    world.advance(1200)
    assert client.post("{ viewer { id } }").status_code == 200
    assert Client(linear, "ana").post("{ viewer { id } }").headers["X-RateLimit-Requests-Remaining"] == "2"


def test_complexity_has_its_own_limit(linear, client):
    linear.limits.complexity = 100
    assert client.post("{ issues(first: 40) { nodes { id } } }").headers["X-RateLimit-Complexity-Remaining"] == "55"
    assert client.refused("{ issues { nodes { id } } }")["code"] == "RATELIMITED"
    status = client("{ rateLimitStatus { kind limits { type remainingAmount allowedAmount } } }")["rateLimitStatus"]
    assert [(one["type"], one["allowedAmount"]) for one in status["limits"]] == [
        ("requests", 5000),
        ("complexity", 100),
    ]


def test_one_query_has_a_maximum_complexity(client):
    answer = client.post("{ issues(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }")
    assert (answer.status_code, answer.headers["X-Complexity"]) == (400, "11201")
    assert "RATELIMITED" not in answer.text


# Lists.


@pytest.fixture
def many(world: LinearWorld) -> LinearWorld:
    world.add_team("OPS", members=["ana", "bob", OURS])
    world.add_project("Sail", "ENG")
    world.open_issue("ENG", "Two", by="bob", labels=["treehand", "bug"], project="Sail", assignee="ana", priority=2)
    world.open_issue("OPS", "Three", by="ana", state="In Progress", labels=["Treehand"])
    world.open_issue("ENG", "Four", by=None, integration="slack", parent="ENG-1")
    world.comment("ENG-1", "/treehand stop", by="bob")
    return world


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"team": {"key": {"eq": "OPS"}}}, ["OPS-1"]),
        ({"team": {"key": {"in": ["OPS", "ENG"]}}, "number": {"gt": 1}}, ["ENG-3", "ENG-2"]),
        ({"labels": {"some": {"name": {"eq": "bug"}}}}, ["ENG-2"]),
        ({"labels": {"name": {"eqIgnoreCase": "TREEHAND"}}}, ["OPS-1", "ENG-2", "ENG-1"]),
        ({"labels": {"every": {"name": {"eq": "treehand"}}}}, ["ENG-3", "OPS-1", "ENG-1"]),
        ({"labels": {"length": {"eq": 2}}}, ["ENG-2"]),
        ({"labels": {"and": [{"name": {"eq": "bug"}}, {"name": {"eq": "treehand"}}]}}, ["ENG-2"]),
        ({"state": {"type": {"nin": ["completed", "canceled", "started"]}}}, ["ENG-3", "ENG-2", "ENG-1"]),
        ({"assignee": {"null": True}}, ["ENG-3", "OPS-1", "ENG-1"]),
        ({"assignee": {"email": {"startsWith": "ana@"}}}, ["ENG-2"]),
        ({"project": {"name": {"contains": "ai"}}}, ["ENG-2"]),
        ({"parent": {"null": False}}, ["ENG-3"]),
        ({"parent": {"number": {"eq": 1}}}, ["ENG-3"]),
        ({"creator": {"name": {"neq": "ana"}}}, ["ENG-2"]),
        ({"priority": {"lte": 1}, "or": [{"title": {"eq": "Two"}}, {"title": {"eq": "Three"}}]}, ["OPS-1"]),
        ({"comments": {"some": {"body": {"contains": "/treehand"}}}}, ["ENG-1"]),
        ({"comments": {"length": {"gte": 1}}, "children": {"length": {"eq": 1}}}, ["ENG-1"]),
        ({"updatedAt": {"gt": "-PT1H"}, "createdAt": {"gt": "2020"}, "startedAt": {"null": True}, "number": {"eq": 3}},
         ["ENG-3"]),
        ({"createdAt": {"lt": "2020-01"}}, []),
    ],
)  # fmt: skip
def test_issues_are_filtered_like_by_linear(many, client, wanted, found):
    assert client.found(wanted) == found


def test_issues_can_be_filtered_by_id(many, client):
    ids = [many.find(one).id for one in ("ENG-1", "ENG-2")]
    assert client.found({"id": {"in": ids}}) == ["ENG-2", "ENG-1"]
    assert client.found({"id": {"nin": ids}}) == ["ENG-3", "OPS-1"]


def test_other_lists_are_filtered_too(many, client):
    data = client(
        """{ comments(filter: {issue: {team: {key: {eq: "ENG"}}}, user: {isMe: {eq: false}}}) { nodes { body } }
        workflowStates(filter: {team: {key: {eq: "ENG"}}, type: {eq: "started"}}) { nodes { name } }
        issueLabels(filter: {name: {eqIgnoreCase: "Treehand"}, team: {null: true}}) { nodes { name isGroup } }
        users(filter: {app: {eq: true}}) { nodes { name } } projects { nodes { name } } teams { nodes { key } } }"""
    )
    assert data["comments"]["nodes"] == [{"body": "/treehand stop"}]
    assert [one["name"] for one in data["workflowStates"]["nodes"]] == ["In Review", "In Progress"]
    assert data["issueLabels"]["nodes"] == [{"name": "treehand", "isGroup": False}]
    assert data["users"]["nodes"] == [{"name": OURS}]
    assert data["teams"]["nodes"] == [{"key": "OPS"}, {"key": "ENG"}]


PAGE = """query Page($first: Int, $after: String, $last: Int, $before: String, $by: PaginationOrderBy) {
  issues(first: $first, after: $after, last: $last, before: $before, orderBy: $by) {
    nodes { identifier } pageInfo { hasNextPage hasPreviousPage endCursor startCursor } } }"""


def test_pages_neither_miss_nor_repeat_issues_during_changes(world, client):
    for nr in range(2, 8):
        world.open_issue("ENG", f"Number {nr}", by="ana")
    seen, after, more = [], None, True
    while more:
        page = client(PAGE, first=3, after=after)["issues"]
        seen += [one["identifier"] for one in page["nodes"]]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
        world.open_issue("ENG", "Meanwhile", by="bob")
    assert seen == [f"ENG-{nr}" for nr in range(7, 0, -1)]


def test_lists_can_be_read_from_the_end_and_by_update_time(world, client):
    world.open_issue("ENG", "Two", by="ana")
    world.open_issue("ENG", "Three", by="ana")
    world.edit("ENG-1", title="Newest", by="bob")
    assert [one["identifier"] for one in client(PAGE, by="updatedAt")["issues"]["nodes"]] == ["ENG-1", "ENG-3", "ENG-2"]
    end = client(PAGE, last=2)["issues"]
    assert [one["identifier"] for one in end["nodes"]] == ["ENG-2", "ENG-1"]
    assert end["pageInfo"]["hasPreviousPage"]
    start = client(PAGE, last=2, before=end["pageInfo"]["startCursor"])["issues"]
    assert [one["identifier"] for one in start["nodes"]] == ["ENG-3"]


def test_pages_have_fifty_entries_by_default_and_at_most_250(world, client):
    for nr in range(60):
        world.open_issue("ENG", f"Number {nr}", by="ana")
    assert len(client(PAGE)["issues"]["nodes"]) == 50
    assert client.refused(PAGE, first=251)["code"] == "INVALID_INPUT"


def test_lists_may_lag_and_single_objects_do_not(world, client):
    world.lag = 5.0
    world.advance(60)
    world.open_issue("ENG", "Two", by="ana")
    world.edit("ENG-1", title="Other", by="ana")
    said = world.comment("ENG-1", "Hello?", by="bob")
    shown = "{ issues { nodes { title comments { nodes { id } } } } }"
    assert client(shown)["issues"]["nodes"] == [{"title": "The answer is wrong", "comments": {"nodes": []}}]
    assert client('{ issue(id: "ENG-2") { title } }')["issue"]["title"] == "Two"
    assert client('{ issue(id: "ENG-1") { title } }')["issue"]["title"] == "Other"
    assert client("query C($id: String) { comment(id: $id) { body } }", id=said)["comment"]["body"] == "Hello?"
    world.advance(5.0)
    assert [one["title"] for one in client(shown)["issues"]["nodes"]] == ["Two", "Other"]


def test_archived_issues_are_listed_only_on_demand(world, client):
    world.archive("ENG-1", by="ana")
    assert client.found({}) == []
    assert client.found({}, archived=True) == ["ENG-1"]
    assert client('{ issue(id: "ENG-1") { archivedAt } }')["issue"]["archivedAt"].endswith("Z")
    world.unarchive("ENG-1", by="ana")
    assert client.found({}) == ["ENG-1"]


# Visibility


def test_a_private_team_is_visible_to_its_members_only(world, linear, client):
    world.add_team("SEC", "Secrets", private=True, members=["ana"])
    world.open_issue("SEC", "Hush", by="ana")
    assert client.found({}) == ["ENG-1"]
    assert client("{ teams { nodes { key } } }")["teams"]["nodes"] == [{"key": "ENG"}]
    assert client.refused('{ issue(id: "SEC-1") { id } }')["message"] == "Entity not found: Issue"
    assert client.refused(SAY, **comment(issueId="SEC-1"))["code"] == "INPUT_ERROR"
    assert Client(linear, "ana").found({}) == ["SEC-1", "ENG-1"]


def test_a_guest_sees_only_their_own_teams(world, linear):
    guest = Client(linear, "gus")
    assert guest.found({}) == []
    world.team("ENG").members.append(world.user("gus"))
    assert guest.found({}) == ["ENG-1"]


# Actions of people, and their history


def test_history_shows_who_applied_a_label_but_not_labels_set_at_creation(world, client):
    assert client.history("ENG-1") == []
    world.label("ENG-1", "bug", by="bob")
    world.unlabel("ENG-1", "treehand", by="ana")
    added, removed = client.history("ENG-1")
    assert (added["actor"], added["addedLabels"], added["removedLabels"]) == ({"name": "bob"}, [{"name": "bug"}], None)
    assert added["addedLabelIds"] == [world.find_label("bug", None).id]
    assert (removed["actor"], removed["removedLabels"]) == ({"name": "ana"}, [{"name": "treehand"}])
    assert world.labels("ENG-1") == {"bug"}


def test_history_shows_moves_edits_priorities_and_trashing(world, client):
    world.move("ENG-1", "Done", by=None, integration="github")
    world.edit("ENG-1", title="Other", description="New.", by="bob")
    world.prioritise("ENG-1", 1, by="bob")
    world.trash("ENG-1", by="ana")
    moved, edited, raised, trashed = client.history("ENG-1")
    assert (moved["actor"], moved["actorId"], moved["botActor"]) == (None, None, {"type": "github"})
    assert (moved["fromState"], moved["toState"]) == ({"name": "Backlog"}, {"name": "Done"})
    assert (edited["fromTitle"], edited["toTitle"]) == ("The answer is wrong", "Other")
    assert (edited["updatedDescription"], edited["descriptionUpdatedBy"]) == (True, [{"name": "bob"}])
    assert (raised["fromPriority"], raised["toPriority"]) == (0, 1)
    assert (trashed["archived"], trashed["trashed"]) == (True, True)


def test_grouped_history_omits_changes_that_were_undone(world, client):
    world.groups_history = 300.0
    world.label("ENG-1", "bug", by="bob")
    world.label("ENG-1", "late", by="bob")
    world.unlabel("ENG-1", "bug", by="bob")
    world.move("ENG-1", "Todo", by="bob")
    world.move("ENG-1", "Backlog", by="bob")
    (entry,) = client.history("ENG-1")
    assert (entry["addedLabels"], entry["removedLabels"], entry["toState"]) == ([{"name": "late"}], None, None)
    world.move("ENG-1", "Todo", by="ana")
    world.advance(301)
    world.move("ENG-1", "Done", by="ana")
    assert [one["actor"]["name"] for one in client.history("ENG-1")] == ["bob", "ana", "ana"]


@pytest.mark.parametrize(
    "deed",
    [
        lambda world: world.label("ENG-1", "bug", by="bob"),
        lambda world: world.unlabel("ENG-1", "treehand", by="bob"),
        lambda world: world.edit("ENG-1", description="Other.", by="bob"),
        lambda world: world.move("ENG-1", "Todo", by="bob"),
        lambda world: world.assign("ENG-1", "ana", by="bob"),
        lambda world: world.relate("ENG-1", "blocks", "ENG-2", by="bob"),
        lambda world: world.archive("ENG-1", by="bob"),
    ],
)
def test_every_action_on_an_issue_updates_its_time(world, deed):
    world.open_issue("ENG", "Two", by="ana")
    before = world.find("ENG-1").updated_at
    deed(world)
    assert world.find("ENG-1").updated_at > before


def test_a_comment_updates_an_issue_only_if_configured(world, client):
    before = world.find("ENG-1").updated_at
    said = world.comment("ENG-1", "Hello.", by="bob")
    client("mutation R($i: ReactionCreateInput!) { reactionCreate(input: $i) { success } }",
           i={"commentId": said, "emoji": "eyes"})  # fmt: skip
    assert world.find("ENG-1").updated_at == before
    world.comments_touch_issue = True
    world.comment("ENG-1", "Hello again.", by="bob")
    assert world.find("ENG-1").updated_at > before


def test_a_state_sets_the_times_of_an_issue(world, client):
    dates = '{ issue(id: "ENG-1") { startedAt completedAt canceledAt } }'
    world.move("ENG-1", "In Progress", by="ana")
    world.move("ENG-1", "Done", by="ana")
    assert [bool(at) for at in client(dates)["issue"].values()] == [True, True, False]
    world.move("ENG-1", "Canceled", by="ana")
    assert [bool(at) for at in client(dates)["issue"].values()] == [True, False, True]
    world.move("ENG-1", "Todo", by="ana")
    assert [bool(at) for at in client(dates)["issue"].values()] == [True, False, False]


def test_an_issue_that_changes_teams_is_found_by_its_old_identifier(world, client):
    world.add_team("OPS", members=["ana", OURS])
    world.add_label("local", team="ENG")
    world.label("ENG-1", "local", by="ana")
    moved = world.move_team("ENG-1", "OPS", by="ana")
    data = client('{ issue(id: "eng-1") { identifier previousIdentifiers url state { name team { key } } } }')["issue"]
    assert (data["identifier"], data["previousIdentifiers"], moved.identifier) == ("OPS-1", ["ENG-1"], "OPS-1")
    assert data["state"] == {"name": "Backlog", "team": {"key": "OPS"}}
    assert data["url"] == "https://linear.app/acme/issue/OPS-1/the-answer-is-wrong"
    assert world.labels("ENG-1") == {"treehand"}
    last = client.history("OPS-1")[-1]
    assert (last["fromTeam"], last["toTeam"], last["removedLabels"]) == (
        {"key": "ENG"},
        {"key": "OPS"},
        [{"name": "local"}],
    )


def test_a_duplicate_has_its_own_state_and_a_relation(world, client):
    world.open_issue("ENG", "Again", by="bob")
    world.mark_duplicate("ENG-2", "ENG-1", by="ana")
    ties = (
        "relations { nodes { type relatedIssue { identifier } } } inverseRelations { nodes { issue { identifier } } }"
    )
    assert client(f'{{ issue(id: "ENG-2") {{ state {{ type }} {ties} }} }}')["issue"] == {
        "state": {"type": "duplicate"},
        "relations": {"nodes": [{"type": "duplicate", "relatedIssue": {"identifier": "ENG-1"}}]},
        "inverseRelations": {"nodes": []},
    }
    assert client(f'{{ issue(id: "ENG-1") {{ {ties} }} }}')["issue"]["inverseRelations"]["nodes"] == [
        {"issue": {"identifier": "ENG-2"}}
    ]


def test_a_deleted_issue_is_gone(world, client):
    world.delete("ENG-1")
    assert (
        client.refused('{ issue(id: "ENG-1") { id } }')["userPresentableMessage"] == "Could not find referenced Issue."
    )


def test_a_team_shows_its_automation_and_the_workspace_its_integrations(world, client):
    world.automate("ENG", "merge", "Done")
    world.automate("ENG", "start", None)
    data = client("""{ team(id: "ENG") { visibility states { nodes { name } } members { nodes { name } }
        gitAutomationStates { nodes { event state { name } } } } integrations { nodes { service } } }""")
    assert data["team"]["gitAutomationStates"]["nodes"] == [
        {"event": "start", "state": None},
        {"event": "merge", "state": {"name": "Done"}},
    ]
    assert data["integrations"]["nodes"] == [{"service": "github"}]
    assert len(data["team"]["states"]["nodes"]) == 8


# Labels.


LABEL = "mutation L($id: String!, $label: String!) { issueAddLabel(id: $id, labelId: $label) { issue { id } } }"


def test_people_replace_a_label_of_a_group_and_programs_are_refused_a_second(world, client):
    first = world.add_label("small", group="Size")
    second = world.add_label("large", group="Size")
    world.label("ENG-1", "small", by="ana")
    world.label("ENG-1", "large", by="ana")
    assert world.labels("ENG-1") == {"treehand", "large"}
    assert client.refused(LABEL, id="ENG-1", label=first.id)["message"] == "labelIds not exclusive child labels"
    swap = {"addedLabelIds": [first.id], "removedLabelIds": [second.id]}
    client(CHANGE, id="ENG-1", input=swap)
    assert world.labels("ENG-1") == {"treehand", "small"}
    world.swaps_grouped_labels = True
    client(LABEL, id="ENG-1", label=second.id)
    assert world.labels("ENG-1") == {"treehand", "large"}


def test_groups_and_labels_of_other_teams_are_refused(world, client):
    world.add_label("small", group="Size")
    world.add_team("OPS", members=[OURS])
    for label in (world.find_label("Size", None), world.add_label("theirs", team="OPS")):
        assert client.refused(LABEL, id="ENG-1", label=label.id)["code"] == "INPUT_ERROR"


def test_adding_an_existing_label_or_removing_a_missing_one_changes_nothing(world, client):
    known, other = world.find_label("treehand", None), world.add_label("other")
    before = world.find("ENG-1").updated_at
    client(LABEL, id="ENG-1", label=known.id)
    client(LABEL.replace("issueAddLabel", "issueRemoveLabel"), id="ENG-1", label=other.id)
    assert (world.find("ENG-1").updated_at, client.history("ENG-1")) == (before, [])


def test_a_label_is_created_once_per_scope(world, client):
    make = "mutation M($i: IssueLabelCreateInput!) { issueLabelCreate(input: $i) { issueLabel { id team { key } } } }"
    assert client.refused(make, i={"name": "TREEHAND"})["message"] == "duplicate label name"
    made = client(make, i={"name": "treehand", "teamId": world.team("ENG").id})["issueLabelCreate"]["issueLabel"]
    assert made["team"] == {"key": "ENG"}


def test_an_update_is_one_history_entry(world, client):
    todo, added = world.state_named(world.team("ENG"), "Todo"), world.add_label("bug")
    gone = world.find_label("treehand", None)
    client(CHANGE, id="ENG-1", input={
        "stateId": todo.id, "addedLabelIds": [added.id], "removedLabelIds": [gone.id], "title": "Other",
        "assigneeId": world.user("ana").id, "delegateId": world.user(OURS).id,
    })  # fmt: skip
    (entry,) = client.history("ENG-1")
    assert (entry["actor"], entry["toState"], entry["toTitle"]) == ({"name": OURS}, {"name": "Todo"}, "Other")
    assert (entry["addedLabels"], entry["removedLabels"]) == ([{"name": "bug"}], [{"name": "treehand"}])
    client(CHANGE, id="ENG-1", input={"assigneeId": None, "labelIds": []})
    issue = world.find("ENG-1")
    assert (issue.assignee, issue.delegate, world.labels("ENG-1")) == (None, world.user(OURS), set())


def test_a_state_of_another_team_is_refused(world, client):
    other = world.state_named(world.add_team("OPS", members=[OURS]), "Done")
    assert client.refused(CHANGE, id="ENG-1", input={"stateId": other.id})["code"] == "INPUT_ERROR"


# Comments.


def test_a_requested_id_is_used_once(world, client):
    key = str(uuid.uuid4())
    assert client(SAY, **comment(id=key))["commentCreate"]["comment"]["id"] == key
    again = client.refused(SAY, **comment(id=key))
    assert (again["message"], again["code"]) == ("conflict on insert of Comment", "INPUT_ERROR")
    assert key in again["userPresentableMessage"]
    assert client.refused(SAY, **comment(id="1"))["code"] == "INVALID_INPUT"
    assert client.refused(SAY, **comment(id=str(uuid.uuid1())))["code"] == "INVALID_INPUT"
    assert len(world.comments("ENG-1", by=OURS)) == 1


def test_a_requested_id_may_be_ignored(world, client):
    world.honours_ids = False
    key = str(uuid.uuid4())
    assert client(SAY, **comment(id=key))["commentCreate"]["comment"]["id"] != key
    client(SAY, **comment(id=key))
    assert len(world.comments("ENG-1")) == 2


def test_html_comments_are_removed(world, client):
    client(SAY, **comment(body="Hello.\n\n<!-- treehand:notes -->"))
    assert world.comments("ENG-1")[0].body == "Hello."
    world.keeps_html = True
    client(SAY, **comment(body="Hello.\n\n<!-- treehand:notes -->"))
    assert world.comments("ENG-1")[1].body == "Hello.\n\n<!-- treehand:notes -->"


def test_threads_are_one_level_deep(world, client):
    first = world.comment("ENG-1", "A question?", by="ana")
    reply = client(SAY, **comment(parentId=first))["commentCreate"]["comment"]["id"]
    nested = client.refused(SAY, **comment(parentId=reply))
    assert (nested["message"], nested["code"]) == ("Parent comment must be a top level comment", "INPUT_ERROR")
    assert client.refused(SAY, input={"parentId": first, "body": "Of what?"})["code"] == "INVALID_INPUT"
    thread = "query C($id: String) { comment(id: $id) { issue { identifier } children { nodes { id parentId } } } }"
    data = client(thread, id=first)["comment"]
    assert data == {"issue": {"identifier": "ENG-1"}, "children": {"nodes": [{"id": reply, "parentId": first}]}}


def test_only_its_author_and_admins_change_a_comment(world, linear, client):
    theirs = world.comment("ENG-1", "Mine.", by="ana")
    edit = (
        "mutation E($id: String!, $b: String!) { commentUpdate(id: $id, input: {body: $b}) { comment { editedAt } } }"
    )
    assert client.refused(edit, id=theirs, b="Ours.")["code"] == "FORBIDDEN"
    own = client(SAY, **comment())["commentCreate"]["comment"]["id"]
    assert client(edit, id=own, b="Better.")["commentUpdate"]["comment"]["editedAt"]
    world.add_user("root", "root@acme.example", admin=True)
    Client(linear, "root")("mutation D($id: String!) { commentDelete(id: $id) { entityId } }", id=theirs)
    assert [one.body for one in world.comments("ENG-1")] == ["Better."]


def test_an_integration_comments_for_an_external_person(world, client):
    world.comment("ENG-1", "From afar.", by=None, integration="slack", external_user="Eve")
    data = client("{ comments { nodes { user { id } botActor { type } externalUser { name } } } }")["comments"]["nodes"]
    assert data == [{"user": None, "botActor": {"type": "slack"}, "externalUser": {"name": "Eve"}}]


def test_the_same_reaction_twice_counts_once(world, client):
    said = world.comment("ENG-1", "Hello.", by="ana")
    react = "mutation R($i: ReactionCreateInput!) { reactionCreate(input: $i) { reaction { id user { name } } } }"
    ids = {client(react, i={"commentId": said, "emoji": "eyes"})["reactionCreate"]["reaction"]["id"] for _ in "12"}
    assert world.reactions(said) == {("eyes", OURS)}
    assert len(ids) == 1
    client("mutation D($id: String!) { reactionDelete(id: $id) { success } }", id=ids.pop())
    assert world.reactions(said) == set()


# Other objects


def test_an_attachment_is_identified_by_its_url(world, client):
    make = "mutation A($i: AttachmentCreateInput!) { attachmentCreate(input: $i) { attachment { id } } }"
    given = {"issueId": "ENG-1", "url": "https://example.com/pull/1", "title": "One", "metadata": {"state": "open"}}
    first = client(make, i=given)["attachmentCreate"]["attachment"]["id"]
    second = client(make, i=given | {"title": "Two", "subtitle": "Merged"})["attachmentCreate"]["attachment"]["id"]
    assert first == second
    (one,) = world.attachments("ENG-1")
    assert (one.title, one.subtitle, one.metadata, one.creator.name) == ("Two", "Merged", {"state": "open"}, OURS)
    data = client(
        '{ attachmentsForURL(url: "https://example.com/pull/1") { nodes { metadata issue { identifier } } } }'
    )
    assert data["attachmentsForURL"]["nodes"] == [{"metadata": {"state": "open"}, "issue": {"identifier": "ENG-1"}}]
    client("mutation D($id: String!) { attachmentDelete(id: $id) { success } }", id=first)
    assert world.attachments("ENG-1") == []


def test_a_pull_request_is_linked_once(world, client):
    link = 'mutation L($u: String!) { attachmentLinkGitHubPR(issueId: "ENG-1", url: $u) { attachment { sourceType } } }'
    pull = "https://github.com/acme/shop/pull/1"
    assert client(link, u=pull)["attachmentLinkGitHubPR"]["attachment"] == {"sourceType": "github"}
    assert client.refused(link, u=pull)["message"] == "Duplicate attachment for duplicate url"
    client(link.replace("GitHubPR", "URL"), u="https://example.com")
    assert len(world.attachments("ENG-1")) == 2


def test_issues_are_created_archived_related_and_trashed(world, client):
    make = "mutation M($i: IssueCreateInput!) { issueCreate(input: $i) { issue { identifier state { name } } } }"
    labels = [world.find_label("treehand", None).id]
    given = {"teamId": world.team("ENG").id, "title": "Two", "labelIds": labels}
    made = client(make, i=given)["issueCreate"]["issue"]
    assert (made["identifier"], made["state"]["name"]) == ("ENG-2", "Backlog")
    tie = "mutation T($i: IssueRelationCreateInput!) { issueRelationCreate(input: $i) { issueRelation { type } } }"
    assert client(tie, i={"issueId": "ENG-2", "relatedIssueId": "ENG-1", "type": "blocks"})
    assert client.found({"hasBlockedByRelations": {"eq": True}}) == ["ENG-1"]
    client('mutation { issueArchive(id: "ENG-1") { success } }')
    client('mutation { issueDelete(id: "ENG-2") { success } }')
    assert (world.find("ENG-1").trashed, world.find("ENG-2").trashed) == (None, True)


def test_only_admins_create_webhooks(world, linear, client):
    make = "mutation W($i: WebhookCreateInput!) { webhookCreate(input: $i) { webhook { url allPublicTeams } } }"
    hook = {"url": "https://example.com", "resourceTypes": ["Issue"], "allPublicTeams": True}
    assert client.refused(make, i=hook)["code"] == "FORBIDDEN"
    world.add_user("root", "root@acme.example", admin=True)
    assert Client(linear, "root")(make, i=hook)["webhookCreate"]["webhook"]["allPublicTeams"]


def test_a_webhook_is_signed_like_by_linear(linear, world):
    body, headers = linear.webhook("Comment", "create", secret="s3cret", at=1_800_000_000.5, id="x", body="Hé")
    assert headers["Linear-Signature"] == hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    told = json.loads(body)
    assert (told["type"], told["action"], headers["Linear-Event"]) == ("Comment", "create", "Comment")
    assert (told["webhookTimestamp"], told["data"]) == (1_800_000_000_500, {"id": "x", "body": "Hé"})
    assert told["organizationId"] == world.organization_id


# Faults


def test_a_dropped_response_keeps_its_effect(linear, world, client):
    linear.faults.drop("commentCreate")
    with pytest.raises(httpx.TransportError):
        client.post(SAY, **comment())
    assert len(world.comments("ENG-1")) == 1
    linear.faults.drop_before("Say")
    with pytest.raises(httpx.TransportError):
        client.post(SAY, **comment())
    assert len(world.comments("ENG-1")) == 1


def test_a_client_that_times_out_does_not_stop_the_effect(linear, world, client):
    linear.faults.hang(5, "Say")
    linear.faults.hang(0.5, "Say", done=False)
    for said in (1, 2):
        with pytest.raises(httpx.ReadTimeout):
            client.post(SAY, patience=0.2, **comment())
        eventually = time.monotonic() + 5
        while len(world.comments("ENG-1")) < said and time.monotonic() < eventually:
            client("{ viewer { id } }")
        assert len(world.comments("ENG-1")) == said


def test_an_error_status_can_come_before_or_after_the_effect(linear, world, client):
    linear.faults.status(500, "Say")
    linear.faults.status(503, "Say", done=True, Retry_After="7")
    assert client.post(SAY, **comment()).status_code == 500
    assert world.comments("ENG-1") == []
    assert client.post(SAY, **comment()).headers["Retry-After"] == "7"
    assert len(world.comments("ENG-1")) == 1


def test_responses_can_be_truncated_delayed_or_partial(linear, client):
    linear.faults.truncate()
    with pytest.raises(ValueError):
        client.post("{ viewer { id } }").json()
    linear.faults.hang(0.2, lambda call: "viewer" in call.fields)
    linear.faults.hang(0.2, "viewer", done=False)
    for _ in range(2):
        began = time.monotonic()
        client("{ viewer { id } }")
        assert time.monotonic() - began >= 0.2
    linear.faults.partial("issues.nodes.0.creator", "issues")
    answer = client.post("{ issues { nodes { id creator { name } } } }").json()
    assert answer["data"]["issues"]["nodes"][0]["creator"] is None
    assert answer["errors"][0]["path"] == ["issues", "nodes", 0, "creator"]


def test_linear_can_refuse_with_each_of_its_errors(linear, client):
    faults, me = linear.faults, "{ viewer { id } }"
    faults.too_many(retry_after="30")
    faults.rate_limit()
    faults.user_error("Not now.", kind="invalid input")
    faults.unauthenticated(status=400)
    faults.forbid()
    assert client.post(me).headers["Retry-After"] == "30"
    told = [client.post(me) for _ in range(4)]
    assert [one.status_code for one in told] == [400, 200, 400, 403]
    codes = [one.json()["errors"][0]["extensions"]["code"] for one in told]
    assert codes == ["RATELIMITED", "INPUT_ERROR", "AUTHENTICATION_ERROR", "FORBIDDEN"]
    faults.status(502, times=ALWAYS)
    assert {client.post(me).status_code for _ in range(3)} == {502}


def test_another_change_can_happen_just_before_a_request(linear, world, client):
    linear.faults.interfere(lambda: world.delete("ENG-1"), "Say")
    assert client.refused(SAY, **comment())["message"] == "Entity not found: Issue"
