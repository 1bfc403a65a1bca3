"""Language models of transformers: loading with an adapter, log-probabilities of answers, and answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.align.pairs import Pair
from hlgraph.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

ADAPTER = "adapter"
"""Folder of the trained adapter, in the folder of a training."""
_NEEDED_FOR = "training and comparing language models"


class Policy(Protocol):
    """A language model, as a comparison asks it."""

    def log_probabilities(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """The log-probability of each answer, given its prompt: the sum over its tokens.

        Parameters
        ----------
        texts : prompts with their answers
        """

    def answers(self, prompts: Sequence[str], *, max_tokens: int) -> list[str]:
        """The most probable continuation of each prompt, token by token.

        Parameters
        ----------
        prompts : the prompts
        max_tokens : limit of one answer, in tokens
        """


class Encoded(NamedTuple):
    """Token ids of a prompt and an answer, and where the answer starts."""

    ids: list[int]
    start: int


class Loaded(NamedTuple):
    """A model with its tokenizer, on a device."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    device: str


@contextmanager
def needing_extra() -> Iterator[None]:
    """Imports of the extra ``align``: a missing package raises MissingExtraError, with the line that installs it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] in {
            "torch",
            "trl",
            "peft",
            "transformers",
            "datasets",
            "accelerate",
            "gguf",
        }:
            raise MissingExtraError("align", _NEEDED_FOR) from error
        raise


def load(name: str, *, device: str = "auto") -> Loaded:
    """A model and its tokenizer.

    Parameters
    ----------
    name : a folder, a file of GGUF, whose weights are unpacked, or a name that transformers can load
    device : ``cpu``, ``cuda``, or ``auto``: a GPU if there is one

    Raises
    ------
    MissingExtraError
        The extra ``align`` is not installed.
    InputError
        The model cannot be loaded.
    """
    with needing_extra():
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    logging.disable_progress_bar()
    path = Path(name)
    is_gguf = path.suffix == ".gguf" and path.is_file()
    place, file = (path.parent, {"gguf_file": path.name}) if is_gguf else (name, {})
    on = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    dtype = torch.bfloat16 if on.startswith("cuda") else torch.float32
    try:
        with redirect_stderr(StringIO()) if is_gguf else nullcontext():  # a bar that no setting turns off
            tokenizer = AutoTokenizer.from_pretrained(place, **file)
            model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **file).to(on)
    except (ImportError, OSError, ValueError, RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{name}: the model cannot be loaded on {on} ({reason}); give a folder with a model of transformers, a file of GGUF, "
            "or its name"
        ) from error
    if is_gguf and getattr(model, "hf_quantizer", None) is not None:
        model.hf_quantizer.remove_quantization_config(model)  # its weights are plain numbers now, which can be trained
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Loaded(model.eval(), tokenizer, on)


def adapter_in(folder: str | Path) -> Path:
    """The folder of the adapter in the folder of a training, or this folder itself.

    Raises
    ------
    InputError
        There is no adapter.
    """
    inner = Path(folder) / ADAPTER
    place = inner if inner.is_dir() else Path(folder)
    if not (place / "adapter_config.json").is_file():
        raise InputError(f"{folder}: no adapter in it; give the folder that hlgraph align train wrote")
    return place


def with_adapter(loaded: Loaded, folder: str | Path) -> Loaded:
    """A model with a trained adapter on it. The model itself is changed: load it anew for each adapter.

    Parameters
    ----------
    loaded : the model that the adapter was trained on
    folder : of the adapter, or of the training that wrote it

    Raises
    ------
    InputError
        There is no adapter, or it is for another model.
    """
    with needing_extra():
        from peft import PeftModel
    place = adapter_in(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of PEFT's own calls of transformers
            model = PeftModel.from_pretrained(loaded.model, str(place)).eval()
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{folder}: the adapter does not fit the model ({reason}); give the model it was trained on"
        ) from error
    return loaded._replace(model=model)


def rows_for_training(pairs: Sequence[Pair], tokenizer: PreTrainedTokenizerBase) -> list[dict[str, object]]:
    """The rows that TRL reads: texts, or messages where the tokenizer has a chat template.

    Parameters
    ----------
    pairs : the pairs
    tokenizer : of the model
    """
    if not tokenizer.chat_template:
        return [{"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected} for pair in pairs]
    return [
        {
            "prompt": [{"role": "user", "content": pair.prompt}],
            "chosen": [{"role": "assistant", "content": pair.chosen}],
            "rejected": [{"role": "assistant", "content": pair.rejected}],
        }
        for pair in pairs
    ]


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: str) -> list[int]:
    """Token ids of a prompt, as the model reads it before it answers.

    Parameters
    ----------
    tokenizer : of the model; its chat template is used, if it has one
    prompt : the text
    """
    if not tokenizer.chat_template:
        return list(tokenizer(prompt)["input_ids"])
    messages = [{"role": "user", "content": prompt}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def encoded(tokenizer: PreTrainedTokenizerBase, prompt: str, *, answer: str) -> Encoded:
    """Token ids of a prompt with its answer as TRL forms them: the answer ends with the token that ends a text.

    Parameters
    ----------
    tokenizer : of the model
    prompt, answer : the texts
    """
    if tokenizer.chat_template:
        messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        whole = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    else:
        whole = list(tokenizer(prompt + answer + tokenizer.eos_token)["input_ids"])
    asked = prompt_ids(tokenizer, prompt)
    same = (at for at, (one, other) in enumerate(zip(asked, whole, strict=False)) if one != other)
    return Encoded(whole, next(same, min(len(asked), len(whole))))


def beyond_reach(loaded: Loaded, pairs: Sequence[Pair]) -> str:
    """Says how many pairs are longer than the model was made for, as the figures on them are worth little; empty for none.

    Parameters
    ----------
    loaded : the model; one that names no limit reads everything
    pairs : the pairs
    """
    reach = getattr(loaded.model.config, "max_position_embeddings", None)
    if not reach:
        return ""
    texts = [(pair.prompt, max(pair.chosen, pair.rejected, key=len)) for pair in pairs]
    long = sum(len(encoded(loaded.tokenizer, prompt, answer=answer).ids) > reach for prompt, answer in texts)
    return f"{long:,} of {len(pairs):,} pairs are longer than the {reach:,} tokens that the model reads" if long else ""


class TransformersPolicy:
    """A model of transformers as a :class:`Policy`.

    Parameters
    ----------
    loaded : the model
    batch : number of texts that are computed together; default 4
    """

    def __init__(self, loaded: Loaded, *, batch: int = 4) -> None:
        self._loaded = loaded
        self._batch = batch

    def log_probabilities(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """See :class:`Policy`."""
        import torch

        model, tokenizer, device = self._loaded
        found: list[float] = []
        for begin in range(0, len(texts), self._batch):
            rows = [encoded(tokenizer, prompt, answer=answer) for prompt, answer in texts[begin : begin + self._batch]]
            width = max(len(row.ids) for row in rows)
            ids = torch.tensor(
                [row.ids + [tokenizer.pad_token_id] * (width - len(row.ids)) for row in rows], device=device
            )
            mask = torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows], device=device)
            with torch.no_grad():
                logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            each = torch.log_softmax(logits, dim=-1).gather(-1, ids[:, 1:, None])[..., 0].double()
            for row, values in zip(rows, each, strict=True):
                found.append(float(values[max(0, row.start - 1) : len(row.ids) - 1].sum()))
        return np.array(found, dtype=np.float64)

    def answers(self, prompts: Sequence[str], *, max_tokens: int) -> list[str]:
        """See :class:`Policy`."""
        import torch

        model, tokenizer, device = self._loaded
        found = []
        for prompt in prompts:
            ids = torch.tensor([prompt_ids(tokenizer, prompt)], device=device)
            with torch.no_grad():
                made = model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=max_tokens,
                    do_sample=False,
                    pad_token_id=tokenizer.pad_token_id,
                )
            found.append(str(tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)))
        return found
