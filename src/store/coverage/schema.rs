//! The tables of `coverage.sqlite`.
//!
//! `chunks` and `segments` are a published interface: scripts read them, so their columns and keys
//! never change. All else is ours.

use crate::store::db::Kind;
use crate::store::stamp;

/// The coverage ledger.
pub(super) static KIND: Kind = Kind {
    name: "coverage ledger",
    // "auwC"
    application_id: 0x6175_7743,
    migrations: &[V1, V2, stamp::TABLE, LEASES, MARKS, EVIDENCE],
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

const V2: &str = "
-- The revision in which a chunk came into the plan, and the one in force.
ALTER TABLE places ADD COLUMN added INTEGER NOT NULL DEFAULT 1;
ALTER TABLE counters ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
-- The number of the last read segment that the generation ever had.
ALTER TABLE counters ADD COLUMN last_read INTEGER NOT NULL DEFAULT 0;
UPDATE counters SET last_read = (SELECT coalesce(max(CAST(substr(segment_id, 6) AS INTEGER)), 0)
    FROM segment_records WHERE segment_id LIKE 'read-%');

-- Every plan there was: `plans` has the last one of each generation.
CREATE TABLE revisions (
    generation INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    plan_id TEXT NOT NULL,
    made_at TEXT NOT NULL,
    PRIMARY KEY (generation, revision)
) STRICT, WITHOUT ROWID;
INSERT INTO revisions SELECT generation, 1, plan_id, created_at FROM plans;

-- What was read in this generation, where it is known what that was. `since` is the revision in
-- force then. When the chunk leaves the plan the read stays, with what the plan knew of it: `seq`,
-- `path`, `read_at`. `given`: another chunk has taken it over.
CREATE TABLE marks (
    repo_no INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    body BLOB NOT NULL,
    file BLOB,
    since INTEGER NOT NULL,
    given INTEGER NOT NULL DEFAULT 0,
    seq INTEGER,
    path ANY,
    read_at TEXT,
    PRIMARY KEY (repo_no, chunk)
) STRICT, WITHOUT ROWID;
CREATE INDEX freed_marks ON marks (given) WHERE path IS NOT NULL;
INSERT OR IGNORE INTO marks (repo_no, chunk, body, file, since)
    SELECT p.repo_no, p.chunk, unhex(x.body), unhex(x.file), 1
    FROM places p JOIN repos r USING (repo_no)
    JOIN reads x ON x.repo = r.name AND x.chunk_id = printf('%016x', p.chunk)
    JOIN chunks c ON c.repo = x.repo AND c.chunk_id = x.chunk_id AND c.complete <> 0
    WHERE x.generation = (SELECT generation FROM counters)
        AND length(unhex(x.body)) = 32;
";

const LEASES: &str = "
-- For how long a claim stands without being renewed, and its end by the time of day and by the time
-- since a start of the machine, all in milliseconds. A claim without these stands until it is given back.
ALTER TABLE claims ADD COLUMN length INTEGER;
ALTER TABLE claims ADD COLUMN until INTEGER;
ALTER TABLE claims ADD COLUMN boot TEXT;
ALTER TABLE claims ADD COLUMN boot_until INTEGER;
-- Claims whose lease ran out. `passed`: their reader has taken another segment since.
CREATE TABLE lapses (
    segment_id TEXT NOT NULL,
    reader TEXT NOT NULL,
    since TEXT NOT NULL,
    length INTEGER NOT NULL,
    at TEXT NOT NULL,
    passed INTEGER NOT NULL,
    PRIMARY KEY (segment_id, reader)
) STRICT, WITHOUT ROWID;
";

const MARKS: &str = "
-- What was delivered under a plan with marks: what is known of it, and the hashes of the marks that
-- prove it, both as JSON.
CREATE TABLE unconfirmed (
    reader TEXT NOT NULL,
    segment TEXT NOT NULL,
    repo TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    evidence TEXT NOT NULL,
    marks TEXT NOT NULL,
    confirmed INTEGER NOT NULL,
    PRIMARY KEY (reader, segment, repo, chunk_id)
) STRICT, WITHOUT ROWID;
";

const EVIDENCE: &str = "
-- How the read was made that a moved or an imported one stands for; absent where that is not known.
ALTER TABLE reads ADD COLUMN origin TEXT;
-- The history from its end.
CREATE INDEX reads_by_time ON reads (at);

-- What was imported before there was a plan, in generation 0; and that it counts under the first
-- one, once that is done.
CREATE INDEX reads_waiting ON reads (generation) WHERE generation = 0;
CREATE TABLE counted_imports (only_row INTEGER PRIMARY KEY CHECK (only_row = 1)) STRICT;

-- What --strict need not have read, and why. One that is removed stays, so that an old export does
-- not bring it back.
CREATE TABLE waivers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    glob TEXT NOT NULL,
    reason TEXT NOT NULL,
    reader TEXT NOT NULL,
    at TEXT NOT NULL,
    removed_at TEXT,
    removed_by TEXT
) STRICT;
CREATE TRIGGER waivers_stay BEFORE DELETE ON waivers
    BEGIN SELECT RAISE(ABORT, 'waivers are never deleted'); END;
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::db::Db;

    static FIRST: Kind = Kind { migrations: &[V1], ..KIND };

    /// A plan of three chunks as the first schema had it: one read with its hashes, one read without,
    /// one unread.
    const STATE: &str = "
        INSERT INTO plans VALUES (1, 'old', '{}', '{}', 'then');
        INSERT INTO repos VALUES (1, 'r');
        INSERT INTO counters VALUES (1, 1, 2, 0, 0, 1, 3, 2, 30, 20, 100);
        INSERT INTO segment_records VALUES (1, 'read-12', 'read', '[]', '[]', '[]'),
            (2, 'synthesis-1', 'synthesis', '[]', '[]', '[]');
        INSERT INTO chunks (repo, chunk_id, path, complete) VALUES
            ('r', 'fffffffffffffffe', 'a', 1), ('r', '0000000000000002', 'a', 1),
            ('r', '0000000000000003', 'a', 0);
        INSERT INTO places VALUES (1, -2, 1, 10), (1, 2, 1, 10), (1, 3, 1, 10);
        INSERT INTO reads (repo, chunk_id, body, file, reader, how, generation, plan, segment, at)
            VALUES ('r', 'fffffffffffffffe', printf('%064x', 7), printf('%064x', 8), 'x', 'shown', 1, 'old', 'read-12', 'then'),
            ('r', '0000000000000002', NULL, NULL, 'x', 'shown', 1, 'old', 'read-12', 'then'),
            ('r', '0000000000000003', printf('%064x', 7), NULL, 'x', 'shown', 0, 'older', 'read-1', 'then');
    ";

    #[test]
    fn a_ledger_of_the_first_schema_can_be_replanned() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("coverage.sqlite");
        let mut db = Db::open_or_create(&path, &FIRST).unwrap();
        db.write(crate::store::db::Durability::Process, |tx| Ok(tx.execute_batch(STATE)?)).unwrap();
        drop(db);
        let db = Db::open(&path, &KIND).unwrap();
        let ask = |sql: &str| {
            db.read(|c| Ok(c.query_row(sql, [], |row| row.get::<_, String>(0))?)).unwrap()
        };
        let marks = "SELECT group_concat(chunk || ':' || hex(body) || ':' || hex(file) || ':' || since) FROM marks";
        assert_eq!(ask(marks), format!("-2:{:064X}:{:064X}:1", 7, 8));
        assert_eq!(ask("SELECT revision || ' ' || last_read FROM counters"), "1 12");
        assert_eq!(
            ask("SELECT plan_id || ' ' || revision || ' ' || made_at FROM revisions"),
            "old 1 then"
        );
        assert_eq!(ask("SELECT count(*) || ' ' || max(added) FROM places"), "3 1");
        assert_eq!(ask("SELECT count(*) || ' ' || count(origin) FROM reads"), "3 0");
    }

    #[test]
    fn a_claim_of_a_ledger_without_leases_stands_until_it_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("coverage.sqlite");
        static SECOND: Kind = Kind { migrations: &[V1, V2, stamp::TABLE], ..KIND };
        let mut db = Db::open_or_create(&path, &SECOND).unwrap();
        let state = "INSERT INTO claims VALUES ('read-1', 'ann', 'then')";
        db.write(crate::store::db::Durability::Process, |tx| Ok(tx.execute(state, [])?)).unwrap();
        drop(db);
        let db = Db::open(&path, &KIND).unwrap();
        let row = "SELECT reader || coalesce(length, ' for good') FROM claims";
        let row = db.read(|c| Ok(c.query_row(row, [], |row| row.get::<_, String>(0))?));
        assert_eq!(row.unwrap(), "ann for good");
    }
}
