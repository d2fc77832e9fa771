"""The representation inside any PyTorch model, by the name of the module that puts it out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

from torch import Tensor, nn

from transect.errors import BadInput

Change = Callable[[Tensor], Tensor]
_SHOWN = 8


@final
class Tap:
    """What a module put out in the last forward pass; it stays in the graph, so that gradients flow through it.

    Use as a context manager, which takes the hook off again. Raises BadInput for a name that the model lacks, or a
    module that puts out no single tensor.
    """

    def __init__(self, model: nn.Module, name: str) -> None:
        self.name = name
        self._seen: Tensor | None = None
        self._hook = module_named(model, name).register_forward_hook(self._keep)

    @property
    def output(self) -> Tensor:
        """The last output [b, ...]. Raises BadInput where the module was not passed."""
        if self._seen is None:
            raise BadInput(f"module {self.name}: expected to be used when the model runs, it was not; choose another")
        return self._seen

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()

    def _keep(self, _module: nn.Module, _inputs: object, output: object) -> None:
        if not isinstance(output, Tensor):
            raise BadInput(f"module {self.name}: expected one tensor as output, got {type(output).__name__}; go deeper")
        self._seen = output


@contextmanager
def changed(model: nn.Module, name: str, change: Change) -> Iterator[None]:
    """While it is open, the module's output is replaced by `change(output)`: noise, erasure, another representation."""
    hook = module_named(model, name).register_forward_hook(lambda _module, _inputs, output: change(output))
    try:
        yield
    finally:
        hook.remove()


def module_named(model: nn.Module, name: str) -> nn.Module:
    """The module of that name."""
    known: dict[str, nn.Module] = {path: module for path, module in model.named_modules() if path}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=_SHOWN, cutoff=0.3) or list(known)[-_SHOWN:]
    shown = list(known) if len(known) <= _SHOWN else near
    rest = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    raise BadInput(f"module {name!r}: expected one of {', '.join(shown)}{rest}; see model.named_modules()")


def reverse_gradient(x: Tensor, weight: float) -> Tensor:
    """X itself, whose gradient is turned round and scaled (Ganin et al. 2016, arXiv:1505.07818)."""
    still = x.detach()
    return still + weight * (still - x)
