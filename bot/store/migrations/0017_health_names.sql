-- Names of health records, as they are displayed now.
UPDATE health SET name = 'proxy' WHERE name = 'gate';
UPDATE health SET name = 'poll ' || substr(name, 6) WHERE name LIKE 'look %';
UPDATE health SET name = 'lease ' || substr(name, 7) WHERE name LIKE 'claim %';
UPDATE health SET name = 'rate limit ' || substr(name, 7) WHERE name LIKE 'quota %';
