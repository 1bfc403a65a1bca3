// Whether a function of a plugin is there: gds.version is that of Graph Data Science.
// params: function
// columns: name
SHOW FUNCTIONS YIELD name AS found
WHERE found = $function
RETURN found AS name
