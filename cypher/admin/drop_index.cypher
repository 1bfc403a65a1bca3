// Removes an index that no migration makes, or that is not as a migration makes it.
// params: name
// columns: -
DROP INDEX $name IF EXISTS
