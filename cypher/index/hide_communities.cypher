// Hides communities that no longer belong to their run; they are deleted afterwards.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (c:Community {id: id})
SET c:HiddenCommunity
REMOVE c:Community
