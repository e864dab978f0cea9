-- GitHub's last answers, for conditional requests.
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

-- Ends of the waits that the service imposed, by our own clock.
CREATE TABLE limits (name TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;

-- Times of our last writes: a restart must not write faster.
CREATE TABLE writes (at REAL NOT NULL, creates INTEGER NOT NULL);
CREATE INDEX writes_by_time ON writes (at);

-- Whether a repository answers us; '' is GitHub itself.
CREATE TABLE standing (
  repository TEXT PRIMARY KEY,
  ok INTEGER NOT NULL,
  detail TEXT NOT NULL,
  asked TEXT NOT NULL,        -- what was refused; its next success clears it
  at REAL NOT NULL
) WITHOUT ROWID;
