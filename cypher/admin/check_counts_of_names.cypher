// Entities whose counted names differ from those of their mentions.
// params: -
// columns: wrong
MATCH (n:Entity)
WITH n, reduce(total = 0, one IN coalesce(n.name_counts, []) | total + one) AS counted
WITH n, counted, reduce(total = 0, one IN [(n)<-[r:MENTIONS]-(:Statement) | size(r.chunks)] | total + one) AS found
WHERE counted <> found
RETURN count(n) AS wrong
