#!/usr/bin/env python3
"""Builds the kustomizations of tests/kubectl_kustomize/ and compares with what kubectl printed, byte by byte.

    kustomize_test.py FLYBALL                 run all
    kustomize_test.py FLYBALL name...         run these
    kustomize_test.py --record KUBECTL [name...]   write down what this kubectl prints

A case is one text file: files as `-- path --` followed by their lines, then what is expected: `-- stdout --` and
`-- stderr --` (either may be missing: nothing is printed there). The folder that is built is `.`, or `-- dir: path --`.
In texts, $ROOT is the folder that the files are in.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent / 'kubectl_kustomize'
HEADER = re.compile(r'^-- (.+) --\n', re.M)
# kubectl prints the address of a Go object there.
ADDRESS = re.compile(r'merging from generator &\{0x[0-9a-f]+ <nil>\}')
WANTED = ('stdout', 'stderr')


def parse(text):
    """The parts of a case by name, in their order."""
    marks = list(HEADER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark.group(1): text[mark.end():end] for mark, end in zip(marks, ends)}


def unpack(parts, root):
    """Writes the files and returns the folder to build."""
    folder = '.'
    for name, content in parts.items():
        if name.startswith('dir: '):
            folder = name.removeprefix('dir: ')
        elif name not in WANTED:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode('utf-8').replace(b'$BINARY', b'\xff\xfe'))
    return folder


def build(program, parts):
    """What the program prints for a case: {'stdout': ..., 'stderr': ...} without empty ones."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name).resolve()
        folder = unpack(parts, root)
        done = subprocess.run([program, 'kustomize', folder], cwd=root, capture_output=True, timeout=60, check=False)
        out, err = (text.decode().replace(str(root), '$ROOT') for text in (done.stdout, done.stderr))
        err = ADDRESS.sub('merging from generator', err)
        if (done.returncode != 0) != ('error: ' in err):
            err += f'exit status {done.returncode}\n'
        return {name: text for name, text in (('stdout', out), ('stderr', err)) if text}


def record(kubectl, path):
    parts = parse(path.read_bytes().decode())
    kept = {name: text for name, text in parts.items() if name not in WANTED}
    kept.update(build(kubectl, kept))
    path.write_bytes(''.join(f'-- {name} --\n{text}' for name, text in kept.items()).encode())


def check(program, path):
    """The differences, one text each."""
    parts = parse(path.read_bytes().decode())
    got = build(program, parts)
    return [f'{path.stem}: {name} differs\n--- want\n{parts.get(name, "")}--- got\n{got.get(name, "")}'
            for name in WANTED if parts.get(name, '') != got.get(name, '')]


def main():
    recording = sys.argv[1] == '--record'
    program, names = (sys.argv[2], sys.argv[3:]) if recording else (sys.argv[1], sys.argv[2:])
    program = str(pathlib.Path(program).resolve())  # it runs in another folder
    paths = [CASES / f'{name}.txt' for name in names] or sorted(CASES.glob('*.txt'))
    if recording:
        for path in paths:
            record(program, path)
        return 0
    problems = [problem for path in paths for problem in check(program, path)]
    print('\n'.join(problems))
    print(f'{len(paths)} kustomizations, {len(problems)} differences')
    return 1 if problems or not paths else 0


if __name__ == '__main__':
    sys.exit(main())
