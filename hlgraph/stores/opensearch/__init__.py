"""Vectors and full text in OpenSearch, self-hosted or on AWS; needs the extra ``opensearch`` (and ``aws`` to sign)."""
