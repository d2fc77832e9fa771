"""From predictions to effects: outcomes, rates, contrasts, intervals and tests, as pure functions over arrays.

A transect design's outcomes are float64 [n_subjects, *design.shape], NaN where there is no valid answer; a population
design's are [n]. The unit is the subject. `__init__.pyi` lists the public names; each is loaded when you first use it.
"""

import lazy_loader

# Loaded at once: importing the module of that name later would put the module in the function's place.
from transect.effects.contrasts import contrasts as contrasts

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
