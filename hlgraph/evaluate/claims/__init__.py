"""Claims of answers, split and checked by words or by a chat model, and RAGChecker's measures of them."""

from hlgraph.evaluate.claims.chat_claims import ChatClaims
from hlgraph.evaluate.claims.claim_report import ClaimReport, ClaimWay, MissingScores, check_answers
from hlgraph.evaluate.claims.word_claims import WordClaims

__all__ = ["ChatClaims", "ClaimReport", "ClaimWay", "MissingScores", "WordClaims", "check_answers"]
