"""How long, how much memory, how far apart: matching against the dense algorithm, SciPy's assignment, and R's MatchIt.

    python benchmarks/matching.py [--large] [--million [IMAGES]]

Peers get the same images in the same run, each in a process of its own: seconds by the clock, seconds of processor
(more than the clock's where several cores work, fewer where others use them), and peak memory, mapped files included.
--large: 30,000 images of 9,216 float32 columns (1.1 GB of temporary file); --million: 1,000,000 x 512, or as many
images as are named, by an index (2 GB, needs faiss). MatchIt runs where Rscript has it; its processor seconds and
memory include reading a CSV. Exit 1 when greedy differs from the full matrix, or the large one takes 10 minutes or
6 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _records import FASTER, LONGER, record

SECONDS_ALLOWED, MEGABYTES_ALLOWED = 600, 6000
HERE = Path(__file__).resolve()


def images(rows, width, seed=0):
    """Latents as w+ has them: long and short directions, noise by layer; and a treatment of 36 % that shifts one."""
    rng = np.random.default_rng(seed)
    treatment = (np.arange(rows) < 0.364 * rows).astype(float)
    mix = rng.normal(size=(512, 512)) / np.sqrt(1 + np.arange(512))
    layers = max(width // 512, 1)
    for start in range(0, rows, 1000):
        z = rng.normal(size=(min(1000, rows - start), 512))
        z[:, 0] += 1.5 * treatment[start : start + len(z)]
        w = (z @ mix.T)[:, None, :] + 0.7 * rng.normal(size=(len(z), layers, 512))
        yield start, w.reshape(len(z), -1)[:, :width].astype(np.float32)


def write_images(path, rows, width):
    """The features as .npy."""
    out = np.lib.format.open_memmap(path, "w+", np.float32, (rows, width))
    for start, block in images(rows, width):
        out[start : start + len(block)] = block
    out.flush()


def treatment_of(rows):
    """1 for the first 36 %."""
    return (np.arange(rows) < 0.364 * rows).astype(float)


# Each contender runs in a process of its own: it prints seconds, pairs, total distance, processor seconds, peak in MB.


def dense_greedy(features, treatment):
    """As published: the whole matrix, its smallest entry again and again, rows and columns struck out."""
    from scipy.spatial.distance import cdist

    a, b = np.flatnonzero(treatment == 1), np.flatnonzero(treatment == 0)
    matrix = cdist(np.asarray(features[a], dtype=float), np.asarray(features[b], dtype=float))
    pairs, total = [], 0.0
    for _ in range(min(matrix.shape)):
        i, j = np.unravel_index(int(matrix.argmin()), matrix.shape)
        pairs.append((int(a[i]), int(b[j])))
        total += float(matrix[i, j])
        matrix[i, :] = matrix[:, j] = np.inf
    return pairs, total


def dense_optimal(features, treatment):
    """SciPy's linear_sum_assignment on the whole matrix."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    a, b = np.flatnonzero(treatment == 1), np.flatnonzero(treatment == 0)
    matrix = cdist(np.asarray(features[a], dtype=float), np.asarray(features[b], dtype=float))
    i, j = linear_sum_assignment(matrix)
    return list(zip(a[i].tolist(), b[j].tolist(), strict=True)), float(matrix[i, j].sum())


def ours(method):
    """Our matching by name."""

    def run(features, treatment):
        from transect.designs import matching

        sample = matching.make_sample(features, treatment)
        if method == "approximate":
            from transect.designs.matching.nearest import ApproximateSearch

            search = ApproximateSearch(sample)
            FACTS["recall"] = search.recall()
            made = matching.greedy(sample, search=search)
        else:
            made = getattr(matching, method)(sample)
        return list(zip(made.a.tolist(), made.b.tolist(), strict=True)), float(made.distance.sum())

    return run


FACTS: dict[str, float] = {}
CONTENDERS = {
    "greedy": ours("greedy"),
    "optimal": ours("optimal"),
    "approximate": ours("approximate"),
    "dense greedy": dense_greedy,
    "dense optimal": dense_optimal,
}


def own_peak():
    """Peak memory of this process in MB; getrusage would also count the process that started it."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def contend(name, path):
    """One run in this process."""
    features = np.load(path, mmap_mode="r")
    start, used = time.perf_counter(), time.process_time()
    pairs, total = CONTENDERS[name](features, treatment_of(len(features)))
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    found = {"seconds": seconds, "processor": processor, "pairs": pairs, "total": total, "peak": own_peak()}
    print(json.dumps(found | FACTS))


def measured(name, path):
    """One run in a process of its own."""
    done = subprocess.run([sys.executable, str(HERE), "--one", name, str(path)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


MATCHIT = """
suppressMessages(library(MatchIt)); x <- read.csv(commandArgs(TRUE)[1], header = FALSE)
k <- ncol(x) - 1; names(x) <- c(paste0("x", 1:k), "t")
s <- system.time(m <- matchit(reformulate(paste0("x", 1:k), "t"), data = x, method = "nearest", distance = "euclidean",
                              m.order = "data"))[["elapsed"]]
r <- m$match.matrix; a <- as.integer(rownames(r)); b <- as.integer(r[, 1]); z <- as.matrix(x[, 1:k])
peak <- as.numeric(gsub("[^0-9]", "", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024
cat(s, length(a), sum(sqrt(rowSums((z[a, ] - z[b, ])^2))), peak, "\\n")
"""


def matchit(path):
    """Nearest neighbours in the order of the data by MatchIt, Euclidean; None where R lacks it."""
    if shutil.which("Rscript") is None:
        return None
    features = np.load(path)
    table = path.with_suffix(".csv")
    np.savetxt(table, np.column_stack([features, treatment_of(len(features))]), delimiter=",", fmt="%.6g")
    script = path.with_suffix(".R")
    script.write_text(MATCHIT)
    with subprocess.Popen(["Rscript", str(script), str(table)], stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    seconds, pairs, total, peak = map(float, said.split()[-4:])
    processor = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "processor": processor, "pairs": [None] * int(pairs), "total": total, "peak": peak}


def row(what, name, found):
    """One line of the table."""
    cells = [what, name, f"{len(found['pairs']):,}", f"{found['seconds']:.1f}", f"{found['processor']:.1f}"]
    print("|", " | ".join([*cells, f"{found['peak']:,.0f}", f"{found['total']:,.1f}"]), "|", flush=True)


def main():
    """Runs and prints; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--million", nargs="?", type=int, const=1_000_000, metavar="IMAGES")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        contend(*asked.one)
        return 0
    wrong = 0
    print("| images x columns | method | pairs | seconds | of processor | peak MB | total distance |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.npy"
        rows, width = (300, 512) if asked.quick else (3000, 9216)
        write_images(path, rows, width)
        one, other = measured("greedy", path), measured("dense greedy", path)
        size = f"{rows:,} x {width:,}"
        row(size, "greedy", one)
        row(size, "the published matrix", other)
        record(f"greedy matching, {size}", "the published matrix", other["seconds"] / one["seconds"], FASTER, 1)
        wrong |= one["pairs"] != other["pairs"]
        print(f"\ngreedy equals the full matrix: {one['pairs'] == other['pairs']}\n")
        write_images(path, rows, 20)
        size = f"{rows:,} x 20"
        found = {name: measured(name, path) for name in ("optimal", "dense optimal", "greedy")}
        for name, one in found.items():
            row(size, name, one)
        peer, ratio = "SciPy's dense assignment", found["optimal"]["seconds"] / found["dense optimal"]["seconds"]
        record(f"optimal matching, {size}", peer, ratio, LONGER, 1)
        if other := matchit(path):
            row(size, "MatchIt, nearest in data order", other)
            ratio = found["greedy"]["seconds"] / other["seconds"]
            record(f"greedy matching, {size}", "MatchIt, nearest in data order", ratio, LONGER, 1)
        if asked.large:
            write_images(path, 30_000, 9216)
            large = measured("greedy", path)
            row("30,000 x 9,216", "greedy", large)
            wrong |= large["seconds"] >= SECONDS_ALLOWED or large["peak"] >= MEGABYTES_ALLOWED
        if asked.million:
            write_images(path, asked.million, 512)
            million = measured("approximate", path)
            row(f"{asked.million:,} x 512", f"approximate, recall {million['recall']:.3f}", million)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
