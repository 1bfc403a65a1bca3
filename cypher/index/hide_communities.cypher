// Communities that are part of their run no more: they are not visible from now on, and are deleted afterwards.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (c:Community {id: id})
SET c:HiddenCommunity
REMOVE c:Community
