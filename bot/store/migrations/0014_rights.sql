-- Comments that a person accepted although a stranger edited them, or their author may not steer any more.
ALTER TABLE runs ADD COLUMN consent_accepted_comments TEXT NOT NULL DEFAULT '[]';
-- The comment with the last approval.
ALTER TABLE runs ADD COLUMN consent_approved_in TEXT NOT NULL DEFAULT '';
