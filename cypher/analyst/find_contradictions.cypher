// Facts that may contradict each other: the same subject and predicate with different objects, from different sources. Predicates
// about which sources agree come first: single_share is the share of the subjects that two sources name that have one object, with
// one more of each kind. Forms of "be" and "have" are left out, unless $predicate names one: they hold for many objects at once.
// "hlgraph contradictions" has the quotes and the dates, of functional predicates alone. Reads every fact of the corpus.
// params: corpus, predicate, where, kinds, k
// columns: subject, predicate, objects, sources, single_share, fact_ids
// $corpus text = default: the corpus
// $predicate text = "": only this predicate, in upper or lower case; empty: all
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only subjects of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_contradictions
MATCH (e:Entity)
WHERE e.corpus = $corpus AND e.id >= ''
MATCH (e)-[:SUBJECT]->(f:Fact)
WITH e, toLower(f.predicate) AS predicate, f
WHERE predicate = toLower($predicate) OR ($predicate = '' AND NOT predicate IN
    ['is', 'are', 'was', 'were', 'be', 'been', 'has', 'have', 'had', 'ist', 'sind', 'war', 'waren', 'hat', 'haben',
      'hatte', 'est', 'sont', 'était', 'étaient', 'ont', 'avait', 'es', 'son', 'era', 'fue', 'tiene', 'tenía', 'è', 'sono', 'ha',
      'aveva', 'é', 'são', 'foi', 'tem', 'zijn', 'heeft'])
MATCH (f)-[:SUPPORTS]->(s:Statement)
WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
WITH e, predicate, f, collect(DISTINCT s.source_id) AS source_ids
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
WITH e, predicate, f, source_ids, coalesce(o.name, f.complement) AS object
WITH e, predicate, f, source_ids, object,
  CASE WHEN toLower(object) STARTS WITH 'the ' THEN substring(object, 4) WHEN toLower(object) STARTS WITH 'an ' THEN substring(object, 3)
    WHEN toLower(object) STARTS WITH 'a ' THEN substring(object, 2) ELSE object END AS bare
ORDER BY object, f.id
UNWIND source_ids AS source_id
WITH e, predicate, collect(DISTINCT object) AS objects, collect(DISTINCT f.id) AS fact_ids,
  collect(DISTINCT source_id) AS source_ids, count(DISTINCT toLower(bare)) AS different
WHERE size(source_ids) > 1
WITH predicate, collect({entity: e, objects: objects, fact_ids: fact_ids, source_ids: source_ids, different: different}) AS subjects
WITH predicate, subjects,
  round((1.0 + size([each IN subjects WHERE each.different = 1])) / (2 + size(subjects)), 3) AS single_share
UNWIND subjects AS each
WITH each.entity AS e, predicate, single_share, each WHERE each.different > 1 AND (size($kinds) = 0 OR e.kind IN $kinds)
WITH e, predicate, single_share, each.objects AS objects, each.fact_ids AS fact_ids, each.source_ids AS source_ids
ORDER BY single_share DESC, size(objects) DESC, e.id, predicate LIMIT $k
UNWIND source_ids AS source_id
MATCH (d:Source {id: source_id})
WITH e, predicate, single_share, objects, fact_ids, d.title AS title ORDER BY title
WITH e, predicate, single_share, objects, fact_ids, collect(title) AS sources
RETURN e.name AS subject, predicate AS predicate, objects AS objects, sources AS sources, single_share AS single_share,
  fact_ids AS fact_ids
ORDER BY single_share DESC, size(objects) DESC, e.id, predicate
