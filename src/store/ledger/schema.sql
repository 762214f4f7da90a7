-- A repository's ledger: its index and its own reads.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every path and its fate. `key` is the path with NUL for '/', so that byte order is tree order.
-- `stat` is compared as bytes: dev, ino, size, mtime, ctime, mode. `racy`: hash it again next time.
CREATE TABLE files (
    id       INTEGER PRIMARY KEY,
    key      BLOB    NOT NULL UNIQUE,
    fate     INTEGER NOT NULL,
    detail   TEXT,
    stat     BLOB,
    racy     INTEGER NOT NULL DEFAULT 0,
    size     INTEGER,
    hash     BLOB,
    encoding TEXT,
    unterminated INTEGER NOT NULL DEFAULT 0,
    lines    INTEGER NOT NULL DEFAULT 0,
    tokens   INTEGER NOT NULL DEFAULT 0,
    chunks   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A file's chunks in order, packed: see cuts.rs. Apart from `files`, so that a scan reads little.
CREATE TABLE cuts (
    file   INTEGER PRIMARY KEY REFERENCES files(id) ON DELETE CASCADE,
    packed BLOB NOT NULL
) STRICT;

-- Chunk ids, to find a chunk by its id and to see two that clash. `body` is the first 8 bytes of
-- the body's hash, `added` the change of the index (meta `changes`) that brought the chunk.
CREATE TABLE chunk_ids (
    id    INTEGER PRIMARY KEY,
    file  INTEGER NOT NULL,
    body  INTEGER NOT NULL,
    added INTEGER NOT NULL
) STRICT;

-- What has been read: one row a chunk, kept when the chunk vanishes, so that a reverted edit finds
-- its read again. `file` is the hash of the file then, `key` its path, `since` the change of the
-- index at which it was read. `given`: the read has moved to another chunk with the same body.
CREATE TABLE marks (
    id    INTEGER PRIMARY KEY,
    body  BLOB    NOT NULL,
    file  BLOB    NOT NULL,
    key   BLOB    NOT NULL,
    since INTEGER NOT NULL,
    given INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Who read what, when and how. Append-only: no command deletes a row.
CREATE TABLE reads (
    seq       INTEGER PRIMARY KEY,
    chunk_id  TEXT NOT NULL,
    body      TEXT NOT NULL,
    file      TEXT NOT NULL,
    path      BLOB NOT NULL,
    byte_from INTEGER NOT NULL,
    byte_to   INTEGER NOT NULL,
    reader    TEXT NOT NULL,
    how       TEXT NOT NULL,
    at        TEXT NOT NULL,
    head      TEXT,
    clean     INTEGER
) STRICT;
CREATE TRIGGER reads_stay BEFORE DELETE ON reads
BEGIN SELECT RAISE(ABORT, 'reads are never deleted'); END;
CREATE TRIGGER reads_stand BEFORE UPDATE ON reads
BEGIN SELECT RAISE(ABORT, 'reads are never changed'); END;
