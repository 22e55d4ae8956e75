"""Runs the real program for tests: starts it, waits until it is ready, talks to it with kubectl, stops it."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
RECORDED_VERSION = 'v1.37'
# Generous: a sanitized build on a busy machine.
READY_SECONDS = 180
# Whether this is a test of a build with sanitizers (sanitized.py says so).
SANITIZED = 'FLYBALL_SANITIZED' in os.environ


def skip(why):
    print('SKIPPED: ' + why)
    sys.exit(SKIPPED)


def recordings():
    """The recordings of the Kubernetes version that is spoken."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), 'golden', RECORDED_VERSION)


def wait_until(what, check, seconds=60):
    """Asks until the check holds; a failed test says what it waited for."""
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        try:
            last = check()
            if last:
                return last
        except (AssertionError, subprocess.SubprocessError, FileNotFoundError) as e:
            last = e
        time.sleep(0.1)
    raise AssertionError('never true: %s (last: %s)' % (what, last))


class Program:
    """One run of the program on a data folder of its own."""

    def __init__(self, binary, *arguments, data_dir=None, ready=r'(?:serving|API server) +(https://\S+)'):
        self.binary = os.path.abspath(binary)
        self.data_dir = data_dir or tempfile.mkdtemp(prefix='flyball-test-')
        self.log = open(os.path.join(self.data_dir, 'output.log'), 'a+')
        start = self.log.tell()
        self.process = subprocess.Popen([binary, *arguments], stdout=self.log, stderr=subprocess.STDOUT)
        self.url = None
        if not ready:
            return
        try:
            self.url = wait_until('the program is ready: ' + ' '.join(arguments), lambda: self._find(ready, start), READY_SECONDS)
        except BaseException:
            self.kill()  # whoever asked for it never gets to see it
            raise

    def _find(self, pattern, start):
        if self.process.poll() is not None:
            raise SystemExit('the program ended: ' + self.output())
        self.log.flush()
        match = re.search(pattern, self.output()[start:])
        return match and match.group(match.re.groups and 1 or 0)

    def output(self):
        with open(self.log.name) as f:
            return f.read()

    @property
    def kubeconfig(self):
        return os.path.join(self.data_dir, 'kubeconfig')

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError('the program did not stop within 20 s of SIGTERM:\n' + self.output()[-3000:])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def remove(self):
        self.log.close()
        shutil.rmtree(self.data_dir, ignore_errors=True)


class Kubectl:
    def __init__(self, kubeconfig, command=('kubectl',)):
        if command == ('kubectl',):
            command = (os.environ.get('FLYBALL_KUBECTL', 'kubectl'),)  # another version than the one on PATH
        if not shutil.which(command[0]):
            skip('there is no ' + command[0])
        self.command = [*command, '--kubeconfig', kubeconfig]

    @staticmethod
    def environment():
        return {**os.environ, 'COLUMNS': '200'}

    def run(self, *arguments, stdin=None, check=True, timeout=60, env=None, cwd=None):
        result = subprocess.run([*self.command, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout, cwd=cwd,
                                env={**self.environment(), **(env or {})})
        if check and result.returncode != 0:
            raise AssertionError('%s: %s%s' % (' '.join(arguments), result.stdout, result.stderr))
        return result

    def __call__(self, *arguments, **options):
        return self.run(*arguments, **options).stdout.strip()
