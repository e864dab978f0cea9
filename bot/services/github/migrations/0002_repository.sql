-- Issues, comments, inline comments, reviews and pull requests: the fields that we use.
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

-- How far each list has been read; saved together with the rows.
CREATE TABLE cursors (
  repository TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (repository, name)
) WITHOUT ROWID;

-- Our own comments by slug. A row without an id: it is not known whether it was posted.
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

-- Our own reactions: GitHub gives their count only.
CREATE TABLE reactions (
  repository TEXT NOT NULL, comment TEXT NOT NULL, reaction TEXT NOT NULL, PRIMARY KEY (repository, comment, reaction)
) WITHOUT ROWID;

-- Permission of the author when this version of a comment was first read.
CREATE TABLE verdicts (
  repository TEXT NOT NULL, comment TEXT NOT NULL, version TEXT NOT NULL, trusted INTEGER NOT NULL,
  PRIMARY KEY (repository, comment)
) WITHOUT ROWID;
