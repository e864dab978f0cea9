-- A person has reopened the run's pull request, so it needs no label until the next request.
ALTER TABLE runs ADD COLUMN reopened INTEGER NOT NULL DEFAULT 0;
