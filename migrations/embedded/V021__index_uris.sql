-- Sources are read by the begin of their uri: the files of a folder, and the rows of a file.

CREATE INDEX source_uri ON source (uri);
