-- Each change of the index is numbered in the transaction that makes it, and `moves` in `meta` says
-- that reads have not been moved since. A scan that was killed before left neither.
INSERT OR REPLACE INTO meta SELECT 'changes', CAST(last AS TEXT)
    FROM (SELECT max(added) AS last FROM chunk_ids)
    WHERE last > coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'changes'), 0);
INSERT OR REPLACE INTO meta SELECT 'moves', 'due' WHERE EXISTS (SELECT 1 FROM marks);
