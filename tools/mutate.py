#!/usr/bin/env python3
"""Plants faults in the code one at a time and reports those that no test notices.

    tools/mutate.py                       # every fault of tools/faults.txt
    tools/mutate.py --only auth           # those whose file or text contains "auth"
    tools/mutate.py --list
    nice tools/mutate.py --only src/store --builder 'ninja -C build -j1'   # on a machine that others use

The list (its format is described there) has conditions and what each is replaced with. All faults are compiled into one
build of a copy of the tree, each behind a switch: `cond` becomes `(Mutant(7) || (cond))` or the like. A test program is
then run once per fault with FLYBALL_MUTANT set to its number, so exactly one fault is in force at a time, and one build
serves all. Before that each set of tests runs without any fault and must pass.

The last line is "N faults, K killed, S survived". The exit status is 1 if one survived or a test fails without faults.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = '''#pragma once
#include <cstdlib>
inline bool Mutant(int number) {
  static const char* const given = std::getenv("FLYBALL_MUTANT");
  static const int active = given ? std::atoi(given) : 0;
  return active == number;
}
'''


class Fault:
    def __init__(self, number, path, target, tests, find, replace):
        self.number, self.path, self.target, self.tests, self.find, self.replace = number, path, target, tests, find, replace

    def __str__(self):
        return f'{self.number:3} {self.path}: {self.find}  =>  {self.replace}'


def read_list(path):
    faults, section = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        head = re.fullmatch(r'\[(\S+)\]\s+(\S+)\s+(\S+)', line)
        if head:
            section = head.groups()
            continue
        if ' => ' not in line or not section:
            sys.exit(f'{path.name}:{number}: neither a section nor a fault: {line}')
        find, replace = line.rsplit(' => ', 1)
        faults.append(Fault(len(faults) + 1, *section, find.strip(), replace.strip()))
    return faults


def plant(text, fault):
    """The text with the fault behind its switch. `find` may be a whole `if (...)`, for its surroundings to tell it apart."""
    count = text.count(fault.find)
    if count != 1:
        sys.exit(f'{fault.path}: {count} places with {fault.find!r}; a fault has exactly one')
    before, condition, after = '', fault.find, ''
    if fault.find.startswith('if ('):
        end = closing(fault.find, len('if (') - 1)
        before, condition, after = fault.find[:len('if (')], fault.find[len('if ('):end], fault.find[end:]
    return text.replace(fault.find, before + switch(fault, condition) + after)


def closing(text, opening):
    """Where the parenthesis that opens at `opening` closes."""
    depth = 0
    for i in range(opening, len(text)):
        depth += {'(': 1, ')': -1}.get(text[i], 0)
        if depth == 0:
            return i
    sys.exit(f'the condition does not end: {text}')


def switch(fault, condition):
    # Not `? :` where || and && will do: g++ 12 destroys twice what is awaited within it.
    if fault.replace == 'true':
        return f'(Mutant({fault.number}) || ({condition}))'
    if fault.replace == 'false':
        return f'(!Mutant({fault.number}) && ({condition}))'
    return f'(Mutant({fault.number}) ? ({fault.replace}) : ({condition}))'


def write_if_changed(path, data):
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def prepare(copy, faults):
    """Brings the copy up to date with the tree, with all faults in it. Unchanged files keep their times."""
    files = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.splitlines()
    by_path = {}
    for fault in faults:
        by_path.setdefault(fault.path, []).append(fault)
    for name in files:
        source = ROOT / name
        if not source.is_file():
            continue
        data = source.read_bytes()
        if name in by_path:
            text = data.decode()
            for fault in by_path.pop(name):
                text = plant(text, fault)
            data = ('#include "base/mutant.h"\n' + text).encode()
        write_if_changed(copy / name, data)
        if os.access(source, os.X_OK):
            (copy / name).chmod(0o755)
    if by_path:
        sys.exit(f'no such file: {", ".join(by_path)}')
    write_if_changed(copy / 'src/base/mutant.h', HEADER.encode())


def build(copy, targets, builder):
    subprocess.run(['cmake', '--preset', 'debug'], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*builder, *targets], cwd=copy, check=True)


def run_tests(copy, target, tests, fault, timeout):
    """True if they pass. A fault that hangs the tests is noticed too."""
    program = next(copy.glob(f'build/**/{target}'))
    environment = dict(os.environ, FLYBALL_MUTANT=str(fault.number if fault else 0))
    try:
        return subprocess.run([program, f'--gtest_filter={tests}', '--gtest_brief=1', '--gtest_fail_fast'], cwd=copy / 'build',
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=timeout).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--faults', type=pathlib.Path, default=ROOT / 'tools/faults.txt')
    parser.add_argument('--only', default='', help='only faults whose file or text contains this')
    parser.add_argument('--folder', type=pathlib.Path, default=ROOT / 'build-mutate')
    parser.add_argument('--builder', default='cmake --build build --target', help='the command that builds the targets given to it')
    parser.add_argument('--timeout', type=int, default=300)
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    every = read_list(options.faults)
    faults = [fault for fault in every if options.only in f'{fault.path} {fault.find}']
    if options.list:
        print('\n'.join(map(str, faults)))
        return 0
    copy = options.folder
    # A fault more or less in a file means to compile it again: all are in, whichever are asked for.
    prepare(copy, every)
    build(copy, sorted({fault.target for fault in faults}), options.builder.split())
    broken = [(target, tests) for target, tests in sorted({(f.target, f.tests) for f in faults})
              if not run_tests(copy, target, tests, None, options.timeout)]
    for target, tests in broken:
        print(f'FAILS WITHOUT A FAULT: {target} {tests}', flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        passed = list(pool.map(lambda f: run_tests(copy, f.target, f.tests, f, options.timeout), faults))
    survivors = [fault for fault, survived in zip(faults, passed) if survived]
    for fault in survivors:
        print(f'SURVIVED {fault}')
    print(f'{len(faults)} faults, {len(faults) - len(survivors)} killed, {len(survivors)} survived')
    return 1 if survivors or broken else 0


if __name__ == '__main__':
    sys.exit(main())
