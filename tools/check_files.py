#!/usr/bin/env python3
"""Checks that nothing large or made by a build or a run is tracked: data belongs outside the repository.

Exit status 1 and a line for each tracked file that is too large or binary.
"""
import pathlib
import subprocess
import sys

LARGEST = 256 * 1024  # bytes; the largest source file is far below


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = subprocess.run(['git', 'ls-files', '-z'], cwd=root, capture_output=True, check=True).stdout.decode().split('\0')
    bad = []
    for name in filter(None, names):
        path = root / name
        if path.is_file() and path.stat().st_size > LARGEST:
            bad.append(f'{name}: {path.stat().st_size} bytes; at most {LARGEST} may be tracked')
        if name.startswith('-') or path.suffix in ('.db', '.db-wal', '.db-shm', '.sqlite', '.o', '.a'):
            bad.append(f'{name}: looks like something a run has left behind')
    print('\n'.join(bad) if bad else 'files: fine')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
