package org.opensearch.transport.grpc.spi;

/** Stands in for a type of the gRPC transport, which is neither published nor used here but named by k-NN. */
public interface QueryBuilderProtoConverter {}
