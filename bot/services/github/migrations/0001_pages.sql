-- What GitHub said last, so that asking again costs nothing when nothing has changed.
CREATE TABLE pages (
  key TEXT PRIMARY KEY,       -- credential, media type and address: an ETag is good for these only
  etag TEXT NOT NULL,
  modified TEXT NOT NULL,     -- Last-Modified, for servers without ETags
  body TEXT NOT NULL,
  headers TEXT NOT NULL,      -- JSON
  next TEXT NOT NULL,
  used_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX pages_by_use ON pages (used_at);

-- Until when we were told to keep away, by our own clock.
CREATE TABLE limits (name TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;

-- When we wrote, as far as it counts: a restart must not write faster.
CREATE TABLE writes (at REAL NOT NULL, creates INTEGER NOT NULL);
CREATE INDEX writes_by_time ON writes (at);

-- Is a repository open to us; '' stands for all of GitHub.
CREATE TABLE standing (
  repository TEXT PRIMARY KEY,
  ok INTEGER NOT NULL,
  detail TEXT NOT NULL,
  asked TEXT NOT NULL,        -- what was refused; its next success clears it
  at REAL NOT NULL
) WITHOUT ROWID;
