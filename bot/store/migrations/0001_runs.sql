CREATE TABLE runs (
    key              TEXT    NOT NULL,
    ordinal          INTEGER NOT NULL,
    project          TEXT    NOT NULL,
    phase            TEXT    NOT NULL,
    cause            TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    begun_at         REAL    NOT NULL,
    changed_at       REAL    NOT NULL,
    turn             INTEGER NOT NULL,
    ended            INTEGER NOT NULL,
    turn_at          REAL    NOT NULL,
    failures         INTEGER NOT NULL,
    losses           INTEGER NOT NULL,
    not_before       REAL    NOT NULL,
    session          TEXT    NOT NULL,
    session_cost_usd REAL    NOT NULL,
    spent_usd        REAL    NOT NULL,
    budget_usd       REAL    NOT NULL,
    tokens           INTEGER NOT NULL,
    shown            TEXT    NOT NULL,
    shown_at         REAL    NOT NULL,
    PRIMARY KEY (key, ordinal)
) STRICT;

CREATE INDEX runs_active ON runs (phase) WHERE phase != 'done';

-- At most one run of an issue is under way, whoever asks twice.
CREATE UNIQUE INDEX one_active_run ON runs (key) WHERE phase != 'done';

CREATE TABLE heard (
    key       TEXT    NOT NULL,
    ordinal   INTEGER NOT NULL,
    comment   TEXT    NOT NULL,
    place     TEXT    NOT NULL,
    turn      INTEGER NOT NULL,
    outcome   TEXT    NOT NULL,
    commit_id TEXT    NOT NULL,
    PRIMARY KEY (key, ordinal, comment),
    FOREIGN KEY (key, ordinal) REFERENCES runs (key, ordinal)
) STRICT, WITHOUT ROWID;

-- What was spent, turn by turn. Rows are only ever added.
CREATE TABLE money (
    key     TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    project TEXT    NOT NULL,
    at      REAL    NOT NULL,
    usd     REAL    NOT NULL,
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (key, ordinal, turn)
) STRICT, WITHOUT ROWID;

CREATE INDEX money_at ON money (at);

-- History for people. Rows are only ever added.
CREATE TABLE journal (
    id      INTEGER PRIMARY KEY,
    key     TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    at      REAL    NOT NULL,
    text    TEXT    NOT NULL
) STRICT;

CREATE INDEX journal_run ON journal (key, ordinal);

CREATE TRIGGER money_is_never_changed BEFORE UPDATE ON money BEGIN SELECT RAISE(ABORT, 'money is only added'); END;
CREATE TRIGGER money_is_never_removed BEFORE DELETE ON money BEGIN SELECT RAISE(ABORT, 'money is only added'); END;
CREATE TRIGGER journal_is_never_changed BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is only added to'); END;
CREATE TRIGGER journal_is_never_removed BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is only added to'); END;
