// Facts without a subject, or with two.
// params: -
// columns: wrong
MATCH (n:Fact) WHERE COUNT { (n)<-[:SUBJECT]-(:Entity) } <> 1
RETURN count(n) AS wrong
