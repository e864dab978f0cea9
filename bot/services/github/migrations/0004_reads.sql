-- How much we were about to read, many requests at a time: a restart must not ask faster.
CREATE TABLE reads (at REAL NOT NULL, points INTEGER NOT NULL);
