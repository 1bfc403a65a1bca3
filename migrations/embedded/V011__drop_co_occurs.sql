-- CO_OCCURS is counted from mentions when a graph is loaded; it is no longer stored.

DROP TABLE co_occurs;
