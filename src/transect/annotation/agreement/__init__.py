"""Agreement between raters and of each rater with themselves: functions over arrays [units, raters], NaN: no answer."""

from transect.annotation.agreement.coefficients import (
    Alpha,
    DawidSkene,
    cohen_kappa,
    dawid_skene,
    krippendorff_alpha,
    percent_agreement,
    rater_reliability,
    spread,
)
from transect.annotation.agreement.logistic_curve import LogisticCurve, fit_logistic

__all__ = [
    "Alpha",
    "DawidSkene",
    "LogisticCurve",
    "cohen_kappa",
    "dawid_skene",
    "fit_logistic",
    "krippendorff_alpha",
    "percent_agreement",
    "rater_reliability",
    "spread",
]
