// The names of corpora that have anything: records, a domain, a hold, or the number of a receipt; those hidden by an import are not
// listed.
// params: -
// columns: name
CALL () {
  MATCH (c:Corpus)
  WHERE c.arriving IS NULL
  RETURN c.name AS name
  UNION
  MATCH (d:Domain)
  RETURN d.corpus AS name
  UNION
  MATCH (h:Hold)
  RETURN h.corpus AS name
  UNION
  MATCH (r:Receipt)
  RETURN r.corpus AS name
}
RETURN name ORDER BY name
