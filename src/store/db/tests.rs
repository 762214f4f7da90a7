//! One database file: made, opened, refused.

use super::*;

static KIND: Kind = Kind {
    name: "ledger",
    application_id: 7,
    migrations: &["CREATE TABLE t (x INTEGER) STRICT;", "ALTER TABLE t ADD COLUMN y TEXT;"],
};
static OLD: Kind =
    Kind { name: "ledger", application_id: 7, migrations: &["CREATE TABLE t (x INTEGER) STRICT;"] };

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn an_old_file_is_migrated_and_a_newer_one_refused() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    drop(Db::open_or_create(&path, &OLD).unwrap());
    let db = Db::open(&path, &KIND).unwrap();
    db.read(|c| Ok(c.execute_batch("SELECT y FROM t")?)).unwrap();
    drop(db);
    let error = Db::open(&path, &OLD).err().unwrap();
    assert_eq!(error.code(), "newer-schema");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "application_id", 99).unwrap();
    other.execute_batch("CREATE TABLE x (y)").unwrap();
    drop(other);
    assert_eq!(Db::open(&path, &KIND).err().unwrap().code(), "foreign");
}

#[test]
fn a_damaged_file_is_reported_and_left_alone() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    std::fs::write(&path, b"not a database, whatever its name says ....").unwrap();
    assert_eq!(Db::open(&path, &KIND).err().unwrap().code(), "damaged");
    assert!(std::fs::read(&path).unwrap().starts_with(b"not a database"));
}

#[test]
fn a_file_is_made_by_many_at_once() {
    let dir = folder();
    for round in 0..30 {
        let path = dir.path().join(format!("{round}.sqlite"));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| drop(Db::open_or_create(&path, &KIND).unwrap()));
            }
        });
    }
}

#[test]
fn an_empty_or_short_file_is_a_damaged_one_and_stays() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    drop(Db::open_or_create(&path, &KIND).unwrap());
    let whole = std::fs::read(&path).unwrap();
    for size in [0, 1, 100, 511, 512, 4096] {
        std::fs::write(&path, &whole[..size]).unwrap();
        for opened in [Db::open(&path, &KIND), Db::open_or_create(&path, &KIND)] {
            assert_eq!(opened.err().unwrap().code(), "damaged", "{size}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), whole[..size]);
    }
}

#[test]
fn what_a_killed_creator_left_is_no_hindrance() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    for left in ["l.sqlite.new", "l.sqlite.new-wal", "l.sqlite.new-shm", "l.sqlite-wal"] {
        std::fs::write(dir.path().join(left), "half").unwrap();
    }
    let db = Db::open_or_create(&path, &KIND).unwrap();
    db.read(|c| Ok(c.execute_batch("SELECT y FROM t")?)).unwrap();
    assert_eq!(std::fs::read(dir.path().join("l.sqlite-wal.old")).unwrap(), b"half");
    assert!(!dir.path().join("l.sqlite.new").exists());
}

#[test]
fn a_log_of_a_database_that_was_taken_away_is_not_played_into_the_new_one() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    let mut db = Db::open_or_create(&path, &KIND).unwrap();
    let insert = |tx: &Transaction<'_>| Ok(tx.execute("INSERT INTO t (x) VALUES (1)", [])?);
    db.write(Durability::Power, insert).unwrap();
    let log = std::fs::read(dir.path().join("l.sqlite-wal")).unwrap();
    drop(db);
    std::fs::rename(&path, dir.path().join("l.sqlite.damaged")).unwrap();
    std::fs::write(dir.path().join("l.sqlite-wal"), log).unwrap();
    let db = Db::open_or_create(&path, &KIND).unwrap();
    let sql = "SELECT count(*) FROM t";
    let rows: i64 = db.read(|c| Ok(c.query_row(sql, [], |r| r.get(0))?)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn numbers_that_no_schema_has_are_told_as_they_are() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    drop(Db::open_or_create(&path, &KIND).unwrap());
    for (number, code) in
        [(-1, "damaged"), (i32::MIN, "damaged"), (0, "damaged"), (i32::MAX, "newer-schema")]
    {
        let other = Connection::open(&path).unwrap();
        other.pragma_update(None, "user_version", number).unwrap();
        drop(other);
        let error = Db::open(&path, &KIND).err().unwrap();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains(&format!(" {number}")), "{error}");
    }
}

#[test]
fn a_database_without_a_mark_is_another_programs() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (y)").unwrap();
    assert_eq!(Db::open_or_create(&path, &KIND).err().unwrap().code(), "foreign");
}

#[test]
fn nothing_odd_is_opened() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = folder();
    for odd in ["l.sqlite", "l.sqlite-wal", "l.sqlite-shm", "l.lock"] {
        let path = dir.path().join("l.sqlite");
        if odd == "l.sqlite-wal" {
            drop(Db::open_or_create(&path, &KIND).unwrap());
        }
        if odd == "l.lock" {
            std::fs::remove_file(&path).unwrap();
        }
        let _ = std::fs::remove_file(dir.path().join(odd));
        mknodat(CWD, dir.path().join(odd), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let error = Db::open_or_create(&path, &KIND).err().unwrap();
        assert_eq!(error.code(), "not-regular", "{odd}");
        std::fs::remove_file(dir.path().join(odd)).unwrap();
    }
}

#[test]
fn failed_work_leaves_nothing() {
    let dir = folder();
    let mut db = Db::open_or_create(&dir.path().join("l.sqlite"), &KIND).unwrap();
    let failed: Result<()> = db.write(Durability::Power, |tx| {
        tx.execute("INSERT INTO t (x) VALUES (1)", [])?;
        Err(Error::no("no", "no").into())
    });
    assert_eq!(failed.unwrap_err().code(), "no");
    let rows: i64 =
        db.read(|c| Ok(c.query_row("SELECT count(*) FROM t", [], |r| r.get(0))?)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn a_checkpoint_waits_for_no_reader() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    let mut db = Db::open_or_create(&path, &KIND).unwrap();
    let insert = |tx: &Transaction<'_>| Ok(tx.execute("INSERT INTO t (x) VALUES (1)", [])?);
    db.write(Durability::Process, insert).unwrap();
    let reader = Db::open(&path, &KIND).unwrap();
    reader
        .moment(|c| {
            c.query_row("SELECT count(*) FROM t", [], |_| Ok(()))?;
            db.write(Durability::Process, insert)?;
            let begun = Instant::now();
            db.checkpoint();
            assert!(begun.elapsed() < PATIENCE / 4, "{:?}", begun.elapsed());
            Ok(())
        })
        .unwrap();
    let patience = |db: &Db| db.read(|c| Ok(c.query_row("PRAGMA busy_timeout", [], |r| r.get(0))?));
    assert_eq!(u128::from(patience(&db).unwrap_or(0u32)), PATIENCE.as_millis());
}

#[test]
fn every_connection_bounds_the_log() {
    let dir = folder();
    let path = dir.path().join("l.sqlite");
    drop(Db::open_or_create(&path, &KIND).unwrap());
    let mut db = Db::open(&path, &KIND).unwrap();
    let much = "INSERT INTO t SELECT 1, hex(zeroblob(8000000))";
    db.write(Durability::Process, |tx| Ok(tx.execute(much, [])?)).unwrap();
    let log = || std::fs::metadata(dir.path().join("l.sqlite-wal")).unwrap().len();
    assert!(log() > 3 * WAL_KEPT);
    // Moves the log into the file, but does not shorten it; the next writer begins it anew.
    db.read(|c| Ok(c.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))?)).unwrap();
    let little = "INSERT INTO t (x) VALUES (1)";
    db.write(Durability::Process, |tx| Ok(tx.execute(little, [])?)).unwrap();
    assert!(log() <= WAL_KEPT, "{}", log());
}
