"""Small tables and features to match, and the command that matches them."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from commands import printed


def write_population(tmp_path):
    """200 images: w+ of 3 layers, a table with a confounded covariate, identities, a second embedding."""
    rng = np.random.default_rng(0)
    n = 200
    young = (rng.random(n) < 0.5).astype(float)
    male = (rng.random(n) < 0.25 + 0.5 * young).astype(int)
    w = rng.normal(size=(n, 3, 4)).astype(np.float32)
    w[:, :, 0] += young[:, None].astype(np.float32) * 2
    np.save(tmp_path / "w.npy", w)
    np.save(tmp_path / "faces.npy", rng.normal(size=(n, 3)))
    table = {
        "id": [f"i{i}" for i in range(n)],
        "male": male,
        "young": young,
        "smile": rng.random(n),
        "person": [f"p{i // 2}" if i < 40 else f"p{i}" for i in range(n)],
        "place": rng.choice(["in", "out"], n),
        "tri": rng.choice(["a", "b", "c"], n, p=[0.2, 0.4, 0.4]),
        "dose": rng.normal(size=n),
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    pq.write_table(
        pa.table({"id": table["id"][::-1], "w": w.reshape(n, 12)[::-1].astype(float).tolist()}), tmp_path / "w.parquet"
    )
    return tmp_path


def arguments(folder, *more, features="w.npy"):
    usual = {"--table": str(folder / "t.parquet"), "--treatment": "male", "--out": str(folder / "pairs.parquet")}
    kept = [word for option, value in usual.items() if option not in more for word in (option, value)]
    return ("match", "--features", str(folder / features), *kept, "--json", *more)


def answer(folder, *more, features="w.npy"):
    text = printed(*arguments(folder, *more, features=features))
    return json.loads(text), pq.read_table(folder / "pairs.parquet")


def write_line(tmp_path):
    """Eight images on a line, of group 0 at 0 1 2 3 and of group 1 at 0.1 1.2 2.3 3.4; errors would pair otherwise."""
    table = {"x": [0.0, 1.0, 2.0, 3.0, 0.1, 1.2, 2.3, 3.4], "g": [0] * 4 + [1] * 4, "err": [9.0, 0, 0, 0, 0, 0, 0, 9]}
    pd.DataFrame(table).to_parquet(tmp_path / "t.parquet", index=False)
    return tmp_path


def pairs(folder, *more, features="t.parquet"):
    treatment = () if "--treatment" in more else ("--treatment", "g")
    given = ("match", "--features", str(folder / features), *treatment, "--out", str(folder / "p.parquet"))
    summary = json.loads(printed(*given, "--json", *more))
    rows = pq.read_table(folder / "p.parquet")
    return summary, sorted(zip(rows["a"].to_pylist(), rows["b"].to_pylist(), strict=True))
