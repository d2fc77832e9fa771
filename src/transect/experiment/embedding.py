"""The target that a spec or object stands for, where embeddings are wanted."""

from __future__ import annotations

import inspect
from typing import Any, Final

from transect.experiment import costs
from transect.protocols import Target, TargetLike

_MODELS: Final = ("onnx:", "torch:")


def embedding_target(target: TargetLike, preprocess: Any) -> Target:
    """The target of a spec or object; one that does not state its task embeds."""
    from transect.targets import as_target, resolve
    from transect.targets.isolated import is_model

    if not isinstance(target, str):
        states_task = isinstance(target, Target) or inspect.isclass(target)
        return as_target(target, preprocess=preprocess, task=None if states_task else "embedding")
    if target.startswith(_MODELS) or target.lower().endswith(".onnx"):
        return resolve(target, task="embedding", preprocess=preprocess)
    resolved = resolve(target, preprocess=preprocess)
    if is_model(resolved):
        costs.close([resolved])
        return resolve(target, task="embedding", preprocess=preprocess)
    return resolved
