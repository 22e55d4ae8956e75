#!/usr/bin/env python3
"""Runs the conformance suite of Kubernetes, unmodified, against Flyball with simulated nodes.

    conformance.py FLYBALL [--class A,B] [--focus REGEX] [--containers] [--e2e-test PATH] [--jobs N] [--record]

expected.tsv lists every test of the suite: its class, whether it passes here, and why not if not. The command fails if a
test that is expected to pass does not. Tests that are not expected to pass run too, and are named when they do; those
that need real containers are not started unless --focus names them. --record writes what was seen into expected.tsv and
docs/conformance.md. With --containers the three nodes run containers (root and runc); the images are made from the Go module
proxy and Debian's packages.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import images  # noqa: E402
from image_server import ImageServer  # noqa: E402
from program import Program  # noqa: E402

VERSION = 'v1.37.1'
OLDEST_GO = (1, 26)
CLASSES = {
    'A': 'API and controllers',
    'B': 'scheduler and simulated nodes',
    'C': 'real containers',
    'D': 'network, Services, DNS',
    'E': 'volumes',
    'F': 'webhooks, policies, aggregation, conversion',
    'P': 'network policies (not part of the conformance suite)',
}
# What is expected: of the conformance suite, and of further tests of the same program.
EXPECTED, FURTHER = 'expected.tsv', 'further.tsv'
# Seconds after which a test is interrupted. Most take under three; those named wait by their own design.
LIMIT = 180
SLOW = {
    'should not schedule jobs when suspended': 420,
    'conflict between pods with same hostPort and protocol but one using 0.0.0.0 hostIP': 420,
    'should support continue listing from the last key if the original version has been compacted away': 900,
    'should issue 500 updates': 420,
    'Pod Generation': 420,
    'evicts pods with minTolerationSeconds': 300,
    'eviction does not happen if toleration tolerates': 300,
    'removing taint cancels eviction': 300,
    'Multiple Pods': 300,
    'ReplaceConcurrent': 300,
    'ForbidConcurrent': 420,
    'Preempt': 300,
    'ResourceQuota': 420,
    'Probing container': 420,
    'StatefulSet Basic': 420,
    'InPlace Resize': 420,
    'EmptyDir wrapper volumes': 420,
    'Variable Expansion': 420,
}

# Of class F: tests whose webhook or API server is a pod.
NEED_CONTAINERS = re.compile(r'\] (AdmissionWebhook|Aggregator|CustomResourceConversionWebhook|CustomResourceFieldSelectors) ')


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


class Test:
    """A line of expected.tsv."""

    def __init__(self, line):
        self.name, self.kind, self.state, self.why = (line.rstrip('\n').split('\t') + ['', '', ''])[:4]

    def line(self):
        return '\t'.join((self.name, self.kind, self.state, self.why)).rstrip('\t') + '\n'

    @property
    def serial(self):
        return '[Serial]' in self.name

    @property
    def needs_containers(self):
        return self.kind in 'CDEP' or NEED_CONTAINERS.search(self.name) is not None

    @property
    def limit(self):
        return max([LIMIT] + [seconds for part, seconds in SLOW.items() if part in self.name])


def read_expected():
    head, tests = '', []
    for file in EXPECTED, FURTHER:
        with open(os.path.join(HERE, file)) as f:
            head, *lines = f.readlines()
        tests += [Test(line) for line in lines]
    return head, tests


def cache_folder():
    return os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'flyball', 'conformance-' + VERSION)


def build_suite():
    """The suite's program, built once per version from the Go module proxy."""
    folder = cache_folder()
    program = os.path.join(folder, 'e2e.test')
    if os.path.exists(program):
        return program
    found = shutil.which('go') and re.search(r'go(\d+)\.(\d+)', subprocess.run(['go', 'version'], capture_output=True, text=True).stdout)
    if not found or tuple(map(int, found.groups())) < OLDEST_GO:
        fail('the conformance suite needs Go %d.%d or newer to be built; or name its program: --e2e-test PATH' % OLDEST_GO)
    print('building the conformance suite %s; the first time takes about ten minutes' % VERSION, flush=True)
    os.makedirs(folder, exist_ok=True)
    major, minor = VERSION[1:].split('.')[:2]
    version = {'gitVersion': VERSION, 'gitMajor': major, 'gitMinor': minor}  # by which tests choose what a version knows
    flags = ' '.join('-X k8s.io/component-base/version.%s=%s' % item for item in version.items())
    subprocess.run(['go', 'test', '-c', '-p', '2', '-ldflags', flags, '-o', program + '.tmp', 'k8s.io/kubernetes/test/e2e'], cwd=HERE, check=True,
                   env={**os.environ, 'CGO_ENABLED': '0', 'GOFLAGS': '-mod=mod'})
    os.rename(program + '.tmp', program)
    return program


class SuiteCluster:
    """A cluster of `flyball up`, with three nodes."""

    nodes = 3

    def __init__(self, flyball, folder, *arguments):
        self.program = Program(flyball, 'up', '--nodes', str(self.nodes), '--port', '0', '--data-dir', folder, *arguments, data_dir=folder)
        self.kubeconfig = self.program.kubeconfig

    def ended(self):
        """What was said last if it has ended by itself."""
        return self.program.process.poll() is not None and self.program.output()[-3000:]

    def stop(self):
        self.program.stop()


class SimulatedCluster(SuiteCluster):
    """Nodes on which nothing runs."""

    def __init__(self, flyball, folder, _classes):
        super().__init__(flyball, folder, '--runtime', 'sim')


class ContainerCluster(SuiteCluster):
    """Nodes that run containers, each in a network of its own, and the images that tests ask for."""

    def __init__(self, flyball, folder, classes):
        images.load(flyball, folder, cache_folder(), classes)
        self.images = ImageServer(folder)
        registries = os.path.join(folder, 'registries.yaml')
        with open(registries, 'w') as f:
            f.write('mirrors: {registry.k8s.io: {endpoint: ["%s"]}}\n' % self.images.url)
        super().__init__(flyball, folder, '--network', 'on', '--registries', registries)

    def stop(self):
        super().stop()
        self.images.close()


class Suite:
    """Runs single tests on one cluster."""

    def __init__(self, program, cluster, kubectl, folder):
        self.program, self.kubeconfig, self.kubectl, self.folder = program, cluster.kubeconfig, kubectl, folder
        self.nodes = cluster.nodes

    def run(self, test):
        """State (pass, fail), why, and the seconds it took."""
        reports = os.path.join(self.folder, hashlib.sha1(test.name.encode()).hexdigest()[:12])
        os.makedirs(reports, exist_ok=True)
        log = os.path.join(reports, 'log')
        start = time.monotonic()
        command = [self.program, '--kubeconfig=' + self.kubeconfig, '--provider=skeleton', '--num-nodes=%d' % self.nodes, '--disable-log-dump',
                   '--dump-logs-on-failure=false', '--ginkgo.no-color', '--ginkgo.v', '--ginkgo.grace-period=15s', '--report-dir=' + reports,
                   '--ginkgo.focus=' + re.escape(test.name).replace(r'\ ', ' ') + '$']
        if self.kubectl:
            command.append('--kubectl-path=' + self.kubectl)
        with open(log, 'w') as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=reports)
            stopped = self.wait(process, test.limit)
        with open(log, errors='replace') as f:
            text = f.read()
        passed = re.search(r'\b1 Passed \| 0 Failed\b', text) is not None
        return ('pass' if passed else 'fail'), ('' if passed else self.cause(text, stopped, test)), time.monotonic() - start

    @staticmethod
    def wait(process, limit):
        """Interrupts the test after the limit, so that it cleans up. Whether that was necessary."""
        try:
            process.wait(limit)
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(45)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return True

    @staticmethod
    def cause(text, stopped, test):
        found = re.search(r'^  \[(?:FAILED|PANICKED)\] (?!in \[)(.*(?:\n.*)?)', text, re.M)
        if found:
            return ' '.join(found.group(1).split())[:200]
        return 'not done after %d s' % test.limit if stopped else 'ended without a result'


class Run:
    """A run of several tests: those that may run beside others, then the serial ones, each kind on a cluster of its own."""

    def __init__(self, options, program, folder):
        self.options, self.program, self.folder = options, program, folder
        self.lock = threading.Lock()
        self.seen = {}  # name -> (state, why)
        self.done = 0

    def on_cluster(self, name, tests, jobs, total):
        if not tests:
            return
        data = os.path.join(self.folder, name)
        os.makedirs(data)
        cluster = (ContainerCluster if self.options.containers else SimulatedCluster)(self.options.flyball, data, {test.kind for test in tests})
        try:
            suite = Suite(self.program, cluster, self.options.kubectl, self.folder)
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                for test, result in zip(tests, pool.map(lambda test: self.one(suite, test, total), tests)):
                    self.seen[test.name] = result
            last_words = cluster.ended()
            if last_words:
                fail('the cluster ended during the run:\n' + last_words)
        finally:
            cluster.stop()

    def one(self, suite, test, total):
        state, why, seconds = suite.run(test)
        if state == 'fail' and test.state == 'pass':  # a busy machine is no regression
            state, why, seconds = suite.run(test)
        with self.lock:
            self.done += 1
            print('%3d/%d %s %s %5.1fs %s%s' % (self.done, total, test.kind, state, seconds, test.name, '\n        ' + why if why else ''), flush=True)
        return state, why


def in_scope(tests, options):
    """The tests of the classes, and of the names if there is a focus."""
    wanted = set(options.classes.upper().split(','))
    unknown = wanted - set(CLASSES)
    if unknown:
        fail('there are no classes %s: known are %s' % (', '.join(sorted(unknown)), ', '.join(CLASSES)))
    scope = [test for test in tests if test.kind in wanted and (not options.focus or re.search(options.focus, test.name))]
    return scope or fail('no test of these classes has such a name')


def table(tests, seen):
    """Per class: all, passed, failed, not run; from this run where it has a word, else as recorded."""
    rows = collections.OrderedDict((kind, collections.Counter()) for kind in CLASSES)
    for test in tests:
        state = seen[test.name][0] if test.name in seen else test.state
        rows[test.kind][state] += 1
        rows[test.kind]['all'] += 1
    return rows


def print_table(scope, seen):
    print('\n%-46s %5s %7s %7s %8s' % ('class', 'all', 'passed', 'failed', 'not run'))
    for kind, row in table(scope, {test.name: seen.get(test.name, ('not run',)) for test in scope}).items():
        if row['all']:
            print('%s %-44s %5d %7d %7d %8d' % (kind, CLASSES[kind], row['all'], row['pass'], row['fail'], row['not run']))
    reasons = [test.why or 'needs --containers' for test in scope if test.name not in seen]
    for why, count in collections.Counter(reasons).most_common():
        print('not run: %d: %s' % (count, why))


def judge(tests, seen):
    """Prints what differs from expected.tsv; whether anything has become worse."""
    by_name = {test.name: test for test in tests}
    worse = [name for name, (state, _) in seen.items() if state != 'pass' and by_name[name].state == 'pass']
    better = [name for name, (state, _) in seen.items() if state == 'pass' and by_name[name].state != 'pass']
    for title, names in (('passes and was not expected to', better), ('REGRESSION', worse)):
        for name in names:
            print('%s: %s' % (title, name))
            if seen[name][1]:
                print('    ' + seen[name][1])
    return not worse


def record(head, tests, seen):
    for test in tests:
        if test.name in seen:
            test.state, test.why = seen[test.name][0], seen[test.name][1].replace('\t', ' ')
    for file in EXPECTED, FURTHER:
        with open(os.path.join(HERE, file), 'w') as f:
            f.write(head)
            f.writelines(test.line() for test in tests if (test.kind == 'P') == (file == FURTHER))
    write_page(tests)


def write_page(tests):
    """Replaces what stands between the marks in docs/conformance.md."""
    path = os.path.join(ROOT, 'docs', 'conformance.md')
    with open(path) as f:
        page = f.read()
    lines = ['| class | all | passed | failed | not run |', '|---|---|---|---|---|']
    total = collections.Counter()
    for kind, row in table(tests, {}).items():
        if kind != 'P':
            total.update(row)
        lines.append('| %s: %s | %d | %d | %d | %d |' % (kind, CLASSES[kind], row['all'], row['pass'], row['fail'], row['not run']))
    lines.append('| A to F | %d | %d | %d | %d |' % (total['all'], total['pass'], total['fail'], total['not run']))
    lines += ['', 'Failed tests of the classes A and B:', '']
    failed = [test for test in tests if test.state == 'fail' and test.kind in 'AB']
    lines += ['- %s: %s' % (test.name.replace('<', '&lt;'), test.why) for test in failed] or ['- none']
    begin, end = '<!-- begin: written by ./dev conformance --record -->', '<!-- end -->'
    head, rest = page.split(begin)
    with open(path, 'w') as f:
        f.write(head + begin + '\n\n' + '\n'.join(lines) + '\n\n' + end + rest.split(end)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('flyball', help='the program')
    parser.add_argument('--class', dest='classes', default='A,B', help='comma-separated: A to F and P (default A,B)')
    parser.add_argument('--focus', help='regular expression of test names')
    parser.add_argument('--containers', action='store_true', help='nodes run containers; without it they are simulated')
    parser.add_argument('--e2e-test', default=os.environ.get('FLYBALL_E2E_TEST'), help="the suite's program, instead of building it")
    parser.add_argument('--kubectl', default=shutil.which('kubectl'), help='which kubectl the tests call')
    parser.add_argument('--jobs', type=int, default=max(2, os.cpu_count() or 2), help='how many tests at once')
    parser.add_argument('--record', action='store_true', help='write what was seen into expected.tsv and docs/conformance.md')
    parser.add_argument('--keep', action='store_true', help='leave the folder with the logs')
    options = parser.parse_args()
    options.flyball = os.path.abspath(options.flyball)
    head, tests = read_expected()
    scope = in_scope(tests, options)
    # A test that waits for a container takes minutes to fail, and says nothing.
    chosen = [test for test in scope if options.focus or test.state != 'not run']
    chosen = [test for test in chosen if options.containers or not test.needs_containers]
    program = os.path.abspath(options.e2e_test or build_suite()) if chosen else None
    folder = tempfile.mkdtemp(prefix='flyball-conformance-')
    run = Run(options, program, folder)
    try:
        run.on_cluster('parallel', [test for test in chosen if not test.serial], options.jobs, len(chosen))
        run.on_cluster('serial', [test for test in chosen if test.serial], 1, len(chosen))
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print('logs: ' + folder)
    print_table(scope, run.seen)
    good = judge(tests, run.seen)
    if options.record:
        record(head, tests, run.seen)
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
