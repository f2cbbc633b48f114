"""Fits examples/tool/cores.h to tests/mcu/costs.txt: `build/costs counts | python3 bench/peers/costs_fit.py`
(numpy, scipy) prints the rows of `cores`, for clang-format. Instructions, and bytes of code, are linear
in the counts; coefficients of at least 0 make the largest relative error, plus the mean, least. Models
whose names begin with held are left out."""
import sys

import numpy as np
from scipy.optimize import linprog

CORES = [("m4f", "Cortex-M4F", 1.4), ("m7", "Cortex-M7", 0.9), ("m3", "Cortex-M3", 1.4),
         ("m0", "Cortex-M0+", 1.5), ("rv32", "RV32IMAC", 1.4), ("rv32f", "RV32IMAFC", 1.4)]
FUNCTIONS = 6


def least(A, b, unit, weight=1):
    """x >= 0: the largest |A x - b| / unit and `weight` times their mean are least together."""
    m, n = A.shape
    A, b = A / unit[:, None], b / unit
    one, none = np.eye(m), np.zeros((m, n))
    c = np.concatenate([np.zeros(n), np.full(m, weight / m), [1]])
    rows = np.block([[A, -one, np.zeros((m, 1))], [-A, -one, np.zeros((m, 1))], [none, one, -np.ones((m, 1))]])
    return linprog(c, A_ub=rows, b_ub=np.concatenate([b, -b, np.zeros(m)]), method="highs").x[:n]


def by_kind(count, libm):
    """Functions of the header and of libm have places of their own."""
    plain, calls = count[:-FUNCTIONS], count[-FUNCTIONS:]
    return np.concatenate([plain, calls * (not libm), calls * libm])


def of_core(core, wide, models):
    runs, steps, of_libm, code, flash, tables, ram, more = [], [], [], [], [], [], 0, []
    spare = [[], [], []]
    for line in open("tests/mcu/costs.txt"):
        word, name, kind, *numbers = line.split()
        if word != core or name.startswith("held") or models[name]["wide"] != wide:
            continue
        n, libm, m = np.array(numbers, float), kind == "libm", models[name]
        mean, moments, gradient, y = m["run"]
        for i, run in enumerate((mean, moments, gradient, moments + y)):
            runs.append(by_kind(run, libm))
            steps.append(n[7 + i])
            of_libm.append(libm)
        total = np.zeros(len(y))
        for i, part in enumerate((m["code"][1], m["code"][3], m["code"][2])):
            total = total + part
            count = total.copy()
            count[-FUNCTIONS:] = count[-FUNCTIONS:] > 0
            code.append(np.concatenate([[1, m["outputs"] * (i == 2), total[3] > 0], by_kind(count, libm)]))
            flash.append(n[i])
            tables.append((8 if wide else 4) * (m["tables"] + (m["y"] if i else 0)))
        arrays = (8 if wide else 4) * np.array([m["stack"], m["stack_y"], m["stack_gradient"]])
        if libm:
            ram = max(ram, n[3])
            more += [(n[4] - arrays[0], 0), (n[6] - arrays[2], 2)]
        else:
            for i in range(3):
                spare[i].append(n[4 + i] - arrays[i])
    runs, steps, of_libm = np.array(runs), np.array(steps), np.array(of_libm)
    x = np.zeros(runs.shape[1])
    # What libm takes depends on arguments: it is fitted behind all else.
    x[:-FUNCTIONS] = least(runs[~of_libm, :-FUNCTIONS], steps[~of_libm], steps[~of_libm])
    rest = steps - runs @ x
    x[-FUNCTIONS:] = least(runs[of_libm, -FUNCTIONS:], rest[of_libm], steps[of_libm])
    flash, tables = np.array(flash), np.array(tables)
    y = least(np.array(code), flash - tables, flash - 0.8 * tables, 4)
    # Most of the stack; on RISC-V, whose functions differ most, 32 bytes less; of y without the rarest.
    stack = [max(s) - (32 if core.startswith("rv") else 0) for s in spare]
    stack[1] = sorted(spare[1])[int(0.9 * len(spare[1]))]
    more = sorted(n - stack[i] for n, i in more)
    return x, y, stack, ram, more[int(0.75 * len(more))]


def text(numbers):
    return ", ".join("%d" % float("%.3g" % v) if "e" in "%.3g" % v else "%.3g" % v for v in np.atleast_1d(numbers))


def main():
    models = {}
    for line in sys.stdin:
        name, *numbers = line.split()
        n = np.array(numbers, float)
        counts = n[7:].reshape(4, 2, -1)
        models[name] = dict(zip(("wide", "outputs", "tables", "y", "stack", "stack_y", "stack_gradient"), n),
                            run=counts[:, 0], code=counts[:, 1])
    for core, name, cpi in CORES:
        costs = []
        for wide in (0, 1):
            x, y, stack, ram, more = of_core(core, wide, models)
            plain = len(x) - 2 * FUNCTIONS
            costs.append("{{%s}, %s, {%s}, {%s}, {{{%s}, {%s}, 0, 0}, {{%s}, {%s}, %s, %s}}}" % (
                text(x[:plain]), text(y[:3]), text(y[3:3 + plain]), text(stack), text(x[plain:plain + FUNCTIONS]),
                text(y[3 + plain:3 + plain + FUNCTIONS]), text(x[plain + FUNCTIONS:]), text(y[3 + plain + FUNCTIONS:]),
                text(ram), text(more)))
        print('{"%s", "%s", %g, {%s, %s}},' % (core, name, cpi, *costs))


main()
