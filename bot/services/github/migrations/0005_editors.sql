-- Last editor of that version, if they may not steer.
ALTER TABLE verdicts ADD COLUMN edited_by TEXT NOT NULL DEFAULT '';
