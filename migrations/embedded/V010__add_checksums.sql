-- Checksums of what was written. Of each vector: CRC-32 of its bytes in the matrix file. Of each source, chunk and summary, of the
-- links of each chunk and of the synonyms of each entity: the sum of the hashes of its rows, which the writer adds to and takes
-- from as it writes. "owner" is four times the number of the node or summary, plus 0 for a source or chunk, 1 for links, 2 for a
-- summary, 3 for synonyms. What the store holds already is taken as it is when the migration runs.

ALTER TABLE vector ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

CREATE TABLE seal (owner INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT;
