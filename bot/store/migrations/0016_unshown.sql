-- what a service refused to show is tried again later
ALTER TABLE runs ADD COLUMN unshown TEXT NOT NULL DEFAULT '[]';
CREATE INDEX runs_unshown ON runs (key) WHERE unshown != '[]';
