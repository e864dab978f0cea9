"""JSON that the API takes and sends, as pydantic models: they check each request and make the OpenAPI description."""

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

from bot.domain.run import Phase

MOST_LETTERS = 100_000
_BAD_REQUEST = 400
_LONGEST_PLACE = 100


class RequestBody(BaseModel):
    """An unknown key and a value of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Body = TypeVar("Body", bound=RequestBody)
Text = Annotated[str, Field(max_length=MOST_LETTERS)]
FilledText = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]


def _whole_number(value: object) -> object:
    """JSON Schema counts 3.0 as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class NoFields(RequestBody):
    pass


class CommentFields(RequestBody):
    text: Annotated[FilledText, Field(description="text of the comment")]


class CommandFields(RequestBody):
    words: Annotated[str, Field(max_length=500, description="argument of the command")] = ""


class BudgetFields(RequestBody):
    words: Annotated[
        str,
        Field(min_length=1, max_length=500, description="total budget of the issue: `10`, `50M tokens`, `150 turns`"),
    ]


class MergeFields(RequestBody):
    squash: Annotated[bool, Field(description="merge as one commit")] = False


class LineRemark(RequestBody):
    path: Annotated[str, Field(min_length=1, max_length=1000, description="path of the file")]
    line: Annotated[int, BeforeValidator(_whole_number), Field(ge=1, le=2**31 - 1, description="line in the new file")]
    text: Annotated[FilledText, Field(description="text of the inline comment")]


class ReviewFields(RequestBody):
    text: Annotated[Text, Field(description="summary of the review")] = ""
    verdict: Annotated[Literal["comment", "approve", "request changes"], Field(description="verdict")] = "comment"
    remarks: Annotated[list[LineRemark], Field(max_length=200, description="inline comments")] = Field(
        default_factory=list
    )


class NewIssueFields(RequestBody):
    project: Annotated[
        str, Field(max_length=100, description="name of the project, may be empty if there is only one")
    ] = ""
    title: Annotated[str, Field(min_length=1, max_length=256, description="title in one line")]
    body: Annotated[Text, Field(description="description of the work")] = ""
    labels: Annotated[
        list[Annotated[str, Field(max_length=100)]],
        Field(max_length=50, description="labels of the issue; by default the label that starts a run"),
    ] = Field(default_factory=list)


class ApiProblem(BaseModel):
    error: Annotated[str, Field(description="message for people")]


class ApiTodos(BaseModel):
    done: int
    total: int


class ApiDiffStat(BaseModel):
    files: int
    added: int
    removed: int


class ApiChecks(BaseModel):
    state: str
    passed: int
    pending: int
    failed: Annotated[list[str], Field(description="names of the failed checks")]


class ApiPullRequest(BaseModel):
    number: int
    url: str
    state: str
    draft: bool


class ApiQueuePlace(BaseModel):
    position: int
    eta_seconds: float | None


class ApiTestCounts(BaseModel):
    passed: int
    failed: int
    skipped: int


class ApiCommandResult(BaseModel):
    command: str
    folder: str
    standing: str
    exit_code: int | None
    seconds: float
    late: bool
    problem: str
    counts: ApiTestCounts | None


class ApiTests(BaseModel):
    count: int
    names: Annotated[list[str], Field(description="the first of them; empty if only the number is known")]


class ApiComparison(BaseModel):
    by: Annotated[str, Field(description="what was compared: `names`, `counts` or `exit codes`")]
    flaky_result: Annotated[bool, Field(description="it looked broken, but a second run showed that it is flaky")]
    broken: Annotated[ApiTests, Field(description="fail now, and not on the base")]
    flaky: Annotated[ApiTests, Field(description="failed once and passed once on the same commit")]
    still_failing: Annotated[ApiTests, Field(description="failed on the base as well")]
    fixed: Annotated[ApiTests, Field(description="failed on the base and pass now")]
    vanished: Annotated[ApiTests, Field(description="ran on the base and not on the commit")]
    added: Annotated[ApiTests, Field(description="did not exist on the base")]


class ApiVerifiedCommand(ApiCommandResult):
    broken: Annotated[bool, Field(description="the change broke it")]
    against_base: Annotated[ApiComparison | None, Field(description="what the change did to its tests")]


class ApiVerification(BaseModel):
    commit: str
    base: str
    trouble: str
    setup: Annotated[str, Field(description="setup of its worktree: steps with network and without")]
    without_network: Annotated[bool, Field(description="the commands could reach no host")]
    test_files: Annotated[list[str], Field(description="changed files that decide the result of the tests")]
    commands: list[ApiVerifiedCommand]
    before: Annotated[list[ApiCommandResult], Field(description="the same commands on the base")]


class ApiRun(BaseModel):
    key: Annotated[str, Field(description="key of the issue: `shop#1`, `acme/shop#12`, `ENG-7`")]
    project: str
    title: str
    url: Annotated[str, Field(description="address of the issue; empty if it has none")]
    phase: Phase
    reason: Annotated[str, Field(description="why the run waits, asks or ended")]
    doing: str
    person: Annotated[str, Field(description="login of the person who requested the run")]
    todos: ApiTodos
    changed: ApiDiffStat
    checks: Annotated[ApiChecks | None, Field(description="checks of the forge")]
    branch: str
    pull_request: ApiPullRequest | None
    agent: str
    turns: int
    cost_usd: float
    tokens: int
    started_at: Annotated[float, Field(description="seconds since the epoch")]
    updated_at: float
    queue: ApiQueuePlace | None
    worktree: str
    verification: ApiVerification | None


class ApiJournalEntry(BaseModel):
    at: float
    text: str


class ApiRunWithJournal(ApiRun):
    journal: list[ApiJournalEntry]


class ApiSpend(BaseModel):
    today_usd: float
    limit_usd: float


class ApiHealth(BaseModel):
    ok: bool
    detail: str
    still: str


class ApiState(BaseModel):
    generated_at: float
    counts: Annotated[dict[str, int], Field(description="number of runs by phase")]
    runs: list[ApiRun]
    spend: ApiSpend
    health: Annotated[dict[str, ApiHealth], Field(description="health by name")]


class ApiActionResult(BaseModel):
    said: Annotated[str, Field(description="text that was posted, or the result")]


class ApiNewIssue(BaseModel):
    key: Annotated[str, Field(description="key of the new issue")]


def read_body(model: type[Body], content: bytes) -> Body:
    """Raises HTTPException 400 that names the first wrong field. Empty content counts as an empty object."""
    try:
        return model.model_validate_json(content.strip() or b"{}")
    except ValidationError as exc:
        raise HTTPException(_BAD_REQUEST, first_problem(exc)) from exc


def first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])[:_LONGEST_PLACE]
    message = first["msg"].rstrip(".")
    return f"{place.removeprefix('.')}: {message[:1].lower()}{message[1:]}." if place else f"{message}."
