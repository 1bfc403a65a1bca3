// Takes an exclusive right as take_lease does, and only while the right above it is free. Locks both, its own first; the right
// above is taken from a holder that is dead or has let it expire, so that this one cannot write any more.
// params: id, under, token, holder, host, pid, seconds, dead
// columns: is_taken, holder
MERGE (l:Lease {id: $id})
SET l.asked = timestamp()
WITH l
MERGE (a:Lease {id: $under})
SET a.asked = timestamp()
WITH l, a, a.token IS NULL OR a.expires < timestamp() OR a.token IN $dead AS is_open,
  l.token IS NULL OR l.expires < timestamp() OR l.token IN $dead AS is_unheld
WITH l, a, is_open, is_open AND is_unheld AS is_free
SET a.token = CASE WHEN is_open THEN null ELSE a.token END,
    l.token = CASE WHEN is_free THEN $token ELSE l.token END,
    l.holder = CASE WHEN is_free THEN $holder ELSE l.holder END,
    l.host = CASE WHEN is_free THEN $host ELSE l.host END,
    l.pid = CASE WHEN is_free THEN $pid ELSE l.pid END,
    l.expires = CASE WHEN is_free THEN timestamp() + $seconds * 1000 ELSE l.expires END
RETURN is_free AS is_taken, CASE WHEN is_open THEN l.holder ELSE a.holder END AS holder
