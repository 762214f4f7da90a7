-- Every scan asks how many files cannot be read, and must not go through all of them for it.
CREATE INDEX unreadable ON files (id) WHERE fate = 5;
