#!/usr/bin/env python3
"""Prints what the tests of a build with the preset `coverage` have run, per module.

usage: coverage.py BUILD_FOLDER [MODULE...] [--files N] [--min-lines P] [--min-branches P]

Counts lines and branches of src/<module>, without tests, `testing/` folders and generated code. Branches that only
exceptions take do not count. `test/code` is the lines of test code per line of code, blank lines and comments left out.
With MODULEs, only those; --files adds the N files of each module with the most lines that never ran. With --min-lines or
--min-branches the exit status is 1 if a module has less.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / 'src'


class Counts:
    """What ran of one file: how often each line, and each branch of a line by its number."""

    def __init__(self):
        self.lines, self.branches = collections.Counter(), collections.Counter()

    def add(self, line):
        number = line['line_number']
        self.lines[number] += line['count']
        kept = (branch for branch in line['branches'] if not branch['throw'])
        for index, branch in enumerate(kept):
            self.branches[number, index] += branch['count']

    @staticmethod
    def ran(counter):
        return sum(1 for count in counter.values() if count)


def is_code(path):
    return path.suffix in ('.cc', '.h') and not is_test(path)


def is_test(path):
    return path.stem.endswith('_test') or 'testing' in path.parts


def reports(data):
    """gcov's reports on one object file."""
    done = subprocess.run(['gcov', '--json-format', '--stdout', '--branch-probabilities', str(data.resolve())],
                          capture_output=True, text=True, cwd=data.parent)
    if done.returncode != 0:
        sys.exit(f'gcov {data}: {done.stderr}')
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]


def collect(folder):
    """Counts by file, of all object files that a program has run."""
    counts = collections.defaultdict(Counts)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(reports, sorted(folder.rglob('*.gcda'))):
            for report in found:
                for file in report['files']:
                    path = (pathlib.Path(report['current_working_directory']) / file['file']).resolve()
                    if path.is_relative_to(SOURCE) and is_code(path):
                        for line in file['lines']:
                            counts[path].add(line)
    return counts


def lines_of(paths):
    """Lines that are neither blank nor comments."""
    total = 0
    for path in paths:
        lines = (line.strip() for line in path.read_text(errors='replace').splitlines())
        total += sum(1 for line in lines if line and not line.startswith('//'))
    return total


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('modules', nargs='*', default=[])
    parser.add_argument('--files', type=int, default=0)
    parser.add_argument('--min-lines', type=float, default=0)
    parser.add_argument('--min-branches', type=float, default=0)
    options = parser.parse_args()
    counts = collect(options.folder)
    if not counts:
        sys.exit('no test has run in this folder')
    by_module = collections.defaultdict(dict)
    for path, found in counts.items():
        by_module[path.relative_to(SOURCE).parts[0]][path] = found
    missed = False
    print(f'{"module":12}{"lines":>9}{"ran":>8}{"branches":>10}{"ran":>8}{"test/code":>11}')
    for module in options.modules or sorted(by_module):
        files = by_module[module]
        lines = sum(len(found.lines) for found in files.values())
        branches = sum(len(found.branches) for found in files.values())
        ran = percent(sum(Counts.ran(found.lines) for found in files.values()), lines)
        taken = percent(sum(Counts.ran(found.branches) for found in files.values()), branches)
        sources = [path for path in (SOURCE / module).rglob('*') if path.suffix in ('.cc', '.h')]
        ratio = lines_of(filter(is_test, sources)) / max(1, lines_of(filter(is_code, sources)))
        print(f'{module:12}{lines:>9,}{ran:>7.1f}%{branches:>10,}{taken:>7.1f}%{ratio:>11.2f}')
        missed |= ran < options.min_lines or taken < options.min_branches
        worst = sorted(files, key=lambda path: Counts.ran(files[path].lines) - len(files[path].lines))
        for path in worst[:options.files]:
            left = len(files[path].lines) - Counts.ran(files[path].lines)
            print(f'    {left:>5} of {len(files[path].lines):>5} lines never ran: {path.relative_to(ROOT)}')
    sys.exit(1 if missed else 0)


if __name__ == '__main__':
    main()
