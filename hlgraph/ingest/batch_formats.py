"""The formats of batch files, one a provider: the line of a request, and the reply in a line that came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from hlgraph.models.executor import Request
from hlgraph.models.prompts import salted
from hlgraph.models.seams import Completion

_URL = "/v1/chat/completions"
Tree = Mapping[str, object]


class BatchFormat(NamedTuple):
    """The batch format of a provider.

    Attributes
    ----------
    line : makes the line of a request from the name of the model, the key of the request and the request
    result : reads the key and the reply of a line that came back; the reply is None where the provider returned an error, or its
        content filter stopped the reply. Raises
        KeyError, TypeError, IndexError, AttributeError or ValueError for a line that is no result
    """

    line: Callable[[str, str, Request], dict[str, object]]
    result: Callable[[Tree], tuple[str, Completion | None]]


def _openai_line(model: str, key: str, request: Request) -> dict[str, object]:
    system, user = salted(request.system, request.user)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = {"model": model, "messages": messages, "max_completion_tokens": request.max_tokens}
    return {"custom_id": key, "method": "POST", "url": _URL, "body": body}


def _openai_result(tree: Tree) -> tuple[str, Completion | None]:
    key, response = str(tree["custom_id"]), tree["response"]
    if tree.get("error") or not isinstance(response, dict) or response.get("status_code") != 200:
        return key, None
    body = response["body"]
    choice, usage = body["choices"][0], body.get("usage") or {}
    if choice.get("finish_reason") == "content_filter":
        return key, None
    return key, Completion(
        text=str(choice["message"].get("content") or ""),
        input_tokens=int(usage.get("prompt_tokens", 0)),
        output_tokens=int(usage.get("completion_tokens", 0)),
        is_cut=choice.get("finish_reason") == "length",
    )


def _converse_line(model: str, key: str, request: Request) -> dict[str, object]:  # noqa: ARG001 - the job has the model
    system, user = salted(request.system, request.user)
    body = {
        "system": [{"text": system}],
        "messages": [{"role": "user", "content": [{"text": user}]}],
        "inferenceConfig": {"maxTokens": request.max_tokens},
    }
    return {"recordId": key, "modelInput": body}


def _converse_result(tree: Tree) -> tuple[str, Completion | None]:
    key = str(tree["recordId"])
    if tree.get("error"):
        return key, None
    output = tree["modelOutput"]
    if not isinstance(output, dict) or output.get("stopReason") in ("content_filtered", "guardrail_intervened"):
        return key, None
    usage = output.get("usage") or {}
    # A model that thinks aloud has parts without text.
    parts = [str(part["text"]) for part in output["output"]["message"]["content"] if "text" in part]
    return key, Completion(
        text="".join(parts),
        input_tokens=int(usage.get("inputTokens", 0)),
        output_tokens=int(usage.get("outputTokens", 0)),
        is_cut=output.get("stopReason") == "max_tokens",
    )


FORMATS: Mapping[str, BatchFormat] = {
    "openai": BatchFormat(_openai_line, _openai_result),
    "bedrock": BatchFormat(_converse_line, _converse_result),
}
"""By the provider of the model: OpenAI's batches, and Amazon Bedrock's of the type ``Converse``, whatever the model."""
