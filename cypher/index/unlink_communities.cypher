// Removes PART_OF of some communities.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (c:Community {id: id})-[r:PART_OF]->()
DELETE r
