"""Leakage of a protected attribute by a data set and by a model (Wang et al. 2019), corrected and fast.

Leakage is the balanced accuracy of an attacker that infers the protected attribute from labels (λ_D) or from a model's
predictions (λ_M); amplification is λ_M minus λ_D of labels with as many random errors as the model.
"""

from transect.attacks.analysis import Analysis, Level, Several, analyse, analyse_models
from transect.attacks.estimation import Comparison, Settings, dataset_leakage, model_leakage
from transect.attacks.outputs import Model, Outputs, chance_errors, model_outputs
from transect.attacks.perturbation import macro_f1, perturb, solve_rate
from transect.attacks.records import Evidence, LabelledData, LeakageEstimate, Problem, labelled

__all__ = [
    "Analysis",
    "Comparison",
    "Evidence",
    "LabelledData",
    "LeakageEstimate",
    "Level",
    "Model",
    "Outputs",
    "Problem",
    "Settings",
    "Several",
    "analyse",
    "analyse_models",
    "chance_errors",
    "dataset_leakage",
    "labelled",
    "macro_f1",
    "model_leakage",
    "model_outputs",
    "perturb",
    "solve_rate",
]
