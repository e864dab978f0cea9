-- Names that a repository has had: keys, markers and the cache stay under the first one.
CREATE TABLE repositories (name TEXT PRIMARY KEY, id INTEGER NOT NULL, first_name TEXT NOT NULL);
INSERT INTO repositories (name, id, first_name)
SELECT repository, json_extract(value, '$.id'),
    CASE WHEN lower(json_extract(value, '$.name')) = repository THEN json_extract(value, '$.name') ELSE repository END
FROM cursors WHERE name = 'facts' AND json_extract(value, '$.id') IS NOT NULL;
