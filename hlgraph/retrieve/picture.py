"""x"""

from hlgraph.retrieve.request import Explanation


def page(explanation: Explanation) -> str:
    """x"""
    return ""
