"""Is one way to train better than another? Both tools train on the same rows and predict the same test
rows; of the rows' differences in log density there are the mean and its standard error.

    python3 bench/paired.py DATA OUT "TOOL [OPTION...]" "TOOL [OPTION...]" SET[:ROWS]...

SET is DATA/SET.csv.gz or OUT/SET.csv, without header, the target last. Rows are split as
--split numpy:11 --test-fraction 0.1 does it; of the training part the first ROWS are taken. Appends a
row to OUT/paired.txt as each set ends, and trains nothing that OUT has predictions of. It needs NumPy.

Figures are in units of the training targets' deviation. Seconds are the processors' of the training,
user and system; "said" is what the tool announced, over these. One thread.
"""

import gzip
import os
import re
import resource
import subprocess
import sys

import numpy as np

SPLIT = 11


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def split(data, out, name, rows):
    path = f"{out}/{name}.csv"
    with open(path) if os.path.exists(path) else gzip.open(f"{data}/{name}.csv.gz", "rt") as file:
        lines = [line for line in file if line.strip()]
    order = np.arange(len(lines))
    np.random.RandomState(SPLIT).shuffle(order)
    cut = int(len(lines) * (1 - 0.1))
    parts = {"train": np.sort(order[: min(cut, rows or cut)]), "test": order[cut:]}
    for part, chosen in parts.items():
        with open(f"{out}/{name}.{part}.csv", "w") as file:
            file.writelines(lines[i] for i in chosen)


def train(out, name, side, way):
    at = f"{out}/{name}.{side}"
    if os.path.exists(f"{at}.said"):
        return
    tool, *options = way.split()
    usual = ["--header", "no", "--threads", "1"]
    before = seconds_of_children()
    command = [tool, "train", "--data", f"{out}/{name}.train.csv", "--model", f"{at}.odvgp"]
    done = subprocess.run(command + usual + options, check=True, capture_output=True, text=True)
    spent = seconds_of_children() - before
    command = [tool, "predict", "--data", f"{out}/{name}.test.csv", "--model", f"{at}.odvgp"]
    command += ["--out", f"{at}.csv"]
    subprocess.run(command + usual, check=True, capture_output=True)
    with open(f"{at}.said", "w") as file:
        file.write(f"{spent:.1f}\n{done.stderr}{done.stdout}")


def scored(out, name, side):
    """A text of one side, and the log densities of its rows."""
    at = f"{out}/{name}.{side}"
    scale = np.loadtxt(f"{out}/{name}.train.csv", delimiter=",", usecols=-1).std()
    y = np.loadtxt(f"{out}/{name}.test.csv", delimiter=",", usecols=-1)
    with open(f"{at}.csv") as file:
        head = file.readline().strip().split(",")
        columns = [head.index("mean"), head.index("sd_y")]
        mean, sd = np.loadtxt(file, delimiter=",", usecols=columns).T
    logp = -0.5 * np.log(2 * np.pi) - np.log(sd / scale) - 0.5 * ((y - mean) / sd) ** 2
    rmse = np.sqrt(np.mean((y - mean) ** 2)) / scale
    with open(f"{at}.said") as file:
        spent, text = float(file.readline()), file.read()
    said = re.findall(r"about ([\d.]+) s", text)
    model = re.findall(r"^ +(.*?) +step .* chosen$", text, re.M) or [
        re.findall(r"^model +(.*)$", text, re.M)[-1]
    ]
    ratio = f"{float(said[0]) / spent:.2f}" if said else "-"
    return f"{rmse:.4f} / {logp.mean():.4f} {spent:.1f} s said {ratio} {model[0]}", logp


def main(data, out, one, other, *sets):
    os.makedirs(out, exist_ok=True)
    for item in sets:
        name, _, rows = item.partition(":")
        split(data, out, name, int(rows or 0))
        for side, way in enumerate((one, other)):
            train(out, name, side, way)
        (first, a), (second, b) = (scored(out, name, side) for side in (0, 1))
        error = (b - a).std(ddof=1) / np.sqrt(len(a))
        row = f"{name}: {first} | {second} | {(b - a).mean():+.4f} +- {error:.4f}\n"
        sys.stdout.write(row)
        with open(f"{out}/paired.txt", "a") as file:
            file.write(row)


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
