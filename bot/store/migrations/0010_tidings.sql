-- What people are to be told of, once each: saved with the change it tells of. Ids are never used twice.
CREATE TABLE tidings (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    happening TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    occasion  TEXT    NOT NULL,
    at        REAL    NOT NULL,
    words     TEXT    NOT NULL,
    over      INTEGER NOT NULL,
    UNIQUE (happening, subject, occasion)
) STRICT;

-- How far each channel was told. Its address is a secret, so only what follows from it is kept.
CREATE TABLE channels (
    id         TEXT    NOT NULL PRIMARY KEY,
    told       INTEGER NOT NULL,
    trying     INTEGER NOT NULL,
    doubted    INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    not_before REAL    NOT NULL,
    problem    TEXT    NOT NULL,
    sent       INTEGER NOT NULL,
    failed     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How everything was that a daemon depends on, when it looked last; and which troubles people were told of.
CREATE TABLE health (
    name   TEXT    NOT NULL PRIMARY KEY,
    ok     INTEGER NOT NULL,
    detail TEXT    NOT NULL,
    still  TEXT    NOT NULL,
    since  REAL    NOT NULL,
    told   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
