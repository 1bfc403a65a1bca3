"""Claims of answers, split and checked by words or by a chat model, and RAGChecker's measures of them."""

from hlgraph.evaluate.claims.claims import ChatClaims, ClaimReport, ClaimWay, MissingScores, WordClaims, check_answers

__all__ = ["ChatClaims", "ClaimReport", "ClaimWay", "MissingScores", "WordClaims", "check_answers"]
