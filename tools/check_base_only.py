#!/usr/bin/env python3
"""Checks that only src/base sleeps, reads the clock or starts threads: simulation depends on it. Tests are exempt.

Exit status 1 and a line for each place that does.
"""
import pathlib
import re
import sys

FORBIDDEN = re.compile(
    r'std::this_thread::sleep|\busleep\(|\bnanosleep\(|(?<![\w:])sleep\(|std::thread\b(?!::)|std::jthread|std::async\b'
    r'|pthread_create|(system|steady|high_resolution)_clock::now|\bgettimeofday\(|\bclock_gettime\(|std::random_device'
    r'|\bsrand\(|(?<![\w:])rand\(')
# A time-out of a foreign library's own making is not waiting of ours.
EXEMPT = re.compile(r'_(test|bench|fuzz)$')
# The monitor is a program of its own, which is never simulated.
FREE = ('base/', 'node/monitor/')


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / 'src'
    bad = []
    for path in sorted(root.rglob('*')):
        if path.suffix not in ('.cc', '.h') or EXEMPT.search(path.stem) or str(path.relative_to(root)).startswith(FREE):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split('//')[0]
            if FORBIDDEN.search(code):
                bad.append(f'{path.relative_to(root.parent)}:{number}: {code.strip()}')
    print('\n'.join(bad) if bad else 'clocks and threads: only in base')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
