-- How turns ended, good or bad: what pauses a project follows from it. Rows are only ever added.
CREATE TABLE endings (
    id       INTEGER PRIMARY KEY,
    project  TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL,
    turn     INTEGER NOT NULL,
    begun_at REAL    NOT NULL,
    at       REAL    NOT NULL,
    failure  TEXT    NOT NULL,
    detail   TEXT    NOT NULL,
    UNIQUE (key, ordinal, turn)
) STRICT;

CREATE INDEX endings_of_projects ON endings (project, at, failure);

CREATE TRIGGER endings_are_never_changed BEFORE UPDATE ON endings BEGIN SELECT RAISE(ABORT, 'endings are only added'); END;
CREATE TRIGGER endings_are_never_removed BEFORE DELETE ON endings BEGIN SELECT RAISE(ABORT, 'endings are only added'); END;
