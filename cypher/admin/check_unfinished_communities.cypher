// Hidden communities that an interrupted build left behind; the next build removes them.
// params: -
// columns: wrong
MATCH (c:HiddenCommunity) WHERE c.level >= 0
RETURN count(c) AS wrong
