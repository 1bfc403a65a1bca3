// Extends the right to write; no row if another process holds it now. Locks the lease until the transaction ends.
// params: id, token, seconds
// columns: holder
MATCH (l:Lease {id: $id})
SET l.asked = timestamp()
WITH l WHERE l.token = $token
SET l.expires = timestamp() + $seconds * 1000
RETURN l.holder AS holder
