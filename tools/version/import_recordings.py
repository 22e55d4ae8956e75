#!/usr/bin/env python3
"""Copies recordings of a Kubernetes version into the repository, split so that each file is small enough to review.

    import_recordings.py v1.37 FOLDER

FOLDER holds golden/ (cases/*.json, protobuf.json, scheduler/cases.json, transcripts/*.t, golden.py, transcript.py) and
reference/ (api-fields.txt, api-resources.tsv, printer-columns.txt, ...). The result is tests/golden/VERSION and
tests/reference/VERSION:

    cases/NAME/NN-SCENARIO.json     a list with one scenario
    protobuf/GROUP.json             the objects of one API group
    scheduler/FEATURE.json          the cases of one feature, one per line
"""
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFERENCE = ('api-fields.txt', 'api-resources.tsv', 'printer-columns.txt')
TOOLS = ('golden.py', 'transcript.py')
PER_FILE = 30  # cases; keeps the files below what tools/check_files.py allows


def slug(text):
    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')


def write(path, value, one_per_line=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    if one_per_line:
        text = '[\n' + ',\n'.join(json.dumps(v, separators=(',', ':'), ensure_ascii=False) for v in value) + '\n]\n'
    else:
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + '\n'
    path.write_text(text, encoding='utf-8')


def read(path):
    return json.loads(path.read_text(encoding='utf-8'))


def split_cases(source, target):
    for file in sorted((source / 'cases').glob('*.json')):
        for number, scenario in enumerate(read(file), 1):
            write(target / 'cases' / file.stem / f'{number:02}-{slug(scenario["name"])}.json', [scenario])


def split_by(values, key, folder):
    groups = {}
    for value in values:
        groups.setdefault(slug(key(value)), []).append(value)
    for name, members in groups.items():
        for part, start in enumerate(range(0, len(members), PER_FILE)):
            write(folder / (f'{name}.json' if part == 0 else f'{name}-{part + 1}.json'), members[start:start + PER_FILE], True)


def api_group(vector):
    return vector['json']['apiVersion'].rpartition('/')[0] or 'core'


def main():
    version, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    golden, target = folder / 'golden', ROOT / 'tests' / 'golden' / version
    for part in ('cases', 'protobuf', 'scheduler', 'transcripts'):
        shutil.rmtree(target / part, ignore_errors=True)
    split_cases(golden, target)
    split_by(read(golden / 'protobuf.json'), api_group, target / 'protobuf')
    split_by(read(golden / 'scheduler' / 'cases.json'), lambda case: case['feature'], target / 'scheduler')
    shutil.copytree(golden / 'transcripts', target / 'transcripts', copy_function=shutil.copyfile)
    for name in TOOLS:
        shutil.copyfile(golden / name, target / name)
    reference = ROOT / 'tests' / 'reference' / version
    reference.mkdir(parents=True, exist_ok=True)
    for name in REFERENCE:
        shutil.copyfile(folder / 'reference' / name, reference / name)


if __name__ == '__main__':
    main()
