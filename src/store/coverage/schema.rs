//! The tables of `coverage.sqlite`.
//!
//! `chunks` and `segments` are a published interface: scripts read them, so their columns and keys
//! never change. All else is ours.

use crate::store::db::Kind;

/// The coverage ledger.
pub(super) static KIND: Kind = Kind {
    name: "coverage ledger",
    // "auwC"
    application_id: 0x6175_7743,
    migrations: &[V1],
};

const V1: &str = "
-- Every planned chunk; path is a blob where it is not UTF-8.
CREATE TABLE chunks (
    repo TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    path TEXT NOT NULL,
    read_at TEXT,
    complete INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (repo, chunk_id)
);
CREATE TABLE segments (
    segment_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    started_at TEXT,
    done_at TEXT,
    tokens INTEGER NOT NULL DEFAULT 0
);

-- One row a generation; the last one is in force. `policy` and `plan` are records.
CREATE TABLE plans (
    generation INTEGER PRIMARY KEY,
    plan_id TEXT NOT NULL,
    policy TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE TABLE repos (
    repo_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
-- What a chunk's planned row cannot say: its segment and its tokens. Numbers instead of names,
-- since there may be a million of them.
CREATE TABLE places (
    repo_no INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (repo_no, chunk)
) STRICT, WITHOUT ROWID;
-- The segments in order; the last three columns are the record's lists, as JSON.
CREATE TABLE segment_records (
    seq INTEGER PRIMARY KEY,
    segment_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    chunks TEXT NOT NULL,
    chunk_tokens TEXT NOT NULL,
    files TEXT NOT NULL
) STRICT;
CREATE INDEX synthesis ON segment_records (seq) WHERE kind = 'synthesis';
CREATE TABLE segment_progress (
    seq INTEGER PRIMARY KEY,
    unread INTEGER NOT NULL
) STRICT;
-- The pending read segments, so that the first is found without a search.
CREATE TABLE queue (seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE claims (
    segment_id TEXT PRIMARY KEY,
    reader TEXT NOT NULL,
    since TEXT NOT NULL
) STRICT;
CREATE INDEX claims_by_reader ON claims (reader);
CREATE TABLE counters (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    generation INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    active INTEGER NOT NULL,
    done INTEGER NOT NULL,
    read_segments_left INTEGER NOT NULL,
    chunks_planned INTEGER NOT NULL,
    chunks_complete INTEGER NOT NULL,
    tokens_planned INTEGER NOT NULL,
    tokens_complete INTEGER NOT NULL,
    export_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE reads (
    id INTEGER PRIMARY KEY,
    repo TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    body TEXT,
    file TEXT,
    path ANY,
    from_byte INTEGER,
    to_byte INTEGER,
    reader TEXT NOT NULL,
    how TEXT NOT NULL,
    generation INTEGER NOT NULL,
    plan TEXT NOT NULL,
    segment TEXT NOT NULL,
    at TEXT NOT NULL,
    head TEXT,
    clean INTEGER
) STRICT;
CREATE INDEX reads_by_chunk ON reads (repo, chunk_id);
CREATE TRIGGER reads_stay BEFORE DELETE ON reads
    BEGIN SELECT RAISE(ABORT, 'reads are never deleted'); END;
CREATE TRIGGER reads_stand BEFORE UPDATE ON reads
    BEGIN SELECT RAISE(ABORT, 'reads are never changed'); END;

CREATE TABLE findings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    generation INTEGER NOT NULL,
    plan TEXT NOT NULL,
    segment TEXT NOT NULL,
    reader TEXT NOT NULL,
    at TEXT NOT NULL,
    text TEXT NOT NULL,
    appended INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX findings_by_segment ON findings (segment);
CREATE INDEX findings_to_append ON findings (id) WHERE appended = 0;
CREATE TRIGGER findings_stay BEFORE DELETE ON findings
    BEGIN SELECT RAISE(ABORT, 'findings are never deleted'); END;
";
