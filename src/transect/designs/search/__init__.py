"""Strategies that search for failures: from a history of yes or no they suggest a batch of points of the unit cube."""

from transect.designs.search.active import ActiveSearch, eager
from transect.designs.search.harvest import Harvest
from transect.designs.search.history import APART, Explorer, History, Random, Sobol, Strategy, Suggestions, apart
from transect.designs.search.interrogation import Interrogation, Thompson, diversity_weight

__all__ = [
    "APART",
    "ActiveSearch",
    "Explorer",
    "Harvest",
    "History",
    "Interrogation",
    "Random",
    "Sobol",
    "Strategy",
    "Suggestions",
    "Thompson",
    "apart",
    "diversity_weight",
    "eager",
]
