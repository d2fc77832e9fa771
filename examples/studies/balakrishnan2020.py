"""Sample a generator, have people rate the samples, fit directions, make transects, have people rate these, analyse.

Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570. Section
numbers are the paper's; what it leaves open is marked "ours".
"""

from protocol import Protocol

PAPER = {
    "generator": None,  # a StyleGAN2 trained on FFHQ as a safetensors file (docs/how-to/walk-a-latent-space.md)
    # 5.2: vectors of z that are sampled and rated, and the space of the linear models ("style space").
    "samples": 5000,
    "space": "w",
    # 4.3: answers to each of eight questions about each image.
    "raters": 5,
    "simulated": False,
    "labelled_by": "people",
    # 5.1: the classifier. Set target to audit a model of yours instead; then nothing is trained.
    "target": "",
    "photographs": "celeba:data/celeba?split=train&crop=center",
    "label": "Male",
    "schedule": "balakrishnan-2020",
    # What the classifier should answer, as raters see it.
    "truth": "gender>=0.5",
    # 5.2: linear regression of the first four; facial hair, make-up and smiling are cut in two for a linear SVM. The
    # cut points are ours.
    "attributes": ["age", "gender", "skin_color", "hair_length", "facial_hair>0.5", "makeup>0.5", "smile>0.5"],
    # 5.2: 1,000 transects of 2 x 2 x 2 images. Published decision values are (-1.5, 1.7), (-0.5, 0) and (-1.75, 1.75)
    # in the units of their regressions; those of another fit are others. Ours are where raters see little and much of
    # the attribute, which the fit never refuses. Set values to decision, and levels, to state distances as they do.
    "subjects": 1000,
    "values": "label",
    "levels": ["skin_color=little,much", "hair_length=little,much", "gender=little,much"],
    # Fig. 1, 13, 14 and 16: errors by what raters saw, cut as in Fig. 15.
    "by": ["perceived_gender", "perceived_hair_length", "perceived_skin_color", "perceived_age"],
    "bins": [
        "perceived_gender=0.5", "perceived_hair_length=0.4", "perceived_skin_color=0.5", "facial_hair=0.5",
        "makeup=0.5", "smile=0.33,0.66", "perceived_age=0.5,0.7,0.9",
    ],
    # Fig. 16: errors at 0.5, the classifier's own, and at 0.8, which had the fewest.
    "at_threshold": [0.8],
    "size": "",
    "device": "cpu",
}  # fmt: skip
SMALL = {
    "generator": "faceworld",
    "samples": 100,
    "space": "",
    "raters": 2,
    "simulated": True,
    "labelled_by": "model:simulated raters",
    "target": "opencv:haarcascade_smile",
    "truth": "smile>=0.5",
    "attributes": ["skin_color", "hair_length", "smile", "age", "makeup>0.15"],
    "subjects": 16,
    "levels": ["skin_color=little,much", "hair_length=little,much", "smile=little,much"],
    "by": ["perceived_smile", "perceived_skin_color"],
    "bins": ["perceived_smile=0.5", "perceived_hair_length=0.5", "perceived_skin_color=0.5", "makeup=0.15", "age=0.5"],
    "at_threshold": [],
    "size": 64,
}


def main() -> None:
    """Run what is not finished."""
    study = Protocol(
        __file__,
        "Bias of a gender classifier by transects (Balakrishnan et al. 2020)",
        {"paper": PAPER, "small": SMALL},
    )
    use = study.settings
    images = {"generator": use.generator, "size": use.size, "device": use.device}
    raters = {"raters": use.raters, "answer_mean": ["fakeness=0.2"]}
    directions, labels, ratings = (
        study.out / name for name in ("directions.safetensors", "labels.parquet", "ratings.parquet")
    )

    # 4.1.1 and 4.3: sample images from the generator, and have people rate them.
    sample = study.folder("sample")
    study.run("sample", "render", data_set=True, subjects=use.samples, out=sample, **images)
    if use.simulated:
        study.simulate("simulate-samples", sample, **raters)
    study.rated(sample, use.raters, "paper")
    study.run("labels", "annotate export", sample, format="ratings", scale="unit", out=labels)
    # 4.1.1 and 4.1.3: a ridge regression or an SVM hyperplane of each rated attribute, perpendicular to the others.
    study.run(
        "fit", "directions fit", directions, generator=use.generator, labels=labels, attribute=use.attributes,
        method="svm", space=use.space, values=use.values, labelled_by=use.labelled_by, device=use.device,
    )  # fmt: skip
    # Their levels, to look at before people are paid to rate them.
    shown = study.out / "transects.png"
    study.run(
        "shown", "render", directions=directions, vary=use.levels, subjects=4, out=shown, **images,
    )  # fmt: skip
    # 5.1: the classifier that is audited.
    target = use.target
    if not target:
        target = f"classifier:{study.folder('train')}"
        study.run(
            "train", "train classifier", use.photographs, label=use.label, schedule=use.schedule, device=use.device,
            out=study.folder("train"),
        )  # fmt: skip
    # 4.1.2 and 5.2: the transects, and what the classifier answers. 4.3: people rate them.
    transects = study.folder("transects")
    study.run(
        "transects",
        "audit",
        target,
        directions=directions,
        vary=use.levels,
        subjects=use.subjects,
        out=transects,
        **images,
    )
    if use.simulated:
        study.simulate("simulate-transects", transects, seed=1, **raters)
    study.rated(transects, use.raters, "paper")
    study.run("ratings", "annotate export", transects, format="ratings", scale="unit", out=ratings)
    # 5.2.1, 5.4 and 5.5: prune, take the right answer from the raters, and regress the errors.
    found = study.run(
        "analyse", "report", transects, ratings=ratings, prune=["as-published"], reference=use.truth,
        by=use.by, bins=use.bins, at_threshold=use.at_threshold,
    )  # fmt: skip
    # Fig. 7, 8 and 17: agreement, what raters saw along the transects, and the images farthest from what they said;
    # after the report, which stores the right answers with the run.
    study.run("agreement", "annotate report", transects, scale="unit", out=study.folder("agreement"))
    if study.dry:
        return
    errors = [each for each in found["effects"] if each["outcome"] == "error"]
    excluded = errors[0]["excluded"]
    study.finish(
        "Effect on the share of wrong answers, in points: " + "; ".join(map(_effect, errors)) + ".",
        [
            *((f"Effect of {each['attribute']} on errors", "no number; Fig. 15", _effect(each)) for each in errors),
            ("Images left out as fake or ambiguous", "2,287 of 8,000", excluded["pruned by fake or ambiguous"]),
            (
                "Then left out as children and teenagers",
                "378 of 5,713",
                excluded.get("pruned by children and teenagers", 0),
            ),
        ],
        {"report": transects / "report.html", "raters": study.folder("agreement") / "annotate.html", "levels": shown},
        simulated=use.simulated,
    )


def _effect(each: dict) -> str:
    if each["estimate"] is None:
        return f"{each['attribute']}: {each['reason']}"
    ends = "" if each["low"] is None else f" ({100 * each['low']:+z.1f} to {100 * each['high']:+z.1f})"
    return f"{each['attribute']} {100 * each['estimate']:+z.1f}{ends}"


if __name__ == "__main__":
    main()
