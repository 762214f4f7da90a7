-- A read whose chunk vanishes is looked for after every change, by a watcher many times a minute:
-- neither all reads nor all chunks may be gone through for that.

-- Reads whose chunk has vanished at some time; those that have it again, or that have moved, are
-- taken out when they are met.
CREATE TABLE freed (id INTEGER PRIMARY KEY) STRICT;
INSERT INTO freed SELECT id FROM marks m
    WHERE given = 0 AND NOT EXISTS (SELECT 1 FROM chunk_ids c WHERE c.id = m.id);

-- Chunks that came after the first scan: only they can take over a read. The first scan, which
-- enters all others, does not pay for this.
CREATE INDEX later_chunks ON chunk_ids (body) WHERE added > 1;
