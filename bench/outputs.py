"""What does a further output cost where derivatives are predicted, too? Counts the arithmetic on floating
point numbers in odvgp_predict_gradient for 1, 2 and 3 outputs of a shared kernel, with valgrind's callgrind and
objdump, beside 2 (M + Mg) D + 3 M^2 + 2 M D:

    cc -O2 -no-pie bench/outputs.c -I. -o build/outputs -lm -pthread
    python3 bench/outputs.py build/outputs [M MG D]

"flops": each sum, product and quotient of each lane; "operations": a fused product and sum is one. The
compares of maxima do not count. Differences between two calls and one, so that the rest falls out.
"""

import os
import re
import subprocess
import sys
import tempfile

ARITHMETIC = re.compile(r"v?(fn?m(?:add|sub)\d+|add|sub|mul|div|sqrt)([sp])([ds])$")
COST = re.compile(r"(0x[0-9a-f]+|\+\d+|-\d+|\*) \S+(?: (\d+))?$")


def weights(program):
    """Flops and operations of each instruction, by address."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True)
    found = {}
    for line in text.stdout.splitlines():
        m = re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line)
        kind = m and ARITHMETIC.match(m[2])
        if not kind:
            continue
        width = 8 if kind[3] == "d" else 4
        lanes = 1 if kind[2] == "s" else (32 if "ymm" in m[3] else 16) // width
        found[int(m[1], 16)] = (lanes * (2 if kind[1][0] == "f" else 1), lanes)
    return found


def count(program, weight, arguments):
    """Flops, operations and instructions of a run."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "counts")
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=" + file,
                        program] + [str(a) for a in arguments], check=True)
        with open(file, encoding="utf-8") as f:
            lines = f.read().splitlines()
    names, own, calls, address, sums = {}, False, False, 0, [0, 0, 0]
    for line in lines:
        m = re.match(r"(c?ob)=\((\d+)\)(?: (.*))?", line)
        if m:
            names.setdefault(m[2], m[3])
            if m[1] == "ob":
                own = os.path.realpath(names[m[2]]) == os.path.realpath(program)
            continue
        if line.startswith("calls="):
            calls = True
            continue
        m = COST.match(line)
        if not m:
            continue
        if m[1][0] in "+-":
            address += int(m[1])
        elif m[1] != "*":
            address = int(m[1], 16)
        if not calls: # the line behind "calls=" is the callee's cost
            n = int(m[2] or 0)
            flops, operations = weight.get(address, (0, 0)) if own else (0, 0)
            sums = [sums[0] + n * flops, sums[1] + n * operations, sums[2] + n]
        calls = False
    return sums


def main():
    program = sys.argv[1]
    M, Mg, D = (int(a) for a in sys.argv[2:5] or (50, 100, 6))
    weight = weights(program)
    print(f"M = {M}, Mg = {Mg}, D = {D}: 2 (M + Mg) D + 3 M^2 + 2 M D = {2 * (M + Mg) * D + 3 * M * M + 2 * M * D}")
    print("a row          rows   flops  operations  instructions")
    for isa in "c", "avx2":
        for n in 1, 64:
            last = None
            for P in 1, 2, 3:
                one, two = (count(program, weight, [isa, P, M, Mg, D, n, k]) for k in (1, 2))
                now = [(b - a) / n for a, b in zip(one, two)]
                more = now if last is None else [b - a for a, b in zip(last, now)]
                name = "one output" if last is None else "one more"
                print(f"{isa:4} {name:10}{n:4}{more[0]:8.0f}{more[1]:12.0f}{more[2]:14.0f}")
                last = now


main()
