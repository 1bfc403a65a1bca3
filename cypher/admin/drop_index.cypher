// Removes an index that no migration makes, or that differs from the migrations.
// params: name
// columns: -
DROP INDEX $name IF EXISTS
