// Makes the names of leases unique, as the first migration does, which needs a lease itself.
// params: -
// columns: -
CREATE CONSTRAINT hlgraph_lease_id IF NOT EXISTS FOR (n:Lease) REQUIRE n.id IS UNIQUE
