// Communities whose run is complete: they are visible from now on.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (c:HiddenCommunity {id: id})
SET c:Community
REMOVE c:HiddenCommunity
