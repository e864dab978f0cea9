-- The inline remark that a comment of ours answers: `COMMENT.POSITION`; empty: it is said in the conversation.
ALTER TABLE comments ADD COLUMN thread TEXT NOT NULL DEFAULT '';
