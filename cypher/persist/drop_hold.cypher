// Removes a hold.
// params: id
// columns: -
MATCH (h:Hold {id: $id})
DELETE h
