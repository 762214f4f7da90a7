-- Where the database was made: a hash of the machine's id, empty where the system has none, and the
-- inode of the folder that it is in. Written with the schema, and by `--trust-state` alone.
CREATE TABLE stamp (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    machine  TEXT    NOT NULL,
    folder   INTEGER NOT NULL
) STRICT;
