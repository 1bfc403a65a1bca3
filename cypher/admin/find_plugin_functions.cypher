// Whether a plugin function exists; gds.version belongs to Graph Data Science.
// params: function
// columns: name
SHOW FUNCTIONS YIELD name AS found
WHERE found = $function
RETURN found AS name
