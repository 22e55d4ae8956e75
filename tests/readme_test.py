"""Runs what README.md and the first pages of the documentation tell a newcomer to type, block by block, with `flyball` on the PATH and
a home folder of its own.

    readme_test.py build/flyball BUILD [PAGE...]

The blocks ```sh of a page are one session of one shell, in the order of the page; those marked ```sh skip are not run. A page with files
(```cpp title=main.cc) gets them, and its blocks are ```sh run. Where containers cannot run, clusters are simulated. The image that the pages
name is put into the cluster's store, so that nothing is fetched.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import containers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = ['README.md', 'docs/getting-started.md', 'docs/concepts/optimistic-concurrency.md', 'docs/tutorials/first-cluster.md',
         'docs/tutorials/testing-your-operator.md']
IMAGE = 'busybox:1.36'
BLOCK = re.compile(r'^```(\w+)(?: (\S+))?\n(.*?)^```$', re.M | re.S)
LIMIT = 240  # seconds a page may take
# Of a page that has a cluster of its own to work with. Others make theirs.
WITH_CLUSTER = {'docs/concepts/optimistic-concurrency.md'}


def parse(page):
    """The commands of a page and its files by name."""
    with open(os.path.join(ROOT, page)) as f:
        blocks = BLOCK.findall(f.read())
    files = {mark[6:]: text for _, mark, text in blocks if mark.startswith('title=')}
    commands = ''.join(text for language, mark, text in blocks if language == 'sh' and mark in ('', 'run'))
    assert commands, page + ' has no commands'
    return commands, files


class Newcomer:
    """A machine with flyball on the PATH, and kubectl, which is a link to it."""

    def __init__(self, binary, build):
        self.folder = tempfile.mkdtemp(prefix='flyball-test-')
        programs = os.path.join(self.folder, 'bin')
        os.mkdir(programs)
        for name in ('flyball', 'kubectl'):
            os.symlink(os.path.abspath(binary), os.path.join(programs, name))
        self.native = os.geteuid() == 0 and shutil.which('runc') and shutil.which('busybox')
        unset = ('KUBECONFIG', 'XDG_DATA_HOME', 'KUBERC')
        self.environment = {**{k: v for k, v in os.environ.items() if k not in unset}, 'HOME': self.folder,
                            'PATH': programs + ':' + os.environ['PATH'], 'FLYBALL_PREFIX': os.path.join(self.folder, 'prefix')}
        self.binary, self.build = os.path.abspath(binary), build

    def clusters(self):
        return os.path.join(self.folder, '.local/share/flyball/clusters')

    def prepare(self, commands):
        """The image where the page's cluster will look for it, or simulated containers."""
        for name in re.findall(r'flyball up (\w+) -d(?! --runtime)', commands):
            if self.native:
                self.put_image(os.path.join(self.clusters(), name))
            else:
                commands = commands.replace('flyball up %s -d' % name, 'flyball up %s -d --runtime sim' % name)
        return commands

    def put_image(self, data):
        os.makedirs(data, mode=0o700, exist_ok=True)
        containers.build_image(self.binary, data, shutil.which('busybox'), IMAGE)

    def follow(self, page):
        commands, files = parse(page)
        folder = os.path.join(self.folder, page.replace('/', '_'))
        os.mkdir(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), 'w') as f:
                f.write(text)
        if files:
            subprocess.run(['cmake', '--install', self.build, '--prefix', self.environment['FLYBALL_PREFIX'], '--component', 'sdk'],
                           check=True, stdout=subprocess.DEVNULL)
        if page in WITH_CLUSTER:
            commands = 'flyball up page -d --runtime sim\n%s\nflyball delete page\n' % commands
        began = time.monotonic()
        done = subprocess.run(['bash', '-euo', 'pipefail', '-xc', self.prepare(commands)], cwd=folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=LIMIT)
        assert done.returncode == 0, '%s: exit status %d\n%s' % (page, done.returncode, done.stdout[-5000:])
        print('ok   %s, %.1f s' % (page, time.monotonic() - began), flush=True)

    def leave(self):
        if os.path.isdir(self.clusters()):
            for name in os.listdir(self.clusters()):
                subprocess.run([self.binary, 'stop', name], env=self.environment, capture_output=True)
                containers.clean(os.path.join(self.clusters(), name))
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    newcomer = Newcomer(sys.argv[1], sys.argv[2])
    try:
        for page in sys.argv[3:] or PAGES:
            newcomer.follow(page)
    finally:
        newcomer.leave()


main()
