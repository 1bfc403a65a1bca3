// Removes a constraint, and the index that it has.
// params: name
// columns: -
DROP CONSTRAINT $name IF EXISTS
