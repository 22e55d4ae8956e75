#!/usr/bin/env python3
"""Reads the log of `ctest --verbose`: names each skipped test with its reason, prints "N passed, M failed, K skipped".

Exit status 1 if a test failed, none ran, or one was skipped in CI for another reason than EXPECTED_SKIPS gives.
"""
import os
import re
import sys

RESULT = re.compile(r'^ *\d+/\d+ Test +#(\d+): (\S+) \.+ *([^. ]\S*)')
# The log of ctest breaks the line between a test's name and its result.
BROKEN_RESULT = re.compile(r'(^ *\d+/\d+ Test +#\d+: \S+ \.+)\n', re.M)
OUTPUT = re.compile(r'^(\d+): (.*)')
# Part of the store's contract that only durable engines can keep, or that is tested elsewhere; and what needs an etcd:
# Debian 12 has none that is new enough, and `./dev test` builds one only where there is Go.
EXPECTED_SKIPS = re.compile(r'the engine is volatile|real time is tested with the engine|'
                            r'(SKIPPED: )?(there is no etcd.*|etcd [0-9.]+ is too old|there is no docker-registry)')


def read(lines):
    """The result of each test by name, and (test, reason) of each skip: of a whole test or of a case in it."""
    results, skips, outputs = {}, [], {}
    for line in lines:
        if match := RESULT.match(line):
            number, name, result = match.groups()
            results[name] = result
            output = outputs.get(number, [])
            skips += [(name, output[i + 1] if i + 1 < len(output) else '')
                      for i, text in enumerate(output) if re.search(r'_test\.cc:\d+: Skipped$', text)]
            if 'Skipped' in result:
                skips.append((name, output[-1] if output else ''))
        elif match := OUTPUT.match(line):
            outputs.setdefault(match.group(1), []).append(match.group(2).strip())
    return results, skips


def main():
    with open(sys.argv[1], errors='replace') as log:
        results, skips = read(BROKEN_RESULT.sub(r'\1', log.read()).splitlines())
    passed = sum(result == 'Passed' for result in results.values())
    skipped = sum('Skipped' in result for result in results.values())
    failed = len(results) - passed - skipped
    unexpected = [skip for skip in skips if not EXPECTED_SKIPS.fullmatch(skip[1])]
    for name, reason in skips:
        print(f'skipped in {name}: {reason}')
    in_ci = os.environ.get('CI') == 'true'
    if in_ci and unexpected:
        print('nothing may be skipped in CI')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not passed or (in_ci and unexpected) else 0


if __name__ == '__main__':
    sys.exit(main())
