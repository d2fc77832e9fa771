"""Train a generator and its encoder, encode photographs, fit attribute vectors to their labels, move along them.

Denton et al. 2019, Detecting bias with generative counterfactual face attribute augmentation, arXiv:1906.06439. Section
numbers are the paper's; what it leaves open is marked "ours".
"""

from protocol import Protocol

CELEBA = "celeba:data/celeba?crop=128@89,121&split="
PAPER = {
    # 5: CelebA at 128 pixels. Set generator, encoder or target to use files of yours; then nothing is trained.
    "training": f"{CELEBA}train",
    "generator": "",
    "gan_images": 8_000_000,  # ours
    "encoder": "",
    "encoder_images": 1_000_000,  # ours
    "target": "",
    "label": "Smiling",
    # The photographs that are encoded, with their labels, and those of Table 1.
    "photographs": f"{CELEBA}valid",
    "tested": f"{CELEBA}test",
    "truth": "Smiling>0.5",
    "compare": ["Young", "Male", "Heavy_Makeup", "Wearing_Lipstick", "No_Beard", "5_o_Clock_Shadow", "Goatee"],
    "space": "z",
    "distance": "features",
    "encoder_samples": "",
    # 4.2 and 5: a linear classifier per attribute; Smiling and Male balanced in the classes of the others.
    "columns": ["Young", "Heavy_Makeup", "No_Beard", "Blond_Hair", "Smiling", "Male"],
    "attributes": ["Young", "Heavy_Makeup", "No_Beard", "Blond_Hair", "Smiling"],
    "balance": ["Smiling", "Male"],
    # 5: λ from -1 to 1; images between pairs of one class.
    "steps": ["Young=-1:1:9", "Heavy_Makeup=-1:1:9", "No_Beard=-1:1:9", "Blond_Hair=-1:1:9"],
    "subjects": 1000,  # ours
    "pairs": 500,  # ours
    "device": "cpu",
}
SMALL = {
    "generator": "reference",
    "target": "opencv:haarcascade_smile",
    "photographs": "",  # 100 rendered faces
    "truth": "smile>0.5",
    "compare": ["age"],
    "space": "w",
    "distance": "pixels",
    "encoder_samples": 200,
    "columns": ["old=age>50", "smiling=smile>0.5", "dark=skin_tone>5.5"],
    "attributes": ["old", "smiling", "dark"],
    "balance": ["smiling"],
    "steps": ["old=-1:1:3", "dark=-1:1:3"],
    "subjects": 10,
    "pairs": 2,
}


def main() -> None:
    """Run what is not finished."""
    study = Protocol(
        __file__, "Sensitivity of a smiling classifier to attribute vectors (Denton et al. 2019)",
        {"paper": PAPER, "small": SMALL},
    )  # fmt: skip
    use = study.settings
    on = {"device": use.device}
    photographs, tested, target = use.photographs, use.tested, use.target
    if not photographs:
        study.run("draw", "render", data_set=True, subjects=100, seed=7, size=64, out=study.folder("draw"))
        photographs = tested = f"parquet:{study.folder('draw')}?crop=center"
    # 4.1: a progressive GAN with a prior of 128 numbers, and its encoder (equation 2).
    generator, encoder = use.generator, use.encoder
    if not generator:
        gan, generator = study.folder("gan"), study.folder("gan") / "generator.safetensors"
        study.run(
            "gan",
            "train gan",
            use.training,
            arch="progressive",
            size=128,
            z_dim=128,
            images=use.gan_images,
            out=gan,
            **on,
        )
    if not encoder and not use.encoder_samples:
        trained, encoder = study.folder("encoder"), study.folder("encoder") / "encoder.safetensors"
        study.run("encoder", "train encoder", generator, size=128, images=use.encoder_images, out=trained, **on)
    # 5: the smiling classifier, and its errors by attribute on labelled photographs (Table 1).
    learned = {}
    if not target:
        target = f"classifier:{study.folder('train')}"
        learned = study.run(
            "train",
            "train classifier",
            use.training,
            label=use.label,
            schedule="denton-2019",
            out=study.folder("train"),
            **on,
        )
    table = study.folder("table-1")
    study.run("table-1", "audit", target, dataset=tested, truth=use.truth, compare=use.compare, out=table, **on)
    # 4.2: latent codes of the photographs, and a vector for each of their labels, with balanced classes.
    labels, codes, vectors = study.out / "labels.parquet", study.folder("encode"), study.out / "vectors.safetensors"
    study.run("labels", "datasets table", photographs, labels, column=use.columns)
    study.run(
        "encode", "invert encode", generator=generator, images=photographs, space=use.space, distance=use.distance,
        encoder=encoder, encoder_samples=use.encoder_samples, out=codes, **on,
    )  # fmt: skip
    fitted = study.run(
        "fit", "directions fit", vectors, generator=generator, latents=codes / "latents.safetensors", labels=labels,
        attribute=use.attributes, balance=use.balance, space=use.space, **on,
    )  # fmt: skip
    # 4.3 and 4.5: images are G(z + λ d), d of length 1 (Fig. 5 and 6), and images between pairs of one class.
    moved = study.folder("sensitivity")
    found = study.run(
        "sensitivity", "audit", target, generator=generator, directions=vectors, steps=use.steps, step_unit="direction",
        subjects=use.subjects, interpolate=use.pairs, boundary=(0.3, 0.7), out=moved, **on,
    )  # fmt: skip
    if study.dry:
        return
    effects = [each for each in found["effects"] if (each["outcome"], each["kind"]) == ("answer", "slope")]
    trained = [("Accuracy of the classifier, %", "89.33, Table 1", 100 * learned["accuracy"])] if learned else []
    study.finish(
        f"Share classified as {use.label}, in points for each unit of λ: " + "; ".join(map(_effect, effects)) + ".",
        [
            *((f"Effect of {each['attribute']} on answers", "Fig. 5 and 6", _effect(each)) for each in effects),
            *trained,
            *(
                (
                    f"Balanced accuracy of {each['name']} on codes not seen in fitting, %",
                    "Fig. 8",
                    100 * each["quality"],
                )
                for each in fitted["attributes"]
            ),
        ],
        {"sensitivities": moved / "report.html", "errors on photographs (Table 1)": table / "report.html"},
        simulated=False,
    )


def _effect(each: dict) -> str:
    if each["estimate"] is None:
        return f"{each['attribute']}: {each['reason']}"
    ends = "" if each["low"] is None else f" ({100 * each['low']:+z.1f} to {100 * each['high']:+z.1f})"
    return f"{each['attribute']} {100 * each['estimate']:+z.1f}{ends}"


if __name__ == "__main__":
    main()
