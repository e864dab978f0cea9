"""What we ask in GraphQL, because REST would need a request for each: GitHub's schema, nothing of ours."""

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
"""Which of up to a hundred pull requests need a closer look. One list in each, so that it costs one point."""

REQUESTS = """
query Requests($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on Issue {
      number
      lastEditedAt
      editor { ...who }
      timelineItems(last: 60, itemTypes: [LABELED_EVENT, RENAMED_TITLE_EVENT]) {
        nodes {
          __typename
          ... on LabeledEvent { createdAt actor { ...who } label { name } }
          ... on RenamedTitleEvent { createdAt actor { ...who } previousTitle }
        }
      }
    }
  }
}
fragment who on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }
"""
"""Who asked for the work on up to fifty issues, and who changed their words."""

ADD_REACTION = """
mutation AddReaction($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) { reaction { content } }
}
"""
"""The only way to react to a review."""

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
"""Those who work on a repository, with the addresses that they show."""
