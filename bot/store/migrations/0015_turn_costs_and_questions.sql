-- What turns have cost so far that are not in the ledger yet: counted with every answer of the model.
ALTER TABLE turns ADD COLUMN key     TEXT    NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN turn    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN usd     REAL    NOT NULL DEFAULT 0.0;
ALTER TABLE turns ADD COLUMN tokens  INTEGER NOT NULL DEFAULT 0;

-- The question that waits for approval, and when it was asked.
ALTER TABLE runs ADD COLUMN question TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN asked_at REAL NOT NULL DEFAULT 0;
