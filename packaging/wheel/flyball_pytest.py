"""pytest fixtures: a Kubernetes cluster for the test run, a namespace for each test.

    def test_config_maps_are_kept(flyball_cluster, flyball_namespace):
        flyball_cluster.kubectl('create', 'configmap', 'one', '-n', flyball_namespace)

The cluster is one process of Flyball: in memory, on a free port, with controllers, a scheduler and simulated nodes. It ends
with the test run, however that ends.

Options: --flyball-program PATH (else $FLYBALL, else the program of this package, else the one on the PATH),
--flyball-nodes N, --flyball-no-controllers (the API server alone), --flyball-native (real containers, as `flyball up`
runs them).
"""
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
import uuid

import pytest

READY_SECONDS = 60
STOP_SECONDS = 30


class CommandFailed(Exception):
    """A command of the program ended with another status than 0."""


class FlyballCluster:
    """A running cluster. `url`, `ca` and `token` are for clients of any kind, `kubeconfig` is the path of a file."""

    def __init__(self, program, process, folder, url, kubeconfig, token='', ca=''):
        self.program, self.process, self.folder = program, process, folder
        self.url, self.kubeconfig, self.token, self.ca = url, kubeconfig, token, ca

    def kubectl(self, *arguments, stdin=None, timeout=60):
        """Runs a command of kubectl and returns what it prints."""
        done = subprocess.run([self.program, *arguments, '--kubeconfig', self.kubeconfig], input=stdin, capture_output=True,
                              text=True, timeout=timeout)
        if done.returncode != 0:
            raise CommandFailed('%s: %s%s' % (' '.join(arguments), done.stdout, done.stderr))
        return done.stdout

    def get(self, *arguments):
        """What `kubectl get ARGUMENTS -o json` prints, as a dict."""
        return json.loads(self.kubectl('get', *arguments, '-o', 'json'))

    def apply(self, manifest, namespace=None):
        """Applies a manifest: YAML or JSON text, or a dict."""
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        return self.kubectl('apply', '-f', '-', *(('-n', namespace) if namespace else ()), stdin=text)

    def wait_for(self, condition, *objects, namespace=None, seconds=30):
        """Waits as `kubectl wait --for=CONDITION OBJECTS` does."""
        where = ('-n', namespace) if namespace else ()
        return self.kubectl('wait', '--for=' + condition, *objects, *where, '--timeout=%ds' % seconds, timeout=seconds + 30)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def find_program(given=None):
    """The path of the program; LookupError if there is none."""
    beside = os.path.join(sysconfig.get_path('scripts'), 'flyball')
    for path in (given, os.environ.get('FLYBALL'), beside, shutil.which('flyball')):
        if path and os.access(path, os.X_OK):
            return os.path.abspath(path)
        if path and path == given:
            raise LookupError('%s is not a program' % given)
    raise LookupError('there is no flyball on the PATH, in $FLYBALL or beside Python')


def start_test_server(program, nodes=1, controllers=True):
    """A cluster in memory: `flyball testserver`."""
    folder = tempfile.mkdtemp(prefix='flyball-pytest-')
    command = [program, 'testserver', '--print', 'json']
    if controllers:
        command += ['--controllers', '--nodes', str(nodes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(os.path.join(folder, 'log'), 'w'), text=True)
    line = process.stdout.readline()
    if not line:
        process.wait()
        with open(os.path.join(folder, 'log')) as log:
            raise RuntimeError('flyball testserver ended: ' + log.read())
    said = json.loads(line)
    path = os.path.join(folder, 'kubeconfig')
    with open(said['kubeconfig']) as theirs, open(path, 'w') as ours:
        ours.write(theirs.read())
    return FlyballCluster(program, process, folder, said['url'], path, said['token'], said['ca'])


def start_native(program, nodes=1):
    """A cluster that runs containers: `flyball up`."""
    folder = tempfile.mkdtemp(prefix='flyball-pytest-')
    with open(os.path.join(folder, 'log'), 'w') as log:
        process = subprocess.Popen([program, 'up', '--data-dir', folder, '--port', '0', '--nodes', str(nodes)], stdout=log, stderr=log)
    path = os.path.join(folder, 'kubeconfig')
    deadline = time.monotonic() + READY_SECONDS
    while True:
        with open(os.path.join(folder, 'log')) as log:
            text = log.read()
        if 'Flyball is up.' in text:
            break
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError('flyball up did not start: ' + text)
        time.sleep(0.02)
    cluster = FlyballCluster(program, process, folder, '', path)
    cluster.url = cluster.kubectl('config', 'view', '-o', 'jsonpath={.clusters[0].cluster.server}')
    return cluster


def pytest_addoption(parser):
    group = parser.getgroup('flyball')
    group.addoption('--flyball-program', metavar='PATH', help='the program; else $FLYBALL, else the one of this package')
    group.addoption('--flyball-nodes', type=int, default=1, metavar='N', help='how many nodes the cluster has')
    group.addoption('--flyball-no-controllers', action='store_true', help='the API server alone: nothing acts on objects')
    group.addoption('--flyball-native', action='store_true', help='run containers, with `flyball up`')


@pytest.fixture(scope='session')
def flyball_cluster(request):
    """A FlyballCluster for the whole test run."""
    option = request.config.getoption
    program = find_program(option('--flyball-program'))
    if option('--flyball-native'):
        cluster = start_native(program, option('--flyball-nodes'))
    else:
        cluster = start_test_server(program, option('--flyball-nodes'), not option('--flyball-no-controllers'))
    yield cluster
    cluster.stop()


@pytest.fixture
def flyball_namespace(flyball_cluster):
    """The name of a namespace of the test's own, deleted after it."""
    name = 'test-' + uuid.uuid4().hex[:10]
    flyball_cluster.kubectl('create', 'namespace', name)
    yield name
    flyball_cluster.kubectl('delete', 'namespace', name, '--wait=false')
