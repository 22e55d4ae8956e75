#!/usr/bin/env python3
"""Compiles every file alone with clang, syntax only: finds missing #includes and lock misuse (-Wthread-safety).

usage: check_clang.py BUILD_FOLDER [FILE...]

BUILD_FOLDER was configured with the preset `clang`. Headers that no .cc file includes first are checked on their own.
With FILEs, only those and the files beside them of the same name. Exit status 1 if anything fails.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
DROPPED = {'-c', '-o'}


def flags_of(entry):
    """The compiler's arguments without launcher, output and input."""
    words = shlex.split(entry['command'])
    words = words[next(i for i, word in enumerate(words) if word.endswith('clang++')):]
    kept, skip = [], False
    for word in words:
        if skip or word in DROPPED or word == entry['file']:
            skip = word == '-o'
            continue
        kept.append(word)
    return kept + ['-fsyntax-only', '-Wthread-safety', '-Werror']


def own_header(source):
    match = FIRST_INCLUDE.search(source.read_text(errors='replace'))
    return match.group(1) if match else None


def jobs(entries):
    """(file, folder, command) for each source, then for each header that needs a check of its own."""
    seen, by_folder = set(), {}
    for entry in entries:
        source = pathlib.Path(entry['file'])
        if not source.is_relative_to(ROOT) or source.suffix != '.cc':
            continue
        flags = flags_of(entry)
        yield source, entry['directory'], flags + [str(source)]
        seen.add(own_header(source))
        by_folder.setdefault(source.parent, (entry['directory'], flags))
    for header in sorted((ROOT / 'src').rglob('*.h')):
        name = str(header.relative_to(ROOT / 'src'))
        folder = next((by_folder[p] for p in header.parents if p in by_folder), None)
        if name not in seen and folder:
            yield header, folder[0], folder[1] + ['-Wno-pragma-once-outside-header', '-x', 'c++', str(header)]


def check(job):
    path, folder, command = job
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return path, done.returncode, done.stderr


def main():
    entries = json.loads((pathlib.Path(sys.argv[1]) / 'compile_commands.json').read_text())
    wanted = {pathlib.Path(name).resolve().with_suffix('') for name in sys.argv[2:]}
    todo = [job for job in jobs(entries) if not wanted or job[0].with_suffix('') in wanted]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, status, errors in pool.map(check, todo):
            if status:
                failed += 1
                print(f'{path.relative_to(ROOT)}:\n{errors}')
    print(f'clang: {len(todo)} files, {failed or "none"} with problems')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
