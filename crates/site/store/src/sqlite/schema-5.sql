-- Version 5: which times of a node have a batch, so that none counts twice, and what an operator removed.
CREATE TABLE span(
    node INTEGER NOT NULL, begin INTEGER NOT NULL, until INTEGER NOT NULL, PRIMARY KEY(node, begin)) WITHOUT ROWID;
CREATE TABLE forgotten(
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, user INTEGER NOT NULL, node TEXT NOT NULL, begin INTEGER NOT NULL,
    until INTEGER NOT NULL, slices INTEGER NOT NULL, samples INTEGER NOT NULL);
