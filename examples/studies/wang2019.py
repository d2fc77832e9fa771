"""Measure leakage of labels, train models with and without mitigation, and attack their answers anew.

Wang et al. 2019, Balanced datasets are not enough: estimating and mitigating gender bias in deep image
representations, arXiv:1811.08489. Section numbers are the paper's; what it leaves open is marked "ours".
"""

import json
import zlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from protocol import Protocol

PAPER = {
    # 4: imSitu, 24,301, 7,730 and 7,669 images; one verb each, with the official split.
    "source": "imsitu:data/imsitu",
    "labels": {"every": "verb=*"},
    "label": [],
    "protected": "",
    "mitigation_protected": "gender=woman",
    # 4.1 and Table 2: four layers of 300; five rounds. 4.2: no label more than α times as frequent with one gender.
    "attacker": "mlp-4",
    "mitigation_attacker": "mlp-4",
    "rounds": 5,
    "alpha": [3.0, 2.0, 1.0],
    # 4.1 and 5.2: ResNet-50 pretrained on ImageNet, last layer at 1e-4 in batches of 32, then all at 5e-6.
    "size": 224,
    "parts": {"train": 24301, "check": 7730, "test": 7669},
    "network": {"backbone": "timm:resnet50"},
    "training": {"head": "head", "rate": 1e-4, "batch": 32},
    "modules": ["body.layer3", "body.layer4"],
    "adversary": {"epochs": 10, "critic_epochs": 10, "rate": 5e-6, "critic_rate": 1e-4},
    "critic": {},
    # 5.1: faces by a detector. People are known on COCO only, by outlines and boxes.
    "hidden": ["face blackout"],
    "noise": [0.5, 1, 2],
    "seeds": [0, 1, 2, 3, 4],
    "subjects": 0,
    "device": "cpu",
}
COCO = {
    "source": "coco:data/coco?split=train2014,val2014",
    "labels": {"every": "*"},
    "parts": {"train": 22826, "check": 5367, "test": 5473},
    "hidden": ["face blackout", "mask blur", "mask blackout", "box blur", "box blackout"],
}
SMALL = {
    "source": "",  # rendered faces of a confounded population
    "labels": {
        "glasses": "glasses!=none", "long hair": "hair_length>0.5", "lipstick": "lipstick>0.2",
        "facial hair": "facial_hair>0.1",
    },
    "label": ["glasses", "long_hair", "lipstick", "facial_hair"],
    "protected": "masculine",
    "mitigation_protected": "face_shape>0.43",
    "attacker": "logistic",
    "mitigation_attacker": "logistic",
    "rounds": 1,
    "alpha": [3.0, 1.0],
    "size": 32,
    "parts": {"train": 160, "check": 60, "test": 160},
    "network": {"widths": [8, 8, 8]},
    "training": {"epochs": 2, "batch": 20},
    "modules": ["blocks.1", "blocks.2"],
    "adversary": {"epochs": 1, "critic_epochs": 1, "rate": 3e-4, "critic_rate": 3e-3},
    "critic": {"critic_width": 4, "mask_widths": [4]},
    "hidden": ["face blackout", "mask blur", "box blackout"],
    "noise": [1],
    "seeds": [0],
    "subjects": 6,
}  # fmt: skip
COLUMNS = [
    "glasses=glasses>0", "long_hair=hair_length>0.5", "lipstick=lipstick>0.2", "facial_hair=facial_hair>0.1",
    "masculine=face_shape>0.43",
]  # fmt: skip


def mitigations(use: SimpleNamespace) -> list[dict[str, Any]]:
    """Table 3, 4 and 5: what is compared with the plain model."""
    conv4, conv5 = use.modules
    wide = {"kind": "adversarial", **use.adversary}
    return [
        {"kind": "noise", "name": "randomization", "levels": use.noise},
        *({"kind": "balanced", "name": f"balanced data (α = {each:g})", "alpha": each} for each in use.alpha),
        *(
            {"kind": "hide", "name": f"{how}-{region}", "region": region, "how": how}
            for region, how in map(str.split, use.hidden)
        ),
        {**wide, **use.critic, "name": "adversarial at the image", "module": "image", "critic": "image"},
        {**wide, "name": "adversarial at conv4", "module": conv4, "critic": "convolution"},
        {**wide, "name": "adversarial at conv5", "module": conv5},
        {"kind": "crf", "name": "CRF"},
        {"kind": "rba", "name": "RBA", "start": "CRF"},
    ]


def toml(use: SimpleNamespace) -> str:
    """The file of `transect mitigate`."""
    lines = _lines({"seeds": use.seeds, "attackers": [use.mitigation_attacker], "rounds": use.rounds})
    data = {"source": use.source or "faceworld", "size": use.size, **use.parts, "protected": use.mitigation_protected}
    sections = {"data": data, "data.labels": use.labels, "network": use.network, "training": use.training}
    for name, values in {**sections, "audit": {"subjects": use.subjects}}.items():
        lines += [f"[{name}]", *_lines(values)]
    for each in mitigations(use):
        lines += ["[[mitigations]]", *_lines(each)]
    return "\n".join(lines) + "\n"


def _lines(values: Mapping[str, object]) -> list[str]:
    return [f"{json.dumps(name)} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]


def main() -> None:
    """Run what is not finished."""
    study = Protocol(
        __file__,
        "Leakage of gender, and what removes it (Wang et al. 2019)",
        {"paper": PAPER, "coco": COCO, "small": SMALL},
    )
    use = study.settings
    labels = use.source
    if not labels:
        drawn, labels = study.folder("draw"), study.out / "labels.parquet"
        study.run("draw", "render", data_set=True, subjects=400, population="celebrity-like", size=32, out=drawn)
        study.run("labels", "datasets table", f"parquet:{drawn}", labels, column=COLUMNS)
    # Section 3 and Table 1: how well labels tell gender, λ_D, and what balance costs.
    known = study.run(
        "dataset-leakage", "leakage", labels=labels, label=use.label, protected=use.protected, attacker=use.attacker,
        rounds=use.rounds, alpha=use.alpha, device=use.device, out=study.folder("dataset-leakage"),
    )  # fmt: skip
    # Section 5, Tables 3 to 5 and Fig. 5: models with and without mitigation, and what new attackers find: λ_M, Δ, F1.
    text = toml(use)
    file = study.out / f"mitigate-{zlib.crc32(text.encode()):08x}.toml"  # other settings are another command
    if not study.dry:
        study.out.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    models = study.run("mitigate", "mitigate", file, device=use.device, out=study.folder("mitigate"))
    if study.dry:
        return
    plain, *others = models["mitigations"]
    rows = [(f"Leakage λ_D of the labels, α = {row['alpha'] or 'none'}, %", row) for row in known["table"]]
    published = {None: "68.26 ± 0.31 (imSitu), 67.72 ± 0.31 (COCO)", 3: "68.11", 2: "68.15", 1: "53.99 (imSitu)"}
    study.finish(
        f"The plain model amplifies leakage by Δ = {_figure(plain['amplification'])} points; with "
        + "; with ".join(
            f"{each['name']} {_figure(each['amplification'])}" for each in others if "adversarial" in each["name"]
        )
        + " (published: 20.47 without, imSitu, no gender).",
        [
            *((name, published.get(row["alpha"], ""), _figure(row["dataset_leakage"])) for name, row in rows),
            ("Leakage of the plain model λ_M, %", "76.93 ± 0.20 (imSitu, no gender)", _figure(plain["model_leakage"])),
            *(
                (f"Amplification Δ, {each['name']}, points", "Tables 3 to 5", _figure(each["amplification"]))
                for each in others
            ),
            *((f"F1, {each['name']}, %", "Tables 4 and 5", _figure(each["f1"])) for each in models["mitigations"]),
        ],
        {
            "mitigations": study.folder("mitigate") / "mitigate.html",
            "leakage of the labels": study.folder("dataset-leakage") / "leakage.html",
        },
        simulated=False,
    )


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["estimate"] is None:
        return figure["reason"]
    ends = "" if figure["low"] is None else f" ({figure['low']:.2f} to {figure['high']:.2f})"
    return f"{figure['estimate']:.2f}{ends}"


if __name__ == "__main__":
    main()
