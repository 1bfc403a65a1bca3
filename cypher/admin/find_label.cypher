// One row if a node has a label.
// params: label
// columns: is_there
MATCH (n:$($label))
RETURN true AS is_there LIMIT 1
