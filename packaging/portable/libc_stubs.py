#!/usr/bin/env python3
"""Makes libraries to link against in place of the C library, so that the program runs on older ones too.

    libc_stubs.py FOLDER VERSION        # libc_stubs.py build/stubs 2.27

The linker binds each symbol to the newest version that the C library of the building machine has of it. So a program
that was linked on a new system asks for versions that older systems lack. The stubs have no code, only the symbols of the
machine's own C library: each in the newest version that is not newer than VERSION, and not at all if there is none.
What is missing then is in old_libc.c.
"""
import collections
import os
import re
import subprocess
import sys

# The rest of the C library, which was in libraries of its own before 2.34: the program has to name them.
EMPTY = ('libpthread.so.0', 'libdl.so.2', 'librt.so.1')
FULL = ('libc.so.6', 'libm.so.6', 'ld-linux-x86-64.so.2')
# How the linker looks for them; the loader's stub is found by way of libc.so.
LINK_NAMES = {'libm.so.6': 'libm.so', 'libpthread.so.0': 'libpthread.so', 'libdl.so.2': 'libdl.so', 'librt.so.1': 'librt.so'}
SYMBOL = re.compile(r'^\s*\d+: (\w+)\s+(\w+) (FUNC|IFUNC|OBJECT|TLS)\s+(GLOBAL|WEAK)\s+DEFAULT\s+(\w+) (\w+)@@?GLIBC_([\d.]+)$')

Symbol = collections.namedtuple('Symbol', 'name version kind size address')


def number(version):
    return tuple(int(part) for part in version.split('.'))


def library(name):
    """The path of the machine's library, as the compiler finds it."""
    path = subprocess.run(['gcc', '-print-file-name=' + name], capture_output=True, text=True, check=True).stdout.strip()
    return os.path.realpath(path)


def symbols(path, newest):
    """By name: each in the newest version that is old enough."""
    table = subprocess.run(['readelf', '--dyn-syms', '-W', path], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in table.split('\n'):
        match = SYMBOL.match(line)
        if not match or match[5] == 'UND' or number(match[7]) > newest:
            continue
        size = int(match[2], 0)
        symbol = Symbol(match[6], match[7], match[3], size, int(match[1], 16))
        if symbol.name not in found or number(found[symbol.name].version) < number(symbol.version):
            found[symbol.name] = symbol
    return list(found.values())


def assembly(all_symbols):
    """Functions without code. Variables keep their sizes, and those that are one variable stay one."""
    lines = ['.section .note.GNU-stack,"",@progbits', '.text']
    data = collections.defaultdict(list)
    for symbol in all_symbols:
        if symbol.kind in ('FUNC', 'IFUNC'):
            lines += [f'.globl {symbol.name}', f'.type {symbol.name},@function', f'{symbol.name}: .byte 0']
        elif symbol.kind == 'OBJECT':
            data[symbol.address].append(symbol)
    lines.append('.data')
    for address in sorted(data):
        lines.append('.balign 32')
        for symbol in data[address]:
            lines += [f'.globl {symbol.name}', f'.type {symbol.name},@object', f'.size {symbol.name},{symbol.size}', f'{symbol.name}:']
        lines.append(f'.zero {max(1, max(symbol.size for symbol in data[address]))}')
    return '\n'.join(lines) + '\n'


def version_script(all_symbols):
    versions = collections.defaultdict(list)
    for symbol in all_symbols:
        versions[symbol.version].append(symbol.name)
    text, before = '', ''
    for version in sorted(versions, key=number):
        text += 'GLIBC_%s { global: %s; %s } %s;\n' % (version, '; '.join(sorted(versions[version])),
                                                       '' if before else 'local: *;', before)
        before = 'GLIBC_' + version
    return text


def make(folder, name, all_symbols):
    source, script = os.path.join(folder, name + '.S'), os.path.join(folder, name + '.map')
    with open(source, 'w') as f:
        f.write(assembly(all_symbols))
    with open(script, 'w') as f:
        f.write(version_script(all_symbols))
    command = ['gcc', '-shared', '-nostdlib', '-fuse-ld=bfd', '-Wl,-soname,' + name, '-o', os.path.join(folder, name), source]
    subprocess.run(command + (['-Wl,--version-script=' + script] if all_symbols else []), check=True)


def main():
    folder, newest = sys.argv[1], number(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    for name in EMPTY:
        make(folder, name, [])
    for name in FULL:
        make(folder, name, symbols(library(name), newest))
    for name, link in LINK_NAMES.items():
        path = os.path.join(folder, link)
        if not os.path.lexists(path):
            os.symlink(name, path)
    rest = subprocess.run(['gcc', '-print-file-name=libc_nonshared.a'], capture_output=True, text=True, check=True).stdout.strip()
    with open(os.path.join(folder, 'libc.so'), 'w') as f:
        paths = [os.path.abspath(os.path.join(folder, name)) for name in ('libc.so.6', 'ld-linux-x86-64.so.2')]
        f.write('GROUP ( %s %s AS_NEEDED ( %s ) )\n' % (paths[0], rest, paths[1]))


if __name__ == '__main__':
    main()
