#!/usr/bin/env python3
"""Runs clang-tidy on the lines that a diff (git diff -U0, on standard input) adds or changes.

    git diff -U0 BASE | check_tidy.py BUILD_FOLDER

BUILD_FOLDER was configured with the preset `clang`. Exit status 1 if there is a finding.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

FILE = re.compile(r'^\+\+\+ b/(.+)$')
HUNK = re.compile(r'^@@ -\S+ \+(\d+)(?:,(\d+))? @@')


def changed_lines(diff):
    """The new lines of each file: {path: [[first, last], ...]}."""
    files, path = {}, None
    for line in diff:
        if match := FILE.match(line):
            path = match.group(1)
        elif (match := HUNK.match(line)) and path:
            first, count = int(match.group(1)), int(match.group(2) or 1)
            if count:
                files.setdefault(path, []).append([first, first + count - 1])
    return files


def to_check(files):
    """The sources to run on, each with its own header's lines."""
    sources = set()
    for path in files:
        source = pathlib.Path(path).with_suffix('.cc')
        if source.exists():
            sources.add(str(source))
    return sorted(sources)


def tidy(build, source, files):
    own = [path for path in (source, str(pathlib.Path(source).with_suffix('.h'))) if path in files]
    lines = json.dumps([{'name': path, 'lines': files[path]} for path in own])
    done = subprocess.run(['clang-tidy', '--quiet', '-p', build, f'--line-filter={lines}', '--warnings-as-errors=*',
                           source], capture_output=True, text=True)
    return done.returncode, done.stdout


def main():
    files = changed_lines(sys.stdin)
    sources = to_check(files)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, text in pool.map(lambda source: tidy(sys.argv[1], source, files), sources):
            if status:
                failed += 1
                print(text)
    print(f'clang-tidy: {len(sources)} files, {failed or "none"} with findings')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
