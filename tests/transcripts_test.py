"""Replays recorded kubectl sessions against `flyball apiserver` + `flyball controllers` (no scheduler, no nodes), one after
another on one fresh folder, and compares what kubectl prints.

    transcripts_test.py build/flyball [--own-client] 1-basics [2-apply ...]

With --own-client the program itself is the client, under the name kubectl.
"""
import difflib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from program import Kubectl, Program, recordings, skip, wait_until

CONDITION_SECONDS = 60
DIFF_LINES = 40
# Pods of two templates are told apart by their age, which is in whole seconds: a new template comes in a new second.
NEW_TEMPLATE = re.compile(r'kubectl (patch .*"template"|rollout (undo|restart)|set (image|env|resources))')


def load_recorder(golden):
    """The recorder's own reading, running and normalising of a session."""
    spec = importlib.util.spec_from_file_location('transcript', os.path.join(golden, 'transcript.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_any_map_order(lines):
    """The Data section of `kubectl describe secret|configmap` is printed in the order of a Go map, which is random."""
    out, section = [], None
    for line in lines:
        if section is not None and line:
            section.append(line)
            continue
        if section is not None:
            out += sorted(section)
            section = None
        out.append(line)
        if line == '====' and len(out) > 1 and out[-2] == 'Data':
            section = []
    return out + sorted(section or [])


def without_cut_version(lines):
    """`head -c` may cut a resourceVersion in two, so that the recorder's rules do not see it."""
    return [re.sub(r'"resourceVersion":"\d*$', '"resourceVersion":"', line) for line in lines]


def without_skew(lines):
    """The recorded kubectl is older than the server and says so; our own client is not."""
    return [line for line in lines if not line.startswith('WARNING: version difference')]


def without_short_watch(lines):
    """client-go warns of a watch that ended within a second; `wait --timeout=1s` on a busy machine is such a one."""
    return [line for line in lines if 'reflector.go' not in line or 'very short watch' not in line]


def wait_for_a_new_second():
    time.sleep(1 - time.time() % 1)


def same(recorded, now):
    return any(f(recorded) == f(now) for f in (list, in_any_map_order, without_cut_version, without_skew, without_short_watch))


class Session:
    """One recorded session, replayed in a folder of its own."""

    def __init__(self, recorder, path, kubectl):
        self.recorder, self.path, self.kubectl = recorder, path, kubectl
        self.passed, self.failures = 0, []

    def replay(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, command, recorded in self.recorder.parse(self.path):
                if kind == '@':
                    self.wait(command, folder)
                elif kind in '$?':
                    if NEW_TEMPLATE.match(command):
                        wait_for_a_new_second()
                    text = self.run(command, folder)[0]
                    if kind == '$':
                        self.compare(command, recorded, self.recorder.normalise(text))

    def run(self, command, folder):
        try:
            return self.recorder.run(command, self.kubectl, folder)
        except subprocess.TimeoutExpired:
            return '<no end in time>\n', 1

    def wait(self, command, folder):
        try:
            wait_until(command, lambda: self.run(command, folder)[1] == 0, CONDITION_SECONDS)
        except AssertionError as never:
            self.failures.append(str(never))

    def compare(self, command, recorded, now):
        if same(recorded, now):
            self.passed += 1
            return
        diff = list(difflib.unified_diff(recorded, now, 'recorded', 'now', lineterm='', n=1))[:DIFF_LINES]
        self.failures.append('\n    '.join(['$ ' + command.splitlines()[0], *diff]))


class Cluster:
    """API server and controllers, and a kubeconfig for the user that the sessions were recorded with."""

    def __init__(self, binary, client):
        folder = tempfile.mkdtemp(prefix='flyball-test-')
        tokens = os.path.join(folder, 'tokens.csv')
        with open(tokens, 'w') as f:
            f.write('test-token,admin,admin,"system:masters"\n')
        self.programs = [Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', '--token-auth-file', tokens,
                                 '--service-cluster-ip-range', '10.96.0.0/16', data_dir=folder)]
        admin = self.programs[0].kubeconfig
        self.programs.append(Program(binary, 'controllers', '--kubeconfig', admin, ready='running'))
        self.kubeconfig = os.path.join(folder, 'session.kubeconfig')
        shutil.copy(admin, self.kubeconfig)
        kubectl = Kubectl(self.kubeconfig, (client,))
        kubectl('config', 'set-credentials', 'recorded', '--token=test-token')
        kubectl('config', 'set-context', '--current', '--user=recorded')
        wait_until('the controllers work', lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)

    def stop(self):
        for program in reversed(self.programs):
            program.stop()

    def remove(self):
        for program in self.programs:
            program.kill()
            program.remove()


def replay(recorder, golden, name, client, kubeconfig):
    # "command": the recorder wraps kubectl in a function of the same name.
    session = Session(recorder, os.path.join(golden, 'transcripts', name + '.t'), 'command %s --kubeconfig %s' % (client, kubeconfig))
    session.replay()
    for failure in session.failures:
        print('FAIL %s: %s' % (name, failure))
    print('%s: %d passed, %d failed' % (name, session.passed, len(session.failures)), flush=True)
    return not session.failures


def main():
    binary, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    own = names[0] == '--own-client'
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    client = os.path.join(folder, 'kubectl') if own else 'kubectl'
    if own:
        names = names[1:]
        os.symlink(binary, client)
        os.environ['HOME'] = folder  # for the copies of discovery
    elif not shutil.which('kubectl'):
        skip('there is no kubectl')
    golden = recordings()
    recorder = load_recorder(golden)
    cluster = Cluster(binary, client)
    try:
        good = [replay(recorder, golden, name, client, cluster.kubeconfig) for name in names]
        cluster.stop()
    finally:
        cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(good) else 1


sys.exit(main())
