-- Slug of the comment that says why a step of a run fails for long; empty while it succeeds.
ALTER TABLE runs ADD COLUMN stuck TEXT NOT NULL DEFAULT '';
