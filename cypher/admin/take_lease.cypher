// Takes an exclusive right if it is free, has expired, or is held by a process known to be dead.
// params: id, token, holder, host, pid, seconds, dead
// columns: is_taken, holder
MERGE (l:Lease {id: $id})
SET l.asked = timestamp()
WITH l, l.token IS NULL OR l.expires < timestamp() OR l.token IN $dead AS is_free
SET l.token = CASE WHEN is_free THEN $token ELSE l.token END,
    l.holder = CASE WHEN is_free THEN $holder ELSE l.holder END,
    l.host = CASE WHEN is_free THEN $host ELSE l.host END,
    l.pid = CASE WHEN is_free THEN $pid ELSE l.pid END,
    l.expires = CASE WHEN is_free THEN timestamp() + $seconds * 1000 ELSE l.expires END
RETURN is_free AS is_taken, l.holder AS holder
