-- When commits were last pushed whose CI waits for approval; 0: nothing waits.
ALTER TABLE runs ADD COLUMN checks_ci_held_at REAL NOT NULL DEFAULT 0;
