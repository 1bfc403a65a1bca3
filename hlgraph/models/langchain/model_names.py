"""What a model of LangChain is called."""

from __future__ import annotations

_FIELDS = ("model_name", "model", "model_id", "deployment_name", "repo_id")


def name_of(model: object) -> str:
    """``Class:model`` of a model object, with the length of its vectors where that was chosen.

    Only the class where it does not say which model it is.

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
