-- Issues and pull requests of a project share one sequence of numbers: `shop#4` means one thing only.
CREATE TABLE numbers (
    project TEXT PRIMARY KEY,
    last    INTEGER NOT NULL
) STRICT;

CREATE TABLE issues (
    project    TEXT NOT NULL,
    number     INTEGER NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    author     TEXT NOT NULL,
    open       INTEGER NOT NULL DEFAULT 1,
    priority   INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    PRIMARY KEY (project, number)
) STRICT;

CREATE TABLE labels (
    project TEXT NOT NULL,
    number  INTEGER NOT NULL,
    name    TEXT NOT NULL,
    by      TEXT NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (project, number, name),
    FOREIGN KEY (project, number) REFERENCES issues
) STRICT;

CREATE INDEX labels_by_name ON labels (project, name);

CREATE TABLE pulls (
    project    TEXT NOT NULL,
    number     INTEGER NOT NULL,
    branch     TEXT NOT NULL,
    base       TEXT NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    author     TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'merged', 'closed')),
    draft      INTEGER NOT NULL DEFAULT 1,
    head       TEXT NOT NULL,           -- last seen tip; while open, the branch itself is asked
    created_at REAL NOT NULL,
    ended_by   TEXT NOT NULL DEFAULT '',
    ended_at   REAL NOT NULL DEFAULT 0,
    merged_as  TEXT NOT NULL DEFAULT '',
    merged_on  TEXT NOT NULL DEFAULT '', -- the base's tip before the merge: what the diff is shown against
    PRIMARY KEY (project, number)
) STRICT;

CREATE INDEX pulls_by_branch ON pulls (project, branch, number);
CREATE UNIQUE INDEX one_open_pull_per_branch ON pulls (project, branch) WHERE state = 'open';

-- What a merge is about to put on the base branch. Written before it lands, so that a repeat can tell whether it did.
CREATE TABLE landings (
    project   TEXT NOT NULL,
    number    INTEGER NOT NULL,
    commit_id TEXT NOT NULL,
    onto      TEXT NOT NULL,
    head      TEXT NOT NULL,
    PRIMARY KEY (project, number),
    FOREIGN KEY (project, number) REFERENCES pulls
) STRICT;

CREATE TABLE comments (
    id      INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    number  INTEGER NOT NULL,
    author  TEXT NOT NULL,
    slug    TEXT,                        -- only ours have one; people's have none
    text    TEXT NOT NULL,
    verdict TEXT NOT NULL DEFAULT '',
    at      REAL NOT NULL
) STRICT;

CREATE INDEX comments_by_place ON comments (project, number, id);
CREATE UNIQUE INDEX one_comment_per_slug ON comments (project, number, slug) WHERE slug IS NOT NULL;

CREATE TABLE remarks (
    comment  INTEGER NOT NULL REFERENCES comments,
    position INTEGER NOT NULL,
    path     TEXT NOT NULL,
    line     INTEGER NOT NULL,
    text     TEXT NOT NULL,
    hunk     TEXT NOT NULL,
    PRIMARY KEY (comment, position)
) STRICT;

CREATE TABLE reactions (
    comment  INTEGER NOT NULL REFERENCES comments,
    reaction TEXT NOT NULL,
    PRIMARY KEY (comment, reaction)
) STRICT;
