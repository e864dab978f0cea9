-- Whether that author might push as well. NULL: nobody asked, so the comment is judged anew; no stranger's is.
ALTER TABLE verdicts ADD COLUMN may_push INTEGER;
UPDATE verdicts SET may_push = 0 WHERE NOT trusted;
