"""Invert photographs into a generator, match groups in its latent space, and compare face recognition on the matches.

Singh et al. 2021, Matched sample selection with GANs for mitigating attribute confounding, arXiv:2103.13455. Section
numbers are the paper's; what it leaves open is marked "ours".
"""

from protocol import Protocol

PAPER = {
    "generator": None,  # a StyleGAN2 trained on FFHQ as a safetensors file (docs/how-to/walk-a-latent-space.md)
    "weights": None,  # VGG16's weights in torchvision's layout
    "landmarks": None,  # dlib's shape_predictor_68_face_landmarks.dat
    # 4: CelebA-HQ, 30,000 photographs of 6,216 people; dlib's recognition network.
    "photographs": "celeba-hq:data/CelebAMask-HQ?crop=center",
    "columns": ["Male", "Young", "Smiling", "Eyeglasses", "Heavy_Makeup"],
    "treatment": "Male",
    # 3.1: expanded latents held together by λ = 0.1. Fig. 3: λ on 300 images. Steps are ours.
    "penalty": 0.1,
    "penalties": [0, 0.01, 0.1, 1, 10000],
    "swept": "celeba-hq:data/CelebAMask-HQ?crop=center&limit=300",
    "steps": 300,
    "distance": "vgg16",
    "start": "mean",
    "encoder_samples": "",
    # 4.1 and Table 1: three raters say of pairs whether both images show one person.
    "raters": 3,
    "simulated": False,
    # 3.2.1 and equation 5: reference photographs without eyeglasses, equally far by the distance of the inversion.
    # Equation 4 needs embeddings: set second to a file of them, and second_threshold to 0.6.
    "difficulty": "vgg16",
    "default": ["Eyeglasses=0"],
    "second": "",
    "second_threshold": "",
    # 3.2.2 and 4.4: matching by propensity, as published, and with the repairs of docs/research.
    "propensity": ["propensity-published", "propensity"],
    "caliper": "",  # of these two; the default is 0.2 standard deviations of log odds
    # Fig. 5: set given_pairs to a table of pairs below --out, such as the published ones, to see their balance too.
    "given_pairs": "",
    "recognizer": "dlib:face-recognition@models",
    # Table 2: what a distance keeps. Background and pose are read from the photographs.
    "detector": "dlib:hog-face",
    "kept": [
        "Young", "Smiling", "Eyeglasses", "Heavy_Makeup", "read_background", "read_yaw", "read_pitch", "read_roll",
    ],
    "device": "cpu",
}  # fmt: skip
SMALL = {
    "generator": "reference",
    "weights": "",
    "landmarks": "",
    "photographs": "",  # two rendered faces of each of 16 people
    "columns": ["male=face_shape>0.5", "age", "skin_tone", "smile", "glasses=glasses>0"],
    "treatment": "male",
    "penalties": [0, 10],
    "swept": "",
    "steps": 3,
    "distance": "pixels",
    "start": "encoder",
    "encoder_samples": 200,
    "simulated": True,
    "difficulty": "pixels",
    "default": [],
    "caliper": 5,  # scores of 16 people are far apart
    "given_pairs": "pairs.parquet",  # those that were just found
    "recognizer": "",  # none ships: the latents stand in for its embeddings
    "kept": ["age", "skin_tone", "smile", "glasses"],
}
TABLE_1 = {"fake": "66.7", "real": "68.3"}


def main() -> None:
    """Run what is not finished."""
    study = Protocol(
        __file__, "Face recognition on matched photographs (Singh et al. 2021)", {"paper": PAPER, "small": SMALL}
    )
    use = study.settings
    photographs, swept = use.photographs, use.swept
    if not photographs:
        draw = study.folder("draw")
        study.run("draw", "render", data_set=True, subjects=16, vary=["yaw=-8,8"], seed=3, size=64, out=draw)
        photographs = swept = f"parquet:{draw}?crop=center"
    table, pairs = study.out / "photographs.parquet", study.out / "pairs.parquet"
    study.run("table", "datasets table", photographs, table, column=use.columns, pictures=True)
    # 3.1 and Fig. 3: project the photographs into the latent space, and some of them at each λ.
    projected = {
        "generator": use.generator, "space": "w+", "steps": use.steps, "distance": use.distance, "weights": use.weights,
        "start": use.start, "encoder_samples": use.encoder_samples, "device": use.device,
    }  # fmt: skip
    sweep = {
        each: study.run(
            f"penalty-{each}", "invert", images=swept, penalty=each, out=study.folder(f"penalty-{each}"), **projected
        )
        for each in use.penalties
    }
    latents = study.folder("invert")
    study.run("invert", "invert", images=photographs, penalty=use.penalty, out=latents, **projected)
    # 4.1 and Table 1: do inversions and photographs show the same person?
    pairs_of = {"raters": use.raters, "questions": ["same-person"], "photographs": photographs}
    if use.simulated:
        study.simulate("simulate", latents, answer_mean=["same_person=0.3"], **pairs_of)
    study.rated(latents, use.raters, "same-person", photographs=photographs)
    agreed = study.run("same-person", "annotate agreement", latents)
    # 3.2.1 and Fig. 5: match across the groups by distance in latent space.
    groups = {"table": table, "treatment": use.treatment, "identity": "subject"}
    found = study.run(
        "match", "match", features=[latents], references=True, default=use.default, difficulty=use.difficulty,
        difficulty_weights=use.weights, second=use.second, second_threshold=use.second_threshold, pictures="image",
        out=pairs, report=study.folder("match"), **groups,
    )  # fmt: skip
    for method in use.propensity:
        file, folder = study.out / f"{method}.parquet", study.folder(method)
        study.run(
            method, "match", features=[latents], method=method, caliper=use.caliper, out=file, report=folder, **groups
        )
    if use.given_pairs:
        there, file = study.out / use.given_pairs, study.out / "given.parquet"
        study.run("given", "match", pairs=there, out=file, report=study.folder("given"), **groups)
    # 4.5 and Fig. 7: errors of recognition before and after matching.
    recognition = study.folder("recognition")
    embeddings = recognition / "embeddings.parquet" if use.recognizer else latents / "latents.safetensors"
    compared = study.run(
        "recognition", "recognition", use.recognizer, table=table, identity="subject", group=use.treatment, pairs=pairs,
        pictures="image" if use.recognizer else "", embeddings="" if use.recognizer else embeddings, out=recognition,
    )  # fmt: skip
    # Table 2: what a distance keeps among the nearest photographs.
    if use.landmarks:
        readings = study.folder("readings")
        study.run(
            "readings", "match readings", table, pictures="image", detector=use.detector, landmarks=use.landmarks,
            prefix="read_", out=readings,
        )  # fmt: skip
        table = readings / "readings.parquet"
    kept = study.run(
        "neighbours", "match neighbours", features=[latents, *([embeddings] if use.recognizer else [])], table=table,
        identity="subject", attribute=use.kept, report=study.folder("neighbours"),
    )  # fmt: skip
    if study.dry:
        return
    gaps = {name: sample["differences"][0] for name, sample in compared["samples"].items()}
    (same,) = agreed["pairs"]
    people = {row["kind"]: row for row in same["same"] if row["by"] == "all"}
    study.finish(
        "Mean distance of two photographs of one person, women's less men's: "
        + "; ".join(f"{name} photographs {_women_less_men(gap)}" for name, gap in gaps.items())
        + " (Fig. 7: above 0, and larger among matched photographs).",
        [
            ("Pairs found", "500 (250 of people with two photographs each)", found["pairs"]),
            *(
                (f"Distance of projection at λ = {each}", "smallest at 0.1, Fig. 3", one["median"]["perceptual"])
                for each, one in sweep.items()
            ),
            *(
                (f"Seen as one person, {kind} pairs, %", TABLE_1.get(kind, ""), 100 * row["share"])
                for kind, row in people.items()
            ),
            *(
                (f"{each['attribute']} of the nearest by {distance['distance']} differs by", "Table 2", each["error"])
                for distance in kept["distances"] for each in distance["attributes"]
            ),
        ],
        {
            "recognition": recognition / "recognition.html",
            "matching": study.folder("match") / "match.html",
            "inversions": latents / "invert.html",
            "what distances keep": study.folder("neighbours") / "neighbours.html",
        },
        simulated=use.simulated,
    )  # fmt: skip


def _women_less_men(gap: dict) -> str:
    """The command's difference is the other way round."""
    if gap["estimate"] is None:
        return gap["reason"]
    return f"{-gap['estimate']:+z.4f} ({-gap['high']:+z.4f} to {-gap['low']:+z.4f})"


if __name__ == "__main__":
    main()
