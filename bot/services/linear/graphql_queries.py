"""Everything that is ever asked of Linear, as it is sent. Each is held against Linear's own schema in a test.

What an answer costs goes by the counts that are asked for, not by what comes: so `first` is as small as will do.
https://linear.app/developers/rate-limiting
"""

_WHO = "fragment Who on User { id name displayName email guest app active }"

_WHOLE = """
fragment Whole on Issue {
  id identifier title description priority url createdAt updatedAt archivedAt trashed
  team { id key }
  state { id name type }
  creator { ...Who }
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
  actor { ...Who }
  descriptionUpdatedBy { ...Who }
}
"""
_SPOKEN = """
fragment Spoken on Comment {
  id body createdAt updatedAt editedAt parentId issueId
  parent { id }
  issue { id }
  user { ...Who }
}
"""

NEWS = """
query News($filter: IssueFilter!) {
  issues(filter: $filter, first: 1, includeArchived: true) { nodes { id } }
}
"""
"""Is there anything new at all? An idle look is this and nothing else."""

LISTED = """
query Listed($filter: IssueFilter!, $after: String) {
  issues(filter: $filter, first: 50, after: $after, orderBy: createdAt, includeArchived: true) {
    nodes { id updatedAt }
    pageInfo { hasNextPage endCursor }
  }
}
"""
DETAILS = f"""
query Details($ids: [ID!]!, $count: Int!) {{
  issues(filter: {{ id: {{ in: $ids }} }}, first: $count, includeArchived: true) {{ nodes {{ ...Whole }} }}
}}
{_WHOLE}{_STEP}{_WHO}
"""
HISTORY = f"""
query History($id: String!, $after: String) {{
  issue(id: $id) {{ history(first: 50, after: $after) {{ nodes {{ ...Step }} pageInfo {{ hasNextPage endCursor }} }} }}
}}
{_STEP}{_WHO}
"""
FOUND = """
query Found($id: String!) { issue(id: $id) { id } }
"""
"""By the identifier it has, or had before it was moved to another team."""

SAID = f"""
query Said($filter: CommentFilter!, $count: Int!, $after: String) {{
  comments(filter: $filter, first: $count, after: $after, orderBy: createdAt) {{
    nodes {{ ...Spoken }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}
{_SPOKEN}{_WHO}
"""
LEFT = """
query Left($filter: IssueFilter!, $after: String) {
  issues(filter: $filter, first: 50, after: $after, orderBy: createdAt) {
    nodes { id identifier state { type } labels(first: 30) { nodes { name parent { name } } } }
    pageInfo { hasNextPage endCursor }
  }
}
"""
KEPT = """
query Kept($id: String!) {
  issue(id: $id) {
    attachments(first: 50, filter: { creator: { isMe: { eq: true } } }) {
      nodes { metadata createdAt creator { id } }
    }
  }
}
"""
PLACE = """
query Place($id: String!) { issue(id: $id) { archivedAt team { id } state { id } } }
"""

VIEWER = """
query Viewer { viewer { id name displayName app admin } organization { name urlKey } }
"""
TEAM = """
query Team($key: String!) {
  teams(filter: { key: { eqIgnoreCase: $key } }, first: 1) {
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

MAKE_LABEL = """
mutation MakeLabel($input: IssueLabelCreateInput!) {
  issueLabelCreate(input: $input) { success issueLabel { id name } }
}
"""
CHANGE = """
mutation Change($id: String!, $input: IssueUpdateInput!) {
  issueUpdate(id: $id, input: $input) { success }
}
"""
FILE = """
mutation File($input: IssueCreateInput!) {
  issueCreate(input: $input) { success issue { identifier } }
}
"""
SAY = f"""
mutation Say($input: CommentCreateInput!) {{
  commentCreate(input: $input) {{ success comment {{ ...Spoken }} }}
}}
{_SPOKEN}{_WHO}
"""
SAY_ANEW = f"""
mutation SayAnew($id: String!, $input: CommentUpdateInput!) {{
  commentUpdate(id: $id, input: $input) {{ success comment {{ ...Spoken }} }}
}}
{_SPOKEN}{_WHO}
"""
UNSAY = """
mutation Unsay($id: String!) { commentDelete(id: $id) { success } }
"""
REACT = """
mutation React($input: ReactionCreateInput!) { reactionCreate(input: $input) { success } }
"""
ATTACH = """
mutation Attach($input: AttachmentCreateInput!) { attachmentCreate(input: $input) { success } }
"""
"""With a URL that is there already it changes that one: twice is once."""
