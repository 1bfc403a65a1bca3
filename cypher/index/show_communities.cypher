// Makes communities visible, because their run is complete.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (c:HiddenCommunity {id: id})
SET c:Community
REMOVE c:HiddenCommunity
