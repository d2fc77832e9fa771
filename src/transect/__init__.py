"""Transect measures bias in vision models by experiment.

It makes images that differ in one attribute and in what follows from it, asks the model under audit, and estimates
what that attribute causes. `__init__.pyi` lists the public names; each is loaded when you first use it.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
