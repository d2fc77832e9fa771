import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from transect.effects import balakrishnan


def audited(subjects=200, images=4):
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(subjects), images)
    perceived = {
        "beard": rng.integers(0, 2, len(clusters)).astype(float),
        "age": rng.integers(0, 3, subjects)[clusters] / 2,
    }
    eta = -1 + 1.5 * perceived["beard"] - perceived["age"] + 2 * rng.normal(size=subjects)[clusters]
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float), perceived, clusters


def test_rows_are_scikit_learn_s_coefficients_sorted_by_size():
    errors, perceived, clusters = audited()
    made = balakrishnan(errors, perceived, clusters, resamples=100)
    names = ["beard: 0", "beard: 1", "age: 0", "age: 0.5", "age: 1"]
    x = np.column_stack([perceived[name.split(":")[0]] == float(name.split(":")[1]) for name in names]).astype(float)
    judge = dict(
        zip(names, LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(x, errors).coef_[0], strict=True)
    )
    assert dict(zip(made.names, made.coefficients, strict=True)) == pytest.approx(judge, abs=1e-6)
    assert (np.diff(np.abs(made.coefficients)) <= 1e-12).all()
    assert made.attributes[:2] == ("beard", "beard")
    counts = {name: int(column.sum()) for name, column in zip(names, x.T, strict=True)}
    assert dict(zip(made.names, made.images.tolist(), strict=True)) == counts
    assert (made.by_image.unit, made.by_subject.unit) == ("image", "subject")


def test_a_subject_s_own_attribute_has_longer_bars_by_subject():
    errors, perceived, clusters = audited()
    made = balakrishnan(errors, perceived, clusters, resamples=300)
    ratio = dict(zip(made.names, made.subject_sd / made.image_sd, strict=True))
    # Age is shared by a subject's four images, whose errors agree; the beard varies within the subject.
    assert ratio["age: 0"] > 1.15
    assert ratio["beard: 1"] < 1.1
