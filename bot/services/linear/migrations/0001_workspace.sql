-- Ends of the waits that the service imposed, by our own clock.
CREATE TABLE limits (name TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;

-- Whether a team answers us; '' is Linear itself.
CREATE TABLE standing (
  repository TEXT PRIMARY KEY,
  ok INTEGER NOT NULL,
  detail TEXT NOT NULL,
  asked TEXT NOT NULL,        -- what was refused; its next success clears it
  at REAL NOT NULL
) WITHOUT ROWID;

-- Issues: the fields that we use.
CREATE TABLE issues (
  id TEXT PRIMARY KEY,
  team TEXT NOT NULL,         -- the one under which we met it
  key TEXT NOT NULL,          -- as we call it, also when it was moved and is called otherwise
  project TEXT NOT NULL,      -- of ours that follows it; empty: none
  data TEXT NOT NULL          -- JSON
) WITHOUT ROWID;
CREATE INDEX issues_by_team ON issues (team);
CREATE INDEX issues_by_key ON issues (key);

-- Authorization of an issue: its requester, and the title and body that may be used.
CREATE TABLE consents (issue TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE comments (
  id TEXT PRIMARY KEY,
  issue TEXT NOT NULL,
  updated TEXT NOT NULL,      -- by the server's clock; an older state never replaces a newer one
  data TEXT NOT NULL          -- JSON
) WITHOUT ROWID;
CREATE INDEX comments_by_issue ON comments (issue);

-- How far each list has been read; saved together with the rows.
CREATE TABLE cursors (team TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (team, name))
WITHOUT ROWID;

-- Our own comments and notes by slug. A row without an id: it is not known whether it was posted.
CREATE TABLE said (
  issue TEXT NOT NULL,
  slug TEXT NOT NULL,
  id TEXT NOT NULL,
  digest TEXT NOT NULL,
  tried_at REAL NOT NULL,     -- by our own clock
  PRIMARY KEY (issue, slug)
) WITHOUT ROWID;

CREATE TABLE reactions (comment TEXT NOT NULL, reaction TEXT NOT NULL, PRIMARY KEY (comment, reaction)) WITHOUT ROWID;

-- Permissions of the author when this version of a comment was first read.
CREATE TABLE verdicts (
  comment TEXT NOT NULL, version TEXT NOT NULL, trusted INTEGER NOT NULL, may_push INTEGER NOT NULL,
  PRIMARY KEY (comment, version)
) WITHOUT ROWID;

-- Our last move of an issue for its last request.
CREATE TABLE moves (
  issue TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  came_from TEXT NOT NULL,    -- before our first move
  prior TEXT NOT NULL,        -- before our last one
  went_to TEXT NOT NULL,
  after TEXT NOT NULL         -- when it was moved before that, by the server's clock
) WITHOUT ROWID;
