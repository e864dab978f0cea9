-- Reads, recorded many at a time in advance: a restart must not read faster.
CREATE TABLE reads (at REAL NOT NULL, points INTEGER NOT NULL);
