"""The small model whose answers stand in the tables: logistic regression on thumbnails of other rendered people."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float
from PIL import Image

from transect.jobs.sample_data.faces import Faces

LABELS: Final = ("smile", "lipstick", "hair_length", "hair_color")
"""What the model predicts; errors are counted of the first."""
FEATURES: Final = ("age", "skin_tone", "smile", "yaw", "pitch", "light_level")
"""By which people are matched."""
_SIDE: Final = 24
_PENALTY: Final = 0.03
"""The inverse strength of the penalty: 576 weights and a few hundred people."""


def predictions_of(taught: Faces, shown: Faces) -> Float[np.ndarray, "n k"]:
    """Probabilities of each label for the people shown, by a model that learned from the others; to four decimals."""
    from sklearn.linear_model import LogisticRegression

    learned, asked = _thumbnails(taught), _thumbnails(shown)
    middle, spread = learned.mean(axis=0), learned.std(axis=0) + 1e-6
    columns = []
    for name in LABELS:
        model = LogisticRegression(C=_PENALTY, max_iter=500)
        model.fit((learned - middle) / spread, taught.bits(name))
        columns.append(model.predict_proba((asked - middle) / spread)[:, 1])
    return np.asarray(np.round(np.stack(columns, axis=1), 4))


def features_of(faces: Faces) -> Float[np.ndarray, "n d"]:
    """The attributes by which people are matched, each with mean 0 and standard deviation 1."""
    values = np.stack([faces.column(name) for name in FEATURES], axis=1)
    return np.asarray(np.round((values - values.mean(axis=0)) / values.std(axis=0), 4))


def _thumbnails(faces: Faces) -> Float[np.ndarray, "n d"]:
    gray = [Image.fromarray(picture).convert("L") for picture in faces.pixels]
    small = [picture.resize((_SIDE, _SIDE), Image.Resampling.BOX) for picture in gray]
    return np.stack([np.asarray(picture, dtype=np.float64).ravel() for picture in small])
