"""Strategies that search for failures: from answers of yes or no they suggest the next points to query.

A point lies in the unit cube, one coordinate per attribute that varies. All strategies have one interface: they suggest
a batch from the history of queries and answers, so that a search resumes from its history.
"""

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
