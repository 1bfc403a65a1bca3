"""Train an adapter on pairs of answers with TRL: mode-seeking as in GraphMPA, or DPO. Needs the extra ``align``."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.align.audit import check_no_leak
from hlgraph.align.losses import BETA, SMOOTHING
from hlgraph.align.pairs import Pair, held_out_beside, read_pairs
from hlgraph.errors import InputError, MissingExtraError
from hlgraph.evaluate.figures import Table, Tabled
from hlgraph.ids import checksum
from hlgraph.stores.batches import batched
from hlgraph.stores.files import make_folder, write_bytes
from hlgraph.text import word_set

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from trl import DPOTrainer


# Language models of transformers: loading with an adapter, log-probabilities of answers, and answers.


ADAPTER = "adapter"
"""Folder of the trained adapter, in the folder of a training."""
_NEEDED_FOR = "training and comparing language models"


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
    """Import packages of the extra ``align``. If one is missing, the MissingExtraError names the command that installs it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] in word_set("torch trl peft transformers datasets accelerate gguf"):
            raise MissingExtraError("align", _NEEDED_FOR) from error
        raise


def load(name: str, *, device: str = "auto") -> Loaded:
    """A model and its tokenizer.

    Parameters
    ----------
    name : a folder, a GGUF file, whose weights are unpacked, or a name that transformers can load
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
        with redirect_stderr(StringIO()) if is_gguf else nullcontext():  # a progress bar that no setting turns off
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
    """A model with a trained adapter on it. The model itself is modified, so load it again for each adapter.

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
            "prompt": [_message(pair.prompt)],
            "chosen": [{"role": "assistant", "content": pair.chosen}],
            "rejected": [{"role": "assistant", "content": pair.rejected}],
        }
        for pair in pairs
    ]


def _message(prompt: str) -> dict[str, str]:
    """A prompt as a message, without the line break that ends the text of a prompt: as a server of the model is asked."""
    return {"role": "user", "content": prompt.rstrip("\n")}


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: str) -> list[int]:
    """Token ids of a prompt, as the model reads it before it answers.

    Parameters
    ----------
    tokenizer : of the model; its chat template is used, if it has one
    prompt : the text
    """
    if not tokenizer.chat_template:
        return list(tokenizer(prompt)["input_ids"])
    messages = [_message(prompt)]
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
        messages = [_message(prompt), {"role": "assistant", "content": answer}]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        whole = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    else:
        whole = list(tokenizer(prompt + answer + tokenizer.eos_token)["input_ids"])
    asked = prompt_ids(tokenizer, prompt)
    same = (at for at, (one, other) in enumerate(zip(asked, whole, strict=False)) if one != other)
    return Encoded(whole, next(same, min(len(asked), len(whole))))


def beyond_reach(loaded: Loaded, pairs: Sequence[Pair]) -> str:
    """A message with the number of pairs that exceed the context length of the model; empty for none.

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
    """A language model of transformers, as used by a comparison.

    Parameters
    ----------
    loaded : the model
    batch : number of texts that are computed together; default 4
    """

    def __init__(self, loaded: Loaded, *, batch: int = 4) -> None:
        self._loaded = loaded
        self._batch = batch

    def log_probabilities(self, texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """The log-probability of each answer, given its prompt: the sum over its tokens.

        Parameters
        ----------
        texts : prompts with their answers
        """
        import torch

        model, tokenizer, device = self._loaded
        sums: list[float] = []
        for part in batched(texts, self._batch):
            rows = [encoded(tokenizer, prompt, answer=answer) for prompt, answer in part]
            width = max(len(row.ids) for row in rows)
            ids = torch.tensor(
                [row.ids + [tokenizer.pad_token_id] * (width - len(row.ids)) for row in rows], device=device
            )
            mask = torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows], device=device)
            with torch.no_grad():
                logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            each = torch.log_softmax(logits, dim=-1).gather(-1, ids[:, 1:, None])[..., 0].double()
            for row, values in zip(rows, each, strict=True):
                sums.append(float(values[max(0, row.start - 1) : len(row.ids) - 1].sum()))
        return np.array(sums, dtype=np.float64)

    def answers(self, prompts: Sequence[str], *, max_tokens: int) -> list[str]:
        """The most probable continuation of each prompt, token by token.

        Parameters
        ----------
        prompts : the prompts
        max_tokens : limit of one answer, in tokens
        """
        import torch

        model, tokenizer, device = self._loaded
        answers = []
        for prompt in prompts:
            ids = torch.tensor([prompt_ids(tokenizer, prompt)], device=device)
            with torch.no_grad():
                generated = model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=max_tokens,
                    do_sample=False,
                    pad_token_id=tokenizer.pad_token_id,
                )
            answers.append(str(tokenizer.decode(generated[0, ids.shape[1] :], skip_special_tokens=True)))
        return answers


Loss = Literal["mode-seeking", "dpo"]
_TRL_LOSS: Mapping[Loss, str] = {"mode-seeking": "exo_pair", "dpo": "sigmoid"}
METRICS_FILE, SETTINGS_FILE, CHECKPOINTS = "metrics.jsonl", "settings.json", "checkpoints"
_NAMES = {
    "loss": "loss",
    "rewards/margins": "margin",
    "rewards/accuracies": "preferred",
    "logps/chosen": "log_chosen",
    "logps/rejected": "log_rejected",
    "learning_rate": "learning_rate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """How an adapter is trained. The paper gives the first four; the others are chosen here.

    Attributes
    ----------
    learning_rate : default 1e-5 (GraphMPA, section 4.1), decays linearly to 0
    batch : pairs in one step, default 4 (the paper's)
    epochs : default 2 (the paper's)
    samples : most pairs that are trained on, drawn by a hash of their ids; default 20,000 (the paper's)
    loss : ``mode-seeking`` (Eq. 8; TRL's ``exo_pair``), or ``dpo``
    beta : strength of the reference; default 0.1, TRL's
    smoothing : e of the mode-seeking loss; default 0.001, that of the authors of EXO
    rank : of the adapter (LoRA on all linear layers, alpha twice the rank, no dropout); default 16
    max_length : tokens of a prompt with an answer; longer pairs are left out and counted; default 2,048
    save_steps, log_steps : steps between two checkpoints (500) and between two lines of metrics (10)
    seed : of the adapter's start and of the order of the pairs; default 0
    device : ``cpu``, ``cuda``, or ``auto``: a GPU if there is one

    Raises
    ------
    InputError
        A value cannot be used.
    """

    learning_rate: float = 1e-5
    batch: int = 4
    epochs: float = 2.0
    samples: int = 20_000
    loss: Loss = "mode-seeking"
    beta: float = BETA
    smoothing: float = SMOOTHING
    rank: int = 16
    max_length: int = 2048
    save_steps: int = 500
    log_steps: int = 10
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        """Refuse what cannot be used."""
        if self.loss not in _TRL_LOSS:
            raise InputError(f"loss is {self.loss!r}; choose mode-seeking or dpo")
        if not 0 < self.smoothing < 0.5:
            raise InputError(f"smoothing is {self.smoothing}; give a number above 0 and below 0.5")
        for name in (
            "learning_rate",
            "beta",
            "epochs",
            "batch",
            "samples",
            "rank",
            "max_length",
            "save_steps",
            "log_steps",
        ):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}; give a number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained(Tabled):
    """The result of a training.

    Attributes
    ----------
    adapter, metrics : folder of the adapter, and file of the metrics
    pairs : number of pairs that were trained on
    too_long : number that were left out, since they are longer than ``max_length``
    steps : number of steps, those before a resumption included
    trained, frozen : number of weights of the adapter and of the reference, which never changes
    curve : up to ten lines of the metrics, evenly spread, with the first and the last: step, epoch, loss, margin (the h of the
        loss), preferred (share of pairs whose h is above 0), log_chosen, log_rejected, learning_rate; each a mean over the
        steps since the line before it in the file
    seconds : duration
    """

    adapter: str
    metrics: str
    pairs: int
    too_long: int
    steps: int
    trained: int
    frozen: int
    curve: tuple[Mapping[str, float], ...]
    seconds: float

    def tables(self) -> list[Table]:
        """The curve of the training."""
        names = ("step", "loss", "margin", "preferred", "log_chosen", "log_rejected")
        rows = tuple(tuple(f"{line[name]:.4g}" for name in names) for line in self.curve)
        return [Table(f"{self.pairs:,} pairs, {self.steps:,} steps", names, rows)]


def train(
    pairs: Sequence[Pair], model: str, *, folder: Path, settings: TrainSettings | None = None, resume: bool = False
) -> Trained:
    """Train an adapter, and write it, its checkpoints and its metrics to a folder.

    The reference of the loss is the model itself without the adapter: its weights are frozen.

    Parameters
    ----------
    pairs : pairs for training
    model : a folder, or a name that transformers can load
    folder : where everything is written
    settings : default: those of the paper
    resume : continue from the last checkpoint in the folder, if it has one; default False

    Raises
    ------
    MissingExtraError
        The extra ``align`` is not installed.
    InputError
        The model cannot be loaded, no pair is short enough, the folder holds another training, or there is no pair.
    """
    chosen = settings or TrainSettings()
    if not pairs:
        raise InputError("there is no pair to train on; make some with: hlgraph align make")
    with needing_extra():
        import trl  # noqa: F401 - before the folder is touched
    _claim(folder, _identity(pairs, model, chosen), resume=resume)
    start = time.perf_counter()
    loaded = load(model, device=chosen.device)
    drawn = sorted(pairs, key=lambda pair: checksum("sample", pair.id))[: chosen.samples]
    some = sorted(drawn, key=lambda pair: pair.id)
    fitting = [pair for pair in some if _fits(pair, loaded, chosen.max_length)]
    if not fitting:
        raise InputError(f"all {len(some)} pairs are longer than {chosen.max_length} tokens; raise max_length")
    step, checkpoint = _last_checkpoint(folder) if resume else (0, None)
    _keep_metrics_until(folder / METRICS_FILE, step)
    steps = math.ceil(math.ceil(len(fitting) / chosen.batch) * chosen.epochs) - step
    with progress.step("train", steps, unit="steps"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of TRL's own calls of transformers
        warnings.filterwarnings("ignore", "Could not find a config file")  # beside a file of GGUF
        trainer = _trainer(fitting, loaded, folder, chosen)
        trainer.train(resume_from_checkpoint=checkpoint)
        trainer.save_model(str(folder / ADAPTER))
    counts = [(item.numel(), item.requires_grad) for item in trainer.model.parameters()]
    lines = [json.loads(line) for line in (folder / METRICS_FILE).read_text(encoding="utf-8").splitlines()]
    return Trained(
        adapter=str(folder / ADAPTER),
        metrics=str(folder / METRICS_FILE),
        pairs=len(fitting),
        too_long=len(some) - len(fitting),
        steps=int(trainer.state.global_step),
        trained=sum(count for count, is_trained in counts if is_trained),
        frozen=sum(count for count, is_trained in counts if not is_trained),
        curve=curve_of(lines),
        seconds=time.perf_counter() - start,
    )


def train_on(
    path: str | Path, model: str, *, folder: Path, settings: TrainSettings | None = None, resume: bool = False
) -> Trained:
    """Train an adapter on the pairs of a folder or file, if no held-out source leaks into them.

    Parameters
    ----------
    path : the pairs
    model, folder, settings, resume : see :func:`train`
    """
    pairs = read_pairs(path)
    check_no_leak(pairs, held_out_beside(path))
    return train(pairs, model, folder=folder, settings=settings, resume=resume)


def curve_of(lines: Sequence[Mapping[str, float]], *, most: int = 10) -> tuple[Mapping[str, float], ...]:
    """Lines of metrics, evenly spread, with the first and the last.

    Parameters
    ----------
    lines : all of them, at least one
    most : how many are wanted, from 2; default 10

    Examples
    --------
    >>> [line["step"] for line in curve_of([{"step": at} for at in range(1, 30)], most=4)]
    [1, 10, 20, 29]
    """
    count = min(most, len(lines))
    return tuple(lines[round(at * (len(lines) - 1) / max(1, count - 1))] for at in range(count))


def _trainer(pairs: Sequence[Pair], loaded: Loaded, folder: Path, settings: TrainSettings) -> DPOTrainer:
    import datasets
    from peft import LoraConfig
    from transformers import PrinterCallback
    from trl import DPOConfig, DPOTrainer

    is_gpu = loaded.device.startswith("cuda")
    arguments = DPOConfig(
        output_dir=str(folder / CHECKPOINTS),
        learning_rate=settings.learning_rate,
        per_device_train_batch_size=settings.batch,
        num_train_epochs=settings.epochs,
        loss_type=[_TRL_LOSS[settings.loss]],
        beta=settings.beta,
        label_smoothing=settings.smoothing if settings.loss == "mode-seeking" else 0.0,
        max_length=settings.max_length,
        save_steps=settings.save_steps,
        save_total_limit=2,
        logging_steps=settings.log_steps,
        logging_first_step=True,
        seed=settings.seed,
        report_to="none",
        disable_tqdm=True,
        use_cpu=not is_gpu,
        bf16=is_gpu,
        gradient_checkpointing=is_gpu,
    )
    datasets.disable_progress_bars()
    trainer = DPOTrainer(
        model=loaded.model,
        args=arguments,
        train_dataset=datasets.Dataset.from_list(rows_for_training(pairs, loaded.tokenizer)),
        processing_class=loaded.tokenizer,
        peft_config=LoraConfig(
            task_type="CAUSAL_LM",
            r=settings.rank,
            lora_alpha=2 * settings.rank,
            lora_dropout=0.0,
            target_modules="all-linear",
        ),
        callbacks=[_callback(folder / METRICS_FILE)],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _callback(path: Path) -> object:
    """A callback of transformers that appends the metrics of a step as one JSON line and reports progress."""
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

    class MetricsFile(TrainerCallback):  # type: ignore[misc]  # untyped
        def on_log(
            self, _arguments: TrainingArguments, state: TrainerState, _control: TrainerControl, **kept: object
        ) -> None:
            logs = kept.get("logs")
            if not isinstance(logs, Mapping) or "loss" not in logs:
                return  # the line of totals at the end
            line = {"step": state.global_step, "epoch": round(float(state.epoch or 0), 4)}
            line |= {ours: float(logs[theirs]) for theirs, ours in _NAMES.items() if theirs in logs}
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

        def on_step_end(self, *_given: object, **_kept: object) -> None:
            progress.advance("train")

    return MetricsFile()


def _fits(pair: Pair, loaded: Loaded, most: int) -> bool:
    return all(
        len(encoded(loaded.tokenizer, pair.prompt, answer=answer).ids) <= most
        for answer in (pair.chosen, pair.rejected)
    )


def _identity(pairs: Sequence[Pair], model: str, settings: TrainSettings) -> dict[str, object]:
    """The identity of a training run; checkpoints of a different run are not continued."""
    return {"model": model, "pairs": checksum(*sorted(pair.id for pair in pairs)), **asdict(settings)}


def _claim(folder: Path, identity: dict[str, object], *, resume: bool) -> None:
    """Refuse a folder that holds a different training run, or the same one without ``resume``."""
    file = folder / SETTINGS_FILE
    if file.is_file():
        if not resume:
            raise InputError(f"{folder}: it holds a training; give resume=True to continue it, or another folder")
        stored = json.loads(file.read_text(encoding="utf-8"))
        other = sorted(name for name in identity if identity[name] != stored.get(name))
        if other:
            raise InputError(
                f"{folder}: the training in it has another {', '.join(other)}; give the same, or another folder"
            )
        return
    try:
        make_folder(folder.absolute())
        with write_bytes(file) as written:
            written.write(json.dumps(identity, indent=2).encode() + b"\n")
    except OSError as error:
        raise InputError(f"{folder}: it cannot be written: {error.strerror}; give another folder") from error


def _last_checkpoint(folder: Path) -> tuple[int, str | None]:
    """The number of steps of the last checkpoint, and its path; 0 and None without one."""
    steps = [(int(path.name.rpartition("-")[2]), str(path)) for path in (folder / CHECKPOINTS).glob("checkpoint-*")]
    return max(steps, default=(0, None))


def _keep_metrics_until(path: Path, step: int) -> None:
    """Drop metrics after the resumed checkpoint; those steps run again."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    with write_bytes(path) as file:
        file.write("".join(line for line in lines if json.loads(line)["step"] <= step).encode())
