"""`make schemas`: makes the descriptions here from the whole ones, in the folder that `TREEHAND_SCHEMAS` names."""

import gzip
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.github import server as github_server
from tests.fakes.github.api_request import ROUTES
from tests.fakes.linear import server as linear_server
from tests.fakes.linear.field_registry import FIELDS
from tests.schemas import FOLDER
from tests.schemas.trimming import trimmed_graphql, trimmed_rest

__all__ = ["github_server", "linear_server"]  # they fill the tables of what they answer

_GITHUB_TYPES = """
    Bot BranchProtectionRule CheckRun Comment Commit Issue IssueComment IssueTimelineItems Label Labelable Mannequin
    Node Organization PageInfo PullRequest PullRequestCommit PullRequestReview PullRequestReviewComment
    PullRequestReviewThread PullRequestTimelineItems RateLimit Reactable Reaction ReactionGroup Ref Repository
    RepositoryCollaborator StatusCheckRollup StatusCheckRollupContext StatusContext User UserContentEdit
"""
_GITHUB_ROOTS = """
    id viewer node nodes repository rateLimit addReaction addLabelsToLabelable removeLabelsFromLabelable
    markPullRequestReadyForReview convertPullRequestToDraft
"""
_ALWAYS_NULL = """
    ActorBot AgentSession CustomerNeed Cycle DocumentContent ExternalUser Favorite GitAutomationTargetBranch
    InitiativeUpdate IssueImport Post ProjectMilestone ProjectUpdate SyncedExternalThread Template
"""
"""Types of Linear to which fields lead that the stand-in answers with null, or not at all."""


def whole_descriptions() -> Path | None:
    """Returns the folder of the whole descriptions, named or beside the repository; None if there is none."""
    found = Path(os.environ.get("TREEHAND_SCHEMAS") or FOLDER.parents[2] / "shared" / "data")
    return found if (found / "github-openapi.json.gz").exists() else None


def make(whole: Path) -> Mapping[str, str]:
    """Returns the texts of the descriptions here, by the names of their files."""
    with gzip.open(whole / "github-openapi.json.gz") as file:
        rest = trimmed_rest(json.load(file), frozenset(route.template for route in ROUTES))
    with gzip.open(whole / "github.graphql.gz", "rt", encoding="utf-8") as file:
        github = trimmed_graphql(file.read(), _github_types(), frozenset(_GITHUB_ROOTS.split()))
    linear_roots = frozenset({*FIELDS["Query"], *FIELDS["Mutation"]})
    return {
        "github-rest.json": json.dumps(rest, indent=0, separators=(",", ":")) + "\n",
        "github.graphql": github,
        "linear.graphql": trimmed_graphql((whole / "linear.graphql").read_text(), _linear_types(), linear_roots),
    }


def _github_types() -> str:
    kinds = "|".join(_GITHUB_TYPES.split())
    return rf"({kinds})(Connection|Edge)?|Actor|Assignable|Closable|Lockable|\w+Event|\w+Input|\w+Payload"


def _linear_types() -> str:
    kinds = "|".join([*FIELDS.keys() - {"Connection", "Query", "Mutation"}, *_ALWAYS_NULL.split()])
    filters = rf"(Nullable)?({kinds})(Collection)?Filter|\w+Comparator"
    return rf"({kinds})(Connection|Edge)?|{filters}|\w+(Create|Update)Input|\w+Payload|PageInfo|RateLimit\w+"


if __name__ == "__main__":
    found = whole_descriptions()
    if found is None:
        sys.exit(
            "The whole descriptions are not here: put them where TREEHAND_SCHEMAS says. See tests/schemas/README.md."
        )
    for name, text in make(found).items():
        (FOLDER / name).write_text(text)
        print(f"tests/schemas/{name}: {len(text):,} bytes")
