"""The target that a spec or object stands for, where embeddings are wanted."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Final, final

from transect.experiment import costs
from transect.experiment.recipes import recipe_of_target
from transect.protocols import Target, TargetLike

_MODELS: Final = ("onnx:", "torch:", "hf:", "timm:")


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


@final
@dataclass(frozen=True, slots=True)
class EmbeddingRecipe:
    """How a worker opens the target of `embedding_target`: by its spec, and how pictures are prepared for it."""

    spec: str
    preprocess: Any

    def open(self) -> Target:
        """The target. Raises as opening it for the first time."""
        return embedding_target(self.spec, self.preprocess)


def recipe_of_embedding(given: object, opened: Target, preprocess: Any) -> EmbeddingRecipe | None:
    """How a worker opens a target; None where this process must ask it, as `recipe_of_target` has it."""
    recipe = recipe_of_target(given, opened, {"preprocess": preprocess})
    return None if recipe is None else EmbeddingRecipe(recipe.spec, preprocess)
