// The maximum size of the server's Java heap.
// params: -
// columns: heap
CALL gds.debug.sysInfo() YIELD key, value
WITH key, value WHERE key = 'heapMaxInBytes'
RETURN toInteger(value) AS heap
