"""Have repeated answers changed by now? Evidence that may be looked at after every round, however many there will be.

If nothing changes, the calls about one image could have come in any order. So the newest answer is as likely as any
other to be the odd one out, and its rank among all until now, ties broken by chance, is a p value that is uniform and
independent of those before: a conformal test. Bets on such p values make a martingale, which by Ville's inequality ever
reaches 1/α with a probability of at most α, whatever the answers are and however noisy.

The bets: from some round on, each image is with probability q answered otherwise, and its newest answer is then among
the m odd ones of n, m rounds since the change; q and the round are averaged over. A change of all images is seen in the
first round after it; one of few images, or within noise, may need the test of all rounds, `change_point`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float, Int

SOURCE: Final = (
    "Volkhonskiy, Burnaev, Nouretdinov, Gammerman and Vovk 2017, Inductive conformal martingales for change-point "
    "detection, arXiv:1706.03415"
)
SHARES: Final = (0.3, 0.6, 0.9)
_TIES: Final = 1e-9


def evidence_of_change(distances: Float[np.ndarray, "images t t"], *, seed: int = 0) -> Float[np.ndarray, " t"]:
    """Evidence for a change after each round: 1 says nothing, 100 is reached by 1 % of targets that never change."""
    images, rounds = distances.shape[:2]
    evidence = np.ones(rounds)
    if rounds < 3 or not images:
        return evidence
    chances = [np.random.default_rng([seed, i]).random((rounds,)) for i in range(images)]
    ranked = [_p_values(image, chance) for image, chance in zip(distances, chances, strict=True)]
    starts = np.arange(2, rounds)
    prior = 1 / (starts * (starts - 1))
    bets = np.zeros((len(SHARES), len(starts)))  # logarithms of what each share and start has won
    for now in range(2, rounds):
        bets[:, : now - 1] += sum(_won(p, known, starts[: now - 1], now) for p, known in ranked)
        won = (np.exp(np.minimum(bets[:, : now - 1], 600.0)) * prior[: now - 1]).sum() / len(SHARES)
        evidence[now] = won + prior_left(now)
    return evidence


def prior_left(now: int) -> float:
    """The prior probability of changes after round `now`: what has not been bet."""
    return 1 / now


def _p_values(
    distances: Float[np.ndarray, "t t"], chance: Float[np.ndarray, " t"]
) -> tuple[Float[np.ndarray, " t"], Int[np.ndarray, " t"]]:
    """Of each round the rank of its answer among those until then, by mean distance to the others; NaN without one."""
    answered = np.isfinite(np.diagonal(distances))
    apart = np.where(answered[:, None] & answered[None, :], distances, 0.0)
    known, p = np.cumsum(answered), np.full(len(answered), np.nan)
    far = np.zeros(len(answered))
    for now in np.flatnonzero(answered):
        far[:now] += apart[:now, now]
        far[now] = apart[now, :now].sum()
        scores = far[: now + 1][answered[: now + 1]]
        margin = _TIES * max(1.0, float(scores.max()))
        above, equal = (scores > scores[-1] + margin).sum(), (np.abs(scores - scores[-1]) <= margin).sum()
        p[now] = (above + chance[now] * equal) / known[now]
    return p, known


def _won(
    p: Float[np.ndarray, " t"], known: Int[np.ndarray, " t"], starts: Int[np.ndarray, " s"], now: int
) -> Float[np.ndarray, "shares s"]:
    """Logarithms of what the bets of one image win in one round; no bet where the odd ones would be the most."""
    if np.isnan(p[now]):
        return np.zeros((len(SHARES), len(starts)))
    odd = (known[now] - known[starts - 1]) / known[now]
    shares = np.array(SHARES)[:, None]
    won = 1 - shares + np.where(p[now] <= odd, shares / np.where(odd > 0, odd, 1.0), 0.0)
    return np.where(odd <= 0.5, np.log(won), 0.0)
