#!/usr/bin/env python3
"""Instructions per request and per watch event, by callgrind.

    request_cost.py PROGRAM [CASE...] [--compare FILE] [--save FILE]

Runs PROGRAM (request_cost, best of an optimised build) under callgrind with two counts and divides the difference,
so that starting the server does not count. For a watch the difference is between many watchers and few: what one
more watcher costs per event. The figures depend on the compiler and the libraries, not on how busy the machine is.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

REQUESTS = ["create", "create-beside-webhooks", "create-protobuf-answer", "get", "get-protobuf", "get-table",
            "patch-strategic", "patch-merge", "patch-json", "patch-status", "apply"]
WATCHES = ["watch-json", "watch-protobuf", "watch-table", "watch-metadata"]
FEW, MANY = 20, 70
EVENTS = 20


def instructions(program, *arguments):
    """How many instructions one run takes."""
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program,
                               *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def cost(program, case):
    """Instructions per request, or per event and watcher."""
    if case in WATCHES:
        few, many = instructions(program, case, EVENTS, 2), instructions(program, case, EVENTS, 12)
        start = [instructions(program, case, 0, watchers) for watchers in (2, 12)]
        return ((many - few) - (start[1] - start[0])) / (EVENTS * 10)
    return (instructions(program, case, MANY) - instructions(program, case, FEW)) / (MANY - FEW)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*", default=[])
    parser.add_argument("--compare", help="a file of figures that --save wrote, to show beside these")
    parser.add_argument("--save", help="where to write the figures, as JSON")
    options = parser.parse_args()
    cases = options.cases or REQUESTS + WATCHES
    before = json.load(open(options.compare)) if options.compare else {}
    with ThreadPoolExecutor(2) as pool:
        figures = dict(zip(cases, pool.map(lambda case: round(cost(options.program, case)), cases)))
    for case, figure in figures.items():
        old = before.get(case)
        change = f"{old:>12,} {100 * (figure - old) / old:+7.1f} %" if old else ""
        print(f"{case:24}{figure:>12,}{change}")
    if options.save:
        with open(options.save, "w") as out:
            json.dump(figures, out, indent=1)


if __name__ == "__main__":
    main()
