-- Issues, comments, remarks, reviews and pull requests as GitHub described them last, cut down to what we use.
CREATE TABLE records (
  repository TEXT NOT NULL,
  kind TEXT NOT NULL,
  id INTEGER NOT NULL,
  number INTEGER NOT NULL,    -- of the issue or pull request it belongs to
  updated TEXT NOT NULL,      -- by the server's clock; an older state never replaces a newer one
  data TEXT NOT NULL,         -- JSON
  PRIMARY KEY (repository, kind, id)
) WITHOUT ROWID;
CREATE INDEX records_by_number ON records (repository, kind, number);

-- How far each list has been read; saved together with what was read.
CREATE TABLE cursors (
  repository TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (repository, name)
) WITHOUT ROWID;

-- Our own comments by slug. A row without an id: we tried, and do not know what has become of it.
CREATE TABLE said (
  repository TEXT NOT NULL,
  number INTEGER NOT NULL,
  slug TEXT NOT NULL,
  id INTEGER NOT NULL DEFAULT 0,
  inline INTEGER NOT NULL,
  digest TEXT NOT NULL,
  tried_at REAL NOT NULL,     -- by our own clock
  PRIMARY KEY (repository, number, slug)
) WITHOUT ROWID;

-- Our own reactions: GitHub only tells how many there are.
CREATE TABLE reactions (
  repository TEXT NOT NULL, comment TEXT NOT NULL, reaction TEXT NOT NULL, PRIMARY KEY (repository, comment, reaction)
) WITHOUT ROWID;

-- Whether the author of a comment might steer when we first saw it as it is.
CREATE TABLE verdicts (
  repository TEXT NOT NULL, comment TEXT NOT NULL, version TEXT NOT NULL, trusted INTEGER NOT NULL,
  PRIMARY KEY (repository, comment)
) WITHOUT ROWID;
