#!/usr/bin/env python3
"""Runs controller-runtime's own test suites with `flyball envtest` in the place of kube-apiserver and etcd.

    controller_runtime.py FLYBALL [PACKAGE...]      packages: pkg/client pkg/cache ...; all if none is named

known-failures.txt lists the specs that fail on the real kube-apiserver too. Any other failure fails the command. Some specs race
with the server or with a process by their own design: a spec that fails is tried again, and named if that helps.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE, VERSION = 'sigs.k8s.io/controller-runtime', 'v0.25.2'
ATTEMPTS = 3


def sources():
    """A copy that can be written to: suites leave files beside their sources."""
    folder = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'flyball', 'controller-runtime-' + VERSION)
    if not os.path.exists(folder):
        with tempfile.TemporaryDirectory() as empty:
            found = subprocess.run(['go', 'mod', 'download', '-json', MODULE + '@' + VERSION], cwd=empty, capture_output=True, text=True, check=True)
        shutil.copytree(json.loads(found.stdout)['Dir'], folder + '.tmp')
        subprocess.run(['chmod', '-R', 'u+w', folder + '.tmp'], check=True)
        # Modules come without the executable bits of their scripts.
        subprocess.run(['find', folder + '.tmp', '-name', '*.sh', '-exec', 'chmod', '+x', '{}', '+'], check=True)
        os.rename(folder + '.tmp', folder)
    return folder


def known_failures():
    with open(os.path.join(HERE, 'known-failures.txt')) as f:
        return [line.split('\t')[0].strip() for line in f if line.strip() and not line.startswith('#')]


def failures_in(text):
    """The specs that failed; if there are none, the Go tests, without those that only contain others."""
    specs = set(re.findall(r'^\s*\[(?:FAIL|PANICKED!|TIMEDOUT|INTERRUPTED)\] (.*?)(?: \[[^\]]*\])?$', text, re.M))
    tests = set(re.findall(r'^\s*--- FAIL: (\S+)', text, re.M))
    return sorted(specs or {name for name in tests if not any(other.startswith(name + '/') for other in tests)})


class Results:
    def __init__(self):
        self.passed = 0
        self.failed, self.known, self.broken, self.repeated = [], [], [], []

    def add(self, package, text, returncode, known):
        passed = sum(int(count) for count in re.findall(r' -- (\d+) Passed \|', text))
        self.passed += passed
        self.repeated += [package + ': ' + name for name in re.findall(r'^\S* ?\[FLAKEY TEST - TOOK \d+ ATTEMPTS TO PASS\].*\n(.*)', text, re.M)]
        failures = failures_in(text)
        for name in failures:
            (self.known if any(part in name for part in known) else self.failed).append(package + ': ' + name)
        if returncode != 0 and not failures:
            self.broken.append(package)
        return passed


def test(folder, package, environment):
    # -v: without it go test does not print how many specs have passed.
    command = ['go', 'test', '-v', '-p', '2', '-count=1', '-vet=off', '-timeout=20m', './' + package, '-args', '-ginkgo.no-color',
               '-ginkgo.flake-attempts=%d' % ATTEMPTS]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    return done.returncode, done.stdout


def main():
    flyball = os.path.abspath(sys.argv[1])
    if not shutil.which('go'):
        print("controller-runtime's suites need Go", file=sys.stderr)
        sys.exit(1)
    folder = sources()
    listed = subprocess.run(['go', 'list', '-f', '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}', './pkg/...'], cwd=folder, capture_output=True, text=True, check=True)
    packages = sys.argv[2:] or [name[len(MODULE) + 1:] for name in listed.stdout.split()]
    results, known = Results(), known_failures()
    with tempfile.TemporaryDirectory(prefix='flyball-envtest-') as assets:
        subprocess.run([flyball, 'envtest', assets], check=True, stdout=subprocess.DEVNULL)
        environment = {**os.environ, 'KUBEBUILDER_ASSETS': assets}
        for package in packages:
            returncode, text = test(folder, package, environment)
            passed = results.add(package, text, returncode, known)
            print('%s %s: %d specs passed' % ('ok  ' if returncode == 0 else 'FAIL', package, passed), flush=True)
            if returncode != 0:
                print('\n'.join(text.splitlines()[-60:]))
    for title, names in (('fails on kube-apiserver too', results.known), ('passed at another attempt', results.repeated), ('FAILED', results.failed), ('FAILED without a spec', results.broken)):
        for name in names:
            print('%s: %s' % (title, name))
    print('%d specs passed, %d failed, %d failed as on kube-apiserver' % (results.passed, len(results.failed) + len(results.broken), len(results.known)))
    sys.exit(1 if results.failed or results.broken else 0)


if __name__ == '__main__':
    main()
