"""Peers of the search, each as a user would set it up: Optuna and BoTorch, compared where they are installed."""

from __future__ import annotations

import numpy as np

from transect.designs.search import History, Sobol, Suggestions
from transect.designs.search.history import stream

ANYWHERE, NEAR = 1000, 1000
SIDE = 0.4
"""Candidates of Thompson sampling: anywhere in the cube, and in a box of that side round a failure."""


def optuna_search(seed, budget):
    """Optuna's tree-structured Parzen estimator (its default), told 1 for a failure and 0 for none, to maximise."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def search(target, dimensions):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        points, failures = np.empty((budget, dimensions)), np.empty(budget)
        for i in range(budget):
            trial = study.ask()
            points[i] = [trial.suggest_float(f"x{j}", 0, 1) for j in range(dimensions)]
            failures[i] = target(points[i : i + 1])[0]
            study.tell(trial, failures[i])
        return History(points, failures, np.zeros(budget, dtype=bool))

    return search


class BoTorch:
    """Thompson sampling by BoTorch: SingleTaskGP on 0 and 1, fitted for each batch, drawn over candidates.

    Half of the candidates lie anywhere, half in boxes round failures (trust regions, Eriksson et al. 2019). Sobol
    points until both answers are there.
    """

    name = "BoTorch"

    def __init__(self, seed):
        import botorch  # noqa: F401  -- where it is not installed, say so before the search

        self.seed = seed

    def suggest(self, history, n):
        """The next batch: the best candidate of n draws from the posterior."""
        if len(history) < 16 or history.failures.min() == history.failures.max():
            return Sobol(self.seed).suggest(history, n)
        import torch
        from botorch.generation import MaxPosteriorSampling

        torch.manual_seed(int(stream(self.seed, 7, len(history)).integers(1 << 31)))
        model = self._model(history)
        with torch.no_grad():
            chosen = MaxPosteriorSampling(model, replacement=False)(self._candidates(history), n)
        return Suggestions(chosen.numpy(), np.zeros(n, dtype=bool))

    def _model(self, history):
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(torch.from_numpy(history.points), torch.from_numpy(history.failures[:, None]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _candidates(self, history):
        import torch

        random, found = stream(self.seed, 8, len(history)), history.found
        anywhere = random.random((ANYWHERE, history.dimensions))
        steps = SIDE * (random.random((NEAR, history.dimensions)) - 0.5)
        near = np.clip(found[random.integers(len(found), size=NEAR)] + steps, 0, 1)
        return torch.from_numpy(np.concatenate([anywhere, near]))
