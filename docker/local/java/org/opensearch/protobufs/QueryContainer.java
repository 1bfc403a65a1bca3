package org.opensearch.protobufs;

/** Stands in for a type of the gRPC transport, which is neither published nor used here but named by k-NN. */
public final class QueryContainer {
    private QueryContainer() {}

    public enum QueryContainerCase {}
}
