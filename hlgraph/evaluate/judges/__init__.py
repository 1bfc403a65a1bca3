"""Judges of answers by a chat model: correctness, pairwise wins, assertion scores, and whether the judge can be trusted."""
