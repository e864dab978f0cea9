-- Permission to push of that author. NULL: not read yet, so the comment is judged again.
ALTER TABLE verdicts ADD COLUMN may_push INTEGER;
UPDATE verdicts SET may_push = 0 WHERE NOT trusted;
