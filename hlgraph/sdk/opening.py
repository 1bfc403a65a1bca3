"""Opens the stores of given settings, with the models that read and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlgraph.models.choose import ChosenModels
from hlgraph.sdk.doctor import open_checked

if TYPE_CHECKING:
    from hlgraph.models.choose import AnyChat, AnyEmbedder, AnyReranker
    from hlgraph.settings import Settings
    from hlgraph.stores.open import Opened


def open_with_models(
    settings: Settings, *, embedder: AnyEmbedder | None, reranker: AnyReranker | None, chat: AnyChat | None
) -> tuple[Opened, ChosenModels]:
    """The open stores of the settings, and the models: those given, otherwise those of the settings.

    Parameters
    ----------
    settings : name the stores
    embedder, reranker, chat : see :class:`hlgraph.HLGraph`
    """
    opened = open_checked(settings)
    return opened, ChosenModels(
        settings.models, embedder=embedder, reranker=reranker, chat=chat, closing=opened.closing
    )
