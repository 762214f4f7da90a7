"""The state of a full read, by another SQLite than ours: python3 state.py FOLDER

Prints one JSON object: what the ledger says, and every fault that is found in it.
"""

import json
import os
import re
import sqlite3
import sys

folder = sys.argv[1]
db = sqlite3.connect(os.path.join(folder, "coverage.sqlite"), timeout=60, isolation_level=None)
db.execute("BEGIN")
faults = []


def rows(sql):
    return db.execute(sql).fetchall()


def expect(what, found, due):
    if found != due:
        faults.append(f"{what}: {str(found)[:300]} instead of {str(due)[:300]}")


expect("integrity", rows("PRAGMA integrity_check"), [("ok",)])
complete = {f"{repo}:{id}": done for repo, id, done in rows("SELECT repo, chunk_id, complete FROM chunks")}
records = rows(
    "SELECT r.seq, r.segment_id, r.kind, s.status, c.reader, r.chunks FROM segment_records r"
    " LEFT JOIN segments s USING (segment_id) LEFT JOIN claims c USING (segment_id) ORDER BY r.seq"
)
segments = [(id, kind, status, reader, json.loads(chunks)) for _, id, kind, status, reader, chunks in records]
listed = [chunk for *_, chunks in segments for chunk in chunks]
seqs = {chunk: record[0] for record, segment in zip(records, segments) for chunk in segment[4]}

expect("chunks of segments", sorted(listed), sorted(complete))
expect("segments", sorted(id for (id,) in rows("SELECT segment_id FROM segments")), sorted(s[0] for s in segments))
places = {
    f"{name}:{chunk & (1 << 64) - 1:016x}": (seq, tokens)
    for name, chunk, seq, tokens in rows(
        "SELECT name, chunk, seq, tokens FROM places JOIN repos USING (repo_no)"
    )
}
expect("places", {chunk: seq for chunk, (seq, _) in places.items()}, seqs)
expect("claims", sorted(id for (id,) in rows("SELECT segment_id FROM claims")),
       sorted(id for id, _, status, _, _ in segments if status == "active"))
expect("queue", [seq for (seq,) in rows("SELECT seq FROM queue ORDER BY seq")],
       [r[0] for r in records if r[2] == "read" and r[3] == "pending"])
unread = {r[0]: sum(not complete.get(chunk) for chunk in s[4]) for r, s in zip(records, segments)}
expect("unread chunks of segments", dict(rows("SELECT seq, unread FROM segment_progress")), unread)
for id, kind, status, _, chunks in segments:
    if status == "done":
        expect(f"unread in {id}, which is done", [c for c in chunks if not complete.get(c)], [])
if segments:
    expect("last segment", segments[-1][1], "synthesis")
status = [s[2] for s in segments]
expect(
    "counters",
    rows(
        "SELECT chunks_planned, chunks_complete, tokens_planned, tokens_complete, pending, active, done,"
        " read_segments_left FROM counters"
    ),
    [
        (
            len(complete),
            sum(complete.values()),
            sum(tokens for _, tokens in places.values()),
            sum(tokens for chunk, (_, tokens) in places.items() if complete.get(chunk)),
            status.count("pending"),
            status.count("active"),
            status.count("done"),
            sum(s[1] == "read" and s[2] != "done" for s in segments),
        )
    ],
)
standing = {
    f"{name}:{chunk & (1 << 64) - 1:016x}"
    for name, chunk in rows(
        "SELECT name, chunk FROM marks JOIN repos USING (repo_no) WHERE path IS NULL AND given = 0"
    )
}
expect("marks that stand", sorted(standing), sorted(chunk for chunk, done in complete.items() if done))
generation = rows("SELECT generation FROM counters")[0][0]
expect("revisions", [r for (r,) in rows(f"SELECT revision FROM revisions WHERE generation = {generation} ORDER BY 1")],
       list(range(1, rows("SELECT revision FROM counters")[0][0] + 1)))

findings = rows("SELECT id, segment, reader, text, appended FROM findings ORDER BY id")
path = os.path.join(folder, "findings.md")
text = open(path).read() if os.path.exists(path) else ""
for word in "begin", "end":
    there = [int(id) for id in re.findall(rf"^<!-- finding (\d+) {word} -->$", text, re.M)]
    appended = [id for id, *_, appended in findings if appended]
    late = {id for id, *_, appended in findings if not appended}
    expect(f"findings that {word}", [id for id in there if id not in late], appended)
    expect(f"findings that {word} twice", len(there), len(set(there)))

export = None
path = os.path.join(folder, "fullread.json")
if os.path.exists(path):
    try:
        export = [(s["id"], s["kind"], s["status"], s.get("reader"), s["chunk_ids"])
                  for s in json.load(open(path))["segments"]]
    except ValueError as error:
        faults.append(f"fullread.json: {error}")

json.dump(
    {
        "faults": faults,
        "complete": {chunk: bool(done) for chunk, done in complete.items()},
        "segments": segments,
        "findings": [finding[1:4] for finding in findings],
        "waiting": sum(not finding[4] for finding in findings),
        "reads": rows("SELECT count(*) FROM reads")[0][0],
        "generation": generation,
        "exported": export == segments,
    },
    sys.stdout,
)
