-- Who asked for the work, and how much it changes. Of runs from before, the journal's first line tells who asked.
ALTER TABLE runs ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN extent TEXT NOT NULL DEFAULT '{}';

UPDATE runs SET person = coalesce(
    (SELECT substr(text, 1, instr(text, ' asked for it: ') - 1) FROM journal
     WHERE journal.key = runs.key AND journal.ordinal = runs.ordinal AND text LIKE '% asked for it: %'
     ORDER BY id LIMIT 1), '');
