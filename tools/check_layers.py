#!/usr/bin/env python3
"""Checks that each module of src/ includes only the modules below it (docs/architecture.md). Tests are exempt.

Exit status 1 and a line for each include that goes against the layers.
"""
import pathlib
import re
import sys

ALLOWED = {
    'base': '',
    'json': 'base',
    'api': 'base json',
    'store': 'base',
    'net': 'base',
    'client': 'base json api net',
    'server': 'base json api store net client',
    'informer': 'base json api net client',
    'controller': 'base json api net client informer',
    'controllers': 'base json api client informer controller',
    'scheduler': 'base json api client informer controller',
    'node': 'base json api net client informer controller',
    'cli': 'base json api store net server client informer controller controllers scheduler node',
}
INCLUDE = re.compile(r'^#include "([a-z]+)/')


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / 'src'
    bad = []
    for path in sorted(root.rglob('*')):
        if path.suffix not in ('.cc', '.h') or path.stem.endswith(('_test', '_bench', '_fuzz')) or 'testing' in path.parts:
            continue
        module = path.relative_to(root).parts[0]
        allowed = set(ALLOWED[module].split()) | {module}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) in ALLOWED and match.group(1) not in allowed:
                bad.append(f'{path.relative_to(root.parent)}:{number}: {module} may not include {match.group(1)}')
    print('\n'.join(bad) if bad else 'layers: fine')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
