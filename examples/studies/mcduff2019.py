"""Train a conditional generator, have people check its images, and search its conditions for failures of a target.

McDuff et al. 2019, Characterizing bias in classifiers using generative models, arXiv:1906.11891. Section numbers are
the paper's; what it leaves open is marked "ours".
"""

from statistics import mean

from protocol import Protocol

PAPER = {
    "target": None,  # the model to search, as TOML of a web address or a file of yours; see: transect list targets
    "second_target": "",  # Table 2 has two services; the first search runs for this one too
    # Section 3: 5,000 images of each of four regions, 2,500 men and 2,500 women, at 128 pixels: a folder of yours with
    # the columns race and gender. Set generator to use a file of yours; then nothing is trained.
    "training": "folder:data/ms-celeb",
    "generator": "",
    "gan_images": 4_000_000,  # ours: the paper does not say
    "conditions": ["race", "gender"],
    # Section 4: 50 images of each condition, five raters.
    "subjects": 50,
    "raters": 5,
    "simulated": False,
    # A gate that is not met stops the protocol. min_images: rated images that each level needs.
    "require": True,
    "min_images": 20,
    # Section 4: 400 images; α = 0.6 found most errors. Fig. 4 compares weights and random sampling. Repeats are ours: a
    # target whose calls cost money is asked about up to 400 pictures for each of six searches and each repeat.
    "budget": 400,
    "searches": ["mcduff2019 0.6", "random", "mcduff2019 0", "mcduff2019 0.2", "mcduff2019 1", "ours"],
    "repeats": 5,
    "truth": "gender",
    "size": "",
    "device": "cpu",
}
SMALL = {
    "target": "opencv:haarcascade_smile",
    "second_target": "opencv:haarcascade_smile",  # the same: no other one answers as the truth asks
    "generator": "faceworld",
    "conditions": ["face_shape=0.1,0.9", "skin_tone=2,9"],
    "subjects": 10,
    "raters": 3,
    "simulated": True,
    "require": False,  # ten subjects are too few to show equal quality, and simulated answers pass no required gate
    "min_images": 10,
    "budget": 24,
    "searches": ["mcduff2019 0.6", "random"],
    "repeats": 2,
    "truth": "smile>0.5",
    "size": 48,
}


def _rate(row: dict) -> str:
    return "not estimable" if row["rate"] is None else f"{100 * row['rate']:.1f} ({row['errors']} of {row['images']})"


OTHER = " of the second service"
SEEN = {"gender": "1.75 (7 of 400)"}


def main() -> None:
    """Run what is not finished."""
    study = Protocol(
        __file__, "Failures of a classifier over conditions (McDuff et al. 2019)", {"paper": PAPER, "small": SMALL}
    )
    use = study.settings
    generator, images = use.generator, study.folder("images")
    if not generator:
        gan, generator = study.folder("gan"), study.folder("gan") / "generator.safetensors"
        study.run(
            "gan", "train gan", use.training, arch="conditional", size=128, images=use.gan_images,
            condition=use.conditions, device=use.device, out=gan,
        )  # fmt: skip
    drawn = {"generator": generator, "vary": use.conditions, "size": use.size, "device": use.device}
    study.run("images", "render", data_set=True, subjects=use.subjects, out=images, **drawn)
    # Section 4: is the picture good, and does it show its condition? The paper asked about gender alone.
    questions = study.out / "questions.toml"
    study.run("questions", "annotate questions", images, questions)
    if use.simulated:
        study.simulate(
            "simulate", images, raters=use.raters, questions=[questions], answer_mean=["quality=0.75"], noise=0.05,
            lapse=0.0,
        )  # fmt: skip
    study.rated(images, use.raters, str(questions))
    by = [each.partition("=")[0] for each in use.conditions]
    validated = [
        study.run(
            f"validate-{name}", "annotate validate", images, condition=name, min_images=use.min_images,
            require=use.require,
        )
        for name in by
    ]  # fmt: skip
    asked = {**drawn, "space": "conditions", "budget": use.budget, "truth": use.truth}
    found: dict[str, list[dict]] = {}
    first, second = use.searches[0], f"{use.searches[0]}{OTHER}"
    services = dict.fromkeys(use.searches, use.target) | ({second: use.second_target} if use.second_target else {})
    for name, target in services.items():
        method, _, alpha = name.removesuffix(OTHER).partition(" ")
        found[name] = [
            study.run(
                step := f"{name.replace(' ', '-')}-{seed}", "search", target, goal="failures", method=method,
                alpha=alpha, by=by, seed=seed, out=study.folder(step), **asked,
            )
            for seed in range(use.repeats)
        ]  # fmt: skip
    if study.dry:
        return
    failures = {name: [each["failures"] for each in searches] for name, searches in found.items()}
    # Table 2: error rates by group in the first search of each service.
    rates = [
        (f"{row['measure']}, {row['by'] or 'all'} {row['group']}, %, {services[name]}", "Table 2", _rate(row))
        for name in (first, second)
        if name in found
        for row in found[name][0]["errors"]["samples"][0]["rows"]
        if not row["uniform"] and "×" not in row["by"]
    ]
    everything = [next(iter(each.values()))["groups"][0] for each in validated]
    study.finish(
        f"In {use.budget} images {first} finds {mean(failures[first]):.1f} failures, random conditions "
        f"{mean(failures['random']):.1f} (means of {use.repeats} searches; Fig. 4a: almost 50 % more).",
        [
            *(
                (f"Images whose {name} most raters see differently, %", SEEN.get(name, ""), 100 * each["share"])
                for name, each in zip(by, everything, strict=True)
            ),
            ("Mean quality of the images, from 0 to 5", "3.39", everything[0]["quality"]),
            *(
                (f"Failures, {name}", "no number; Fig. 4", ", ".join(map(str, counts)))
                for name, counts in failures.items()
            ),
            *rates,
        ],
        {f"{name}, first search": study.folder(f"{name.replace(' ', '-')}-0") / "search.html" for name in failures},
        simulated=use.simulated,
    )


if __name__ == "__main__":
    main()
