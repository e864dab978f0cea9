-- Turns that are not taken in yet: how they ended, or how far they are known to have come.
CREATE TABLE turns (
    turn_id TEXT NOT NULL PRIMARY KEY,
    at      REAL NOT NULL,
    report  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What another daemon spent, or an earlier database knew, is one row for many turns.
ALTER TABLE money ADD COLUMN turns   INTEGER NOT NULL DEFAULT 1;
ALTER TABLE money ADD COLUMN seconds REAL    NOT NULL DEFAULT 0.0;

ALTER TABLE runs ADD COLUMN seconds      REAL    NOT NULL DEFAULT 0.0;
ALTER TABLE runs ADD COLUMN lost_at      REAL    NOT NULL DEFAULT 0.0;
ALTER TABLE runs ADD COLUMN budget_turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN budget_hours REAL    NOT NULL DEFAULT 0.0;
