// Whether the Graph Data Science plugin is there.
// params: -
// columns: name
SHOW FUNCTIONS YIELD name AS found
WHERE found = 'gds.version'
RETURN found AS name
