"""How well statements stand for the text that they were taken from, for callers: coverage and faithfulness."""

from hlgraph.quality.coverage import Sentence, SourceCoverage
from hlgraph.quality.tier import Coverage, Faithfulness, Offender, Quality

__all__ = ["Coverage", "Faithfulness", "Offender", "Quality", "Sentence", "SourceCoverage"]
