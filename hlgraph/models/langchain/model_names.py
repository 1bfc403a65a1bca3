"""Finds the name of a LangChain model."""

from __future__ import annotations

_FIELDS = ("model_name", "model", "model_id", "deployment_name", "repo_id")


def name_of(model: object) -> str:
    """``Class:model`` for a model object, with ``/dimensions`` if a vector length was chosen.

    Only the class if the object does not reveal the name of its model.

    Examples
    --------
    >>> class Chat:
    ...     model = "m-1"
    >>> name_of(Chat())
    'Chat:m-1'
    """
    found = next((value for field in _FIELDS if isinstance(value := getattr(model, field, None), str) and value), "")
    dimensions = getattr(model, "dimensions", None)
    chosen = f"/{dimensions}" if isinstance(dimensions, int) else ""
    return f"{type(model).__name__}:{found}{chosen}" if found else type(model).__name__
