-- The model whose price was not known when the cost of a run was counted; empty if all were known.
ALTER TABLE runs ADD COLUMN spend_unpriced TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_unpriced ON runs (spend_unpriced) WHERE spend_unpriced != '';
