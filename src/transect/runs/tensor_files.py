"""Safetensors files that Transect writes: tensors, the kind of file, and facts as JSON. Reading executes no code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from transect.errors import BadInput
from transect.runs import bounds, model_files
from transect.texts import words_of

Content = TypeVar("Content")
Arrays = Mapping[str, np.ndarray]
Facts = Mapping[str, str]


def content_of(kind: str, tensors: Arrays, **facts: object) -> bytes:
    """The bytes of such a file, the same for the same content; facts that are not text are kept as JSON."""
    from safetensors.numpy import save

    texts = {name: fact if isinstance(fact, str) else json.dumps(fact, sort_keys=True) for name, fact in facts.items()}
    return model_files.in_order(save(dict(tensors), {"kind": kind, **texts}))


def read_content(
    path: Path, parsers: Mapping[str, Callable[[Arrays, Facts], Content]], *, expected: str, remedy: str
) -> Content:
    """What the parser of the file's kind makes of its tensors and facts; its errors become one refusal.

    expected: the file in words, as "a file of directions"; remedy: how to get one.
    """
    from safetensors import SafetensorError, safe_open

    bounds.check_holes(model_files.check_readable(path))
    try:
        with safe_open(path, "numpy") as file:
            facts = file.metadata() or {}
            kind = str(facts.get("kind"))[:100]
            if kind not in parsers:
                raise ValueError(f"its kind is {kind!r} instead of {' or '.join(parsers)}")
            return parsers[kind]({name: file.get_tensor(name) for name in file.keys()}, facts)  # noqa: SIM118  (no dictionary)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {words_of(error)}"
        raise BadInput(f"{path}: expected {expected}, found another ({reason}); {remedy}") from None
