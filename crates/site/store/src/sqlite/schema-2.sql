-- Version 2: what counters did. None is what it is in version 1.
CREATE TABLE counter(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE(name, unit));
CREATE TABLE rate(
    slice INTEGER NOT NULL, user INTEGER NOT NULL, job INTEGER NOT NULL, executable INTEGER NOT NULL,
    library INTEGER NOT NULL, phase INTEGER NOT NULL, counter INTEGER NOT NULL, samples INTEGER NOT NULL,
    nanos INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(slice, user, job, executable, library, phase, counter)) WITHOUT ROWID;
CREATE TABLE spread(
    slice INTEGER NOT NULL, user INTEGER NOT NULL, job INTEGER NOT NULL, counter INTEGER NOT NULL,
    bucket INTEGER NOT NULL, cores INTEGER NOT NULL, PRIMARY KEY(slice, user, job, counter, bucket)) WITHOUT ROWID;
CREATE TABLE rate_at(
    job INTEGER NOT NULL, user INTEGER NOT NULL, slice INTEGER NOT NULL, PRIMARY KEY(job, user, slice)) WITHOUT ROWID;
CREATE INDEX rate_user ON rate_at(user, slice);
