"""GraphQL queries, where REST would need a request for each issue or pull request."""

PULL_REQUESTS = """
query PullRequests($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on PullRequest {
      number
      state
      mergeable
      headRefOid
      baseRefOid
      reviews(last: 1) { totalCount nodes { databaseId updatedAt } }
      statusCheckRollup { state }
    }
  }
}
"""
"""Details of up to a hundred pull requests. With one list in each, it costs one point."""

_WHO = "fragment who on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }"

REQUESTS = f"""
query Requests($ids: [ID!]!) {{
  nodes(ids: $ids) {{
    ... on Issue {{
      number
      title
      body
      lastEditedAt
      editor {{ ...who }}
      timelineItems(last: 60, itemTypes: [LABELED_EVENT, RENAMED_TITLE_EVENT]) {{
        nodes {{
          __typename
          ... on LabeledEvent {{ createdAt actor {{ ...who }} label {{ name }} }}
          ... on RenamedTitleEvent {{ createdAt actor {{ ...who }} previousTitle }}
        }}
      }}
    }}
  }}
}}
{_WHO}
"""
"""Requesters of up to fifty issues, and authors of later changes to title and body."""

EDITORS = f"""
query Editors($ids: [ID!]!) {{
  nodes(ids: $ids) {{
    ... on Comment {{ body lastEditedAt editor {{ ...who }} }}
  }}
}}
{_WHO}
"""
"""Last editors of up to a hundred comments, reviews and inline comments: REST does not tell who edited."""

COLLABORATORS = """
query Collaborators($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    collaborators(first: 100, after: $after) {
      nodes { login email }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
"""Collaborators of a repository, with the addresses that they show."""
