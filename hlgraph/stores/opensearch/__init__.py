"""Vectors and full text in OpenSearch, self-hosted or Amazon's; needs the extra ``opensearch`` (and ``aws`` to sign)."""
