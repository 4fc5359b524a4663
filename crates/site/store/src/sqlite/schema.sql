-- Version 1. What each table is for stands in docs/store.md. Numbers that stand for none: 0 for what other tables name, -1 for users,
-- cores and ranks, -2^63 for addresses (an address is 64 bits; sqlite3 shows those above 2^63 as negative).
CREATE TABLE setting(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE node(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first INTEGER NOT NULL, last INTEGER NOT NULL,
    cores INTEGER NOT NULL, sampler INTEGER NOT NULL);
CREATE TABLE job(id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner INTEGER NOT NULL, UNIQUE(name, owner));
CREATE TABLE module(id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id TEXT NOT NULL, UNIQUE(path, build_id));
CREATE TABLE phase(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE seen(
    node INTEGER NOT NULL, started INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY(node, started, first)) WITHOUT ROWID;
CREATE TABLE slice(
    id INTEGER PRIMARY KEY, node INTEGER NOT NULL, level INTEGER NOT NULL, begin INTEGER NOT NULL,
    width INTEGER NOT NULL, samples INTEGER NOT NULL, nanos INTEGER NOT NULL);
CREATE UNIQUE INDEX slice_node ON slice(node, level, begin);
CREATE INDEX slice_time ON slice(level, begin);
CREATE TABLE share(
    slice INTEGER NOT NULL, user INTEGER NOT NULL, job INTEGER NOT NULL, executable INTEGER NOT NULL,
    library INTEGER NOT NULL, phase INTEGER NOT NULL, activity INTEGER NOT NULL, core INTEGER NOT NULL,
    address INTEGER NOT NULL, samples INTEGER NOT NULL, nanos INTEGER NOT NULL,
    PRIMARY KEY(slice, user, job, executable, library, phase, activity, core, address)) WITHOUT ROWID;
CREATE TABLE part(
    slice INTEGER NOT NULL, user INTEGER NOT NULL, job INTEGER NOT NULL, executable INTEGER NOT NULL,
    library INTEGER NOT NULL, phase INTEGER NOT NULL, activity INTEGER NOT NULL, samples INTEGER NOT NULL,
    nanos INTEGER NOT NULL, PRIMARY KEY(slice, user, job, executable, library, phase, activity)) WITHOUT ROWID;
CREATE TABLE user_at(
    user INTEGER NOT NULL, slice INTEGER NOT NULL, samples INTEGER NOT NULL, nanos INTEGER NOT NULL,
    PRIMARY KEY(user, slice)) WITHOUT ROWID;
CREATE TABLE job_at(
    job INTEGER NOT NULL, slice INTEGER NOT NULL, user INTEGER NOT NULL, samples INTEGER NOT NULL,
    nanos INTEGER NOT NULL, PRIMARY KEY(job, slice, user)) WITHOUT ROWID;
CREATE TABLE module_at(module INTEGER NOT NULL, slice INTEGER NOT NULL, PRIMARY KEY(module, slice)) WITHOUT ROWID;
CREATE TABLE loss(
    slice INTEGER NOT NULL, kind INTEGER NOT NULL, rank INTEGER NOT NULL, detail TEXT NOT NULL,
    count INTEGER NOT NULL, PRIMARY KEY(slice, kind, rank, detail)) WITHOUT ROWID;
