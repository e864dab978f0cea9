"""GraphQL queries and mutations for Linear. A test checks each against Linear's own schema.

The cost of a query depends on the counts it asks for, not on the answer: so `first` is as small as possible.
https://linear.app/developers/rate-limiting
"""

_PERSON = "fragment Person on User { id name displayName email guest app active }"

_ISSUE = """
fragment IssueFields on Issue {
  id identifier title description priority url createdAt updatedAt archivedAt trashed
  team { id key }
  state { id name type }
  creator { ...Person }
  project { id name }
  parent { identifier }
  labels(first: 30) { nodes { id name parent { name } } }
  children(first: 15) { nodes { identifier state { type } } }
  inverseRelations(first: 15) { nodes { type issue { id identifier archivedAt state { type } } } }
  attachments(first: 15) { nodes { url } }
  history(first: 20) { nodes { ...Step } pageInfo { hasNextPage endCursor } }
}
"""
_STEP = """
fragment Step on IssueHistory {
  id createdAt updatedAt addedLabelIds fromStateId toStateId fromTitle updatedDescription
  addedLabels { id }
  fromState { id }
  toState { id }
  actor { ...Person }
  descriptionUpdatedBy { ...Person }
}
"""
_COMMENT = """
fragment CommentFields on Comment {
  id body createdAt updatedAt editedAt parentId issueId
  parent { id }
  issue { id }
  user { ...Person }
}
"""

IS_CHANGED = """
query IsChanged($filter: IssueFilter!) {
  issues(filter: $filter, first: 1, includeArchived: true) { nodes { id } }
}
"""
"""One issue if anything has changed. A poll without changes sends nothing else."""

ISSUE_IDS = """
query IssueIds($filter: IssueFilter!, $count: Int!, $after: String) {
  issues(filter: $filter, first: $count, after: $after, orderBy: createdAt, includeArchived: true) {
    nodes { id updatedAt }
    pageInfo { hasNextPage endCursor }
  }
}
"""
ISSUES = f"""
query Issues($ids: [ID!]!, $count: Int!) {{
  issues(filter: {{ id: {{ in: $ids }} }}, first: $count, includeArchived: true) {{ nodes {{ ...IssueFields }} }}
}}
{_ISSUE}{_STEP}{_PERSON}
"""
HISTORY = f"""
query History($id: String!, $after: String) {{
  issue(id: $id) {{ history(first: 50, after: $after) {{ nodes {{ ...Step }} pageInfo {{ hasNextPage endCursor }} }} }}
}}
{_STEP}{_PERSON}
"""
FIND_ISSUE = """
query FindIssue($id: String!) { issue(id: $id) { id } }
"""
"""Finds an issue by its identifier, also by an earlier one from another team."""

COMMENTS = f"""
query Comments($filter: CommentFilter!, $count: Int!, $after: String) {{
  comments(filter: $filter, first: $count, after: $after, orderBy: createdAt) {{
    nodes {{ ...CommentFields }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}
{_COMMENT}{_PERSON}
"""
ORPHANED = """
query Orphaned($filter: IssueFilter!, $after: String) {
  issues(filter: $filter, first: 50, after: $after, orderBy: createdAt) {
    nodes { id identifier state { type } labels(first: 30) { nodes { name parent { name } } } }
    pageInfo { hasNextPage endCursor }
  }
}
"""
NOTES = """
query Notes($id: String!) {
  issue(id: $id) {
    attachments(first: 50, filter: { creator: { isMe: { eq: true } } }) {
      nodes { metadata createdAt creator { id } }
    }
  }
}
"""
ISSUE_STATE = """
query IssueState($id: String!) { issue(id: $id) { archivedAt team { id } state { id } } }
"""

PEOPLE = f"""
query People($ids: [ID!]!, $count: Int!) {{
  users(filter: {{ id: {{ in: $ids }} }}, first: $count, includeDisabled: true) {{ nodes {{ ...Person }} }}
}}
{_PERSON}
"""
"""Asks whether people are members, guests or no longer active."""

VIEWER = """
query Viewer { viewer { id name displayName app admin } organization { name urlKey } }
"""
TEAM = """
query Team($filter: TeamFilter!) {
  teams(filter: $filter, first: 1) {
    nodes {
      id key name
      states(first: 50) { nodes { id name type position } }
      gitAutomationStates(first: 20) { nodes { event state { id } } }
    }
  }
}
"""
TEAMS = """
query Teams { teams(first: 100) { nodes { key name } } }
"""
INTEGRATIONS = """
query Integrations { integrations(first: 100) { nodes { service } } }
"""
LABELS = """
query Labels($filter: IssueLabelFilter!, $after: String) {
  issueLabels(filter: $filter, first: 20, after: $after) {
    nodes { id name isGroup parent { name } team { id } }
    pageInfo { hasNextPage endCursor }
  }
}
"""

CREATE_LABEL = """
mutation CreateLabel($input: IssueLabelCreateInput!) {
  issueLabelCreate(input: $input) { success issueLabel { id name } }
}
"""
UPDATE_ISSUE = """
mutation UpdateIssue($id: String!, $input: IssueUpdateInput!) {
  issueUpdate(id: $id, input: $input) { success issue { updatedAt } }
}
"""
CREATE_ISSUE = """
mutation CreateIssue($input: IssueCreateInput!) {
  issueCreate(input: $input) { success issue { identifier } }
}
"""
CREATE_COMMENT = f"""
mutation CreateComment($input: CommentCreateInput!) {{
  commentCreate(input: $input) {{ success comment {{ ...CommentFields }} }}
}}
{_COMMENT}{_PERSON}
"""
UPDATE_COMMENT = f"""
mutation UpdateComment($id: String!, $input: CommentUpdateInput!) {{
  commentUpdate(id: $id, input: $input) {{ success comment {{ ...CommentFields }} }}
}}
{_COMMENT}{_PERSON}
"""
DELETE_COMMENT = """
mutation DeleteComment($id: String!) { commentDelete(id: $id) { success } }
"""
CREATE_REACTION = """
mutation CreateReaction($input: ReactionCreateInput!) { reactionCreate(input: $input) { success } }
"""
CREATE_ATTACHMENT = """
mutation CreateAttachment($input: AttachmentCreateInput!) { attachmentCreate(input: $input) { success } }
"""
"""Replaces an attachment with the same URL."""
