"""Runs the same commands with kubectl itself and with our client, each on a server of its own, and shows what differs in standard
output, standard error and exit status.

    kubectl_differential.py build/flyball /path/to/kubectl [--only PATTERN] [--show N] [FILE ...]

A FILE (default: tests/kubectl/*.txt) holds one bash command a line; they run in order, in a folder of their own. A line that ends with
a backslash goes on. `#` begins a comment, and `until COMMAND` is repeated until it succeeds and not compared.
"""
import argparse
import difflib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = [
    (r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', '<time>'),
    (r'\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}', '<date>'),
    (r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '<uid>'),
    (r'(resourceVersion"?: ?"?)\d+', r'\1<rv>'),
    (r'https?://(127\.0\.0\.1|localhost):\d+', '<server>'),
    (r'/tmp/flyball-diff-[^/\s]*', '<home>'),
    (r'eyJ[\w.-]{50,}', '<token>'),
    (r'\b10\.\d+\.\d+\.\d+\b', '<ip>'),
    (r'(?<=-)[a-f0-9]{8,10}-[a-z0-9]{5}\b', '<hash>'),
    (r'(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b', '<random>'),
    (r'\b(\d+[smhd])+\b', '<age>'),
    (r'(NodePort:?.*?)\b3[0-2]\d{3}\b', r'\1<port>'),
    (r':3[0-2]\d{3}/', ':<port>/'),
    (r' {2,}', '  '),
    # Our client says what kubectl v1.32 said, as the recorded sessions do.
    (r'(deleted) from \S+ namespace', r'\1'),
    (r' *"?creationTimestamp"?: null,?\n', ''),
    (r'X509SHA256=\w+', 'X509SHA256=<sum>'),
]
HELP = re.compile(r'^(Usage:|Available Commands:)', re.M)


def normal(text):
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return [line.rstrip() for line in text.splitlines()]


def commands_of(path):
    pending = ''
    for line in open(path):
        line = line.rstrip('\n')
        if not pending and (not line.strip() or line.startswith('#')):
            continue
        if line.endswith('\\'):
            pending += line[:-1] + '\n'
            continue
        yield pending + line
        pending = ''


class Side:
    """One client with its own server, home and folder."""

    def __init__(self, flyball, client, fixtures):
        self.home = tempfile.mkdtemp(prefix='flyball-diff-')
        os.mkdir(os.path.join(self.home, 'bin'))
        os.symlink(os.path.abspath(client), os.path.join(self.home, 'bin', 'kubectl'))
        shutil.copytree(fixtures, os.path.join(self.home, 'work'))
        self.server = subprocess.Popen([flyball, 'testserver', '--controllers', '--nodes', '2', '--print', 'json'],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ready = json.loads(self.server.stdout.readline())
        shutil.copy(ready['kubeconfig'], os.path.join(self.home, 'kubeconfig'))
        self.environment = dict(os.environ, HOME=self.home, KUBECONFIG=os.path.join(self.home, 'kubeconfig'), TZ='UTC',
                                PATH=os.path.join(self.home, 'bin') + ':' + os.environ['PATH'])

    def run(self, command, seconds=60):
        try:
            done = subprocess.run(['bash', '-c', command], capture_output=True, text=True, timeout=seconds, env=self.environment,
                                  stdin=subprocess.DEVNULL, cwd=os.path.join(self.home, 'work'), errors='replace')
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            return -1, '', 'timed out\n'

    def until(self, command):
        end = time.time() + 30
        while self.run(command)[0] != 0 and time.time() < end:
            time.sleep(0.1)

    def close(self):
        self.server.kill()
        self.server.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def compare(real, own):
    """The lines that differ, of everything a command says."""
    # The words of help are our own.
    if all(HELP.search(out + err) and code == real[0] for code, out, err in (real, own)):
        return []
    sides = [normal(out) + ['--- stderr'] + normal(err) + ['--- exit %d' % code] for code, out, err in (real, own)]
    if sides[0] == sides[1]:
        return []
    return list(difflib.unified_diff(sides[0], sides[1], 'kubectl', 'flyball', lineterm='', n=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('flyball')
    parser.add_argument('kubectl')
    parser.add_argument('files', nargs='*')
    parser.add_argument('--only', default='')
    parser.add_argument('--show', type=int, default=14)
    options = parser.parse_args()
    fixtures = os.path.join(HERE, 'kubectl', 'fixtures')
    passed = failed = 0
    for path in options.files or sorted(glob.glob(os.path.join(HERE, 'kubectl', '*.txt'))):
        sides = [Side(options.flyball, options.kubectl, fixtures), Side(options.flyball, options.flyball, fixtures)]
        try:
            for command in commands_of(path):
                if command.startswith('until '):
                    for side in sides:
                        side.until(command[6:])
                    continue
                difference = compare(*(side.run(command) for side in sides))
                if difference and re.search(options.only, command):
                    failed += 1
                    print('DIFFERS %s: %s' % (os.path.basename(path), command))
                    print('\n'.join('    ' + line for line in difference[2:2 + options.show]), flush=True)
                elif not difference:
                    passed += 1
        finally:
            for side in sides:
                side.close()
    print('%d same, %d differ' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
