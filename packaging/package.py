#!/usr/bin/env python3
"""Packs a program that `cmake --preset package` built: a tarball, a Debian package and a Python wheel.

    package.py PROGRAM FOLDER [tarball] [deb] [wheel]

Needs binutils and, for the Debian package, dpkg-deb. The same program gives the same files: times are those of the commit.
"""
import base64
import calendar
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import man_pages

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MOST_BYTES = 25 << 20
OLDEST_LIBC = (2, 27)
MACHINE = 'linux-x86_64'
WHEEL_TAG = 'py3-none-manylinux_%d_%d_x86_64' % OLDEST_LIBC
SHELLS = {'bash': 'usr/share/bash-completion/completions/flyball', 'zsh': 'usr/share/zsh/vendor-completions/_flyball',
          'fish': 'usr/share/fish/vendor_completions.d/flyball.fish'}


class Program:
    """A stripped copy of the program, and what it says of itself."""

    def __init__(self, path, folder):
        self.path = os.path.join(folder, 'flyball')
        subprocess.run(['strip', '-o', self.path, path], check=True)
        said = json.loads(self.run('version', '--client', '-o', 'json'))['flyball']
        self.version = said['version'].lstrip('v')
        date = said['commitDate']
        self.time = calendar.timegm(time.strptime(date, '%Y-%m-%dT%H:%M:%SZ')) if date else 0

    def run(self, *arguments):
        return subprocess.run([self.path, *arguments], capture_output=True, text=True, check=True).stdout


def check_portable(program):
    """Fails if the program asks for more than an old C library, or is larger than promised."""
    size = os.path.getsize(program.path)
    table = subprocess.run(['objdump', '-p', program.path], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r'NEEDED +(\S+)', table)
    others = [name for name in needed if not re.match(r'(lib(c|m|dl|rt|pthread)\.so|ld-linux)', name)]
    versions = {tuple(map(int, version.split('.'))) for version in re.findall(r'GLIBC_([\d.]+)', table)}
    assert not others, 'the program needs libraries: %s' % others
    assert max(versions) <= OLDEST_LIBC, 'the program needs glibc %s' % '.'.join(map(str, max(versions)))
    assert size <= MOST_BYTES, 'the program has %d bytes, more than %d' % (size, MOST_BYTES)
    print('program: %.1f MB, needs glibc %s' % (size / 1e6, '.'.join(map(str, max(versions)))))


def license_and_readme():
    return [(name, open(os.path.join(ROOT, name), 'rb').read()) for name in ('LICENSE', 'README.md', 'CHANGELOG.md')]


def support_files(program, folder):
    """(path below /usr, content) of manual pages and completions."""
    pages = os.path.join(folder, 'man')
    man_pages.write_pages(program.path, pages, program.version)
    for name in sorted(os.listdir(pages)):
        with open(os.path.join(pages, name), 'rb') as f:
            yield 'usr/share/man/man1/%s.gz' % name, gzip.compress(f.read(), mtime=0)
    for shell, path in SHELLS.items():
        yield path, program.run('completion', shell).encode()


def add_to_tar(tar, name, content, mode, when):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(content), mode, when
    info.uname = info.gname = 'root'
    tar.addfile(info, io.BytesIO(content))


def make_tarball(program, folder):
    top = 'flyball-%s-%s' % (program.version, MACHINE)
    path = os.path.join(folder, top + '.tar.gz')
    with open(program.path, 'rb') as f:
        files = [('bin/flyball', f.read(), 0o755)]
    files += [(name, content, 0o644) for name, content in license_and_readme()]
    with tempfile.TemporaryDirectory() as work:
        files += [(name.removeprefix('usr/'), content, 0o644) for name, content in support_files(program, work)]
    with open(path, 'wb') as out, gzip.GzipFile(filename='', fileobj=out, mode='wb', mtime=program.time) as packed:
        with tarfile.open(fileobj=packed, mode='w') as tar:
            for name, content, mode in files:
                add_to_tar(tar, top + '/' + name, content, mode, program.time)
    return path


def put(root, path, content, mode=0o644):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, 'wb') as f:
        f.write(content)
    os.chmod(full, mode)


def control_files(root, program):
    installed = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(root) for name in names)
    text = open(os.path.join(HERE, 'deb', 'control.in')).read()
    put(root, 'DEBIAN/control', text.replace('@VERSION@', program.version).replace('@SIZE@', str(installed // 1024)).encode())
    put(root, 'DEBIAN/conffiles', b'/etc/default/flyball\n/etc/default/flyball-node\n')
    for name in ('postinst', 'prerm'):
        put(root, 'DEBIAN/' + name, open(os.path.join(HERE, 'deb', name), 'rb').read(), 0o755)


def make_deb(program, folder):
    path = os.path.join(folder, 'flyball_%s_amd64.deb' % program.version)
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        put(root, 'usr/bin/flyball', open(program.path, 'rb').read(), 0o755)
        with tempfile.TemporaryDirectory() as work:
            for name, content in support_files(program, work):
                put(root, name, content)
        for service in ('flyball', 'flyball-node'):
            put(root, 'lib/systemd/system/%s.service' % service, open(os.path.join(HERE, 'deb', service + '.service'), 'rb').read())
            put(root, 'etc/default/' + service, open(os.path.join(HERE, 'deb', service + '.default'), 'rb').read())
        documents = dict(license_and_readme())
        put(root, 'usr/share/doc/flyball/copyright', documents['LICENSE'])
        put(root, 'usr/share/doc/flyball/README.md', documents['README.md'])
        put(root, 'usr/share/doc/flyball/changelog.gz', gzip.compress(documents['CHANGELOG.md'], mtime=0))
        control_files(root, program)
        subprocess.run(['dpkg-deb', '--root-owner-group', '-Zxz', '--build', root, path], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, 'SOURCE_DATE_EPOCH': str(program.time)})
    return path


def wheel_files(program):
    """(path, content, mode) of what is in the wheel, without its list."""
    information = 'flyball-%s.dist-info' % program.version
    readme = dict(license_and_readme())['README.md'].decode()
    yield 'flyball_pytest.py', open(os.path.join(HERE, 'wheel', 'flyball_pytest.py'), 'rb').read(), 0o644
    yield 'flyball-%s.data/scripts/flyball' % program.version, open(program.path, 'rb').read(), 0o755
    yield information + '/METADATA', ('Metadata-Version: 2.1\nName: flyball\nVersion: %s\n' % program.version +
                                      'Summary: The Kubernetes control plane as one program, with pytest fixtures\n'
                                      'License: Apache-2.0\nRequires-Python: >=3.8\nProvides-Extra: test\n'
                                      "Requires-Dist: pytest; extra == 'test'\nClassifier: Framework :: Pytest\n"
                                      'Description-Content-Type: text/markdown\n\n' + readme).encode(), 0o644
    yield information + '/WHEEL', ('Wheel-Version: 1.0\nGenerator: flyball\nRoot-Is-Purelib: false\nTag: %s\n' % WHEEL_TAG).encode(), 0o644
    yield information + '/entry_points.txt', b'[pytest11]\nflyball = flyball_pytest\n', 0o644
    yield information + '/LICENSE', dict(license_and_readme())['LICENSE'], 0o644


def make_wheel(program, folder):
    path = os.path.join(folder, 'flyball-%s-%s.whl' % (program.version, WHEEL_TAG))
    when = time.gmtime(max(program.time, calendar.timegm((1980, 1, 1, 0, 0, 0))))[:6]
    listed = []
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as wheel:

        def add(name, content, mode):
            info = zipfile.ZipInfo(name, when)
            info.external_attr = (0o100000 | mode) << 16
            wheel.writestr(info, content, zipfile.ZIP_DEFLATED)

        for name, content, mode in wheel_files(program):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
            listed.append('%s,sha256=%s,%d' % (name, digest, len(content)))
            add(name, content, mode)
        record = 'flyball-%s.dist-info/RECORD' % program.version
        add(record, ('\n'.join(listed) + '\n%s,,\n' % record).encode(), 0o644)
    return path


MAKERS = {'tarball': make_tarball, 'deb': make_deb, 'wheel': make_wheel}


def main():
    source, folder, wanted = sys.argv[1], sys.argv[2], sys.argv[3:] or list(MAKERS)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        program = Program(source, work)
        if 'tarball' in wanted:
            check_portable(program)
        for kind in wanted:
            path = MAKERS[kind](program, folder)
            print('%-8s %s, %.1f MB' % (kind, path, os.path.getsize(path) / 1e6))


if __name__ == '__main__':
    main()
