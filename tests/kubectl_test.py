"""Drives `flyball apiserver` + `flyball controllers` with the real kubectl, topic by topic (tests/kubectl/), and compares what it
prints. Every topic has a namespace of its own; every difference is shown, not only the first.

    kubectl_test.py build/flyball [topic ...]
"""
import importlib
import json
import os
import sys
import tempfile

from program import Kubectl, Program, skip, wait_until

TOPICS = ['discovery', 'creating', 'applying', 'reading', 'changing', 'access', 'custom']
OLDEST = 31


def too_old(kubectl):
    version = json.loads(kubectl('version', '--client', '-o', 'json'))['clientVersion']
    return int(version['minor'].rstrip('+')) < OLDEST


def play(topic, kubectl, folder):
    """Runs the parts of a topic in order; they build on each other."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kubectl'))
    session_type = importlib.import_module('session').Session
    module = importlib.import_module(topic)
    own = os.path.join(folder, topic)
    os.mkdir(own)
    kubectl('create', 'namespace', topic)
    wait_until('the namespace is furnished', lambda: kubectl.run('get', 'sa/default', 'cm/kube-root-ca.crt', '-n', topic, check=False).returncode == 0)
    session = session_type(kubectl, topic, own)
    for part in module.PARTS:
        before = len(session.failures)
        part(session)
        print('%s %s.%s' % ('ok  ' if len(session.failures) == before else 'FAIL', topic, part.__name__), flush=True)
        for failure in session.failures[before:]:
            print('    ' + failure.replace('\n', '\n    '))
    return session


def main():
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    programs = [Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)]
    kubeconfig = programs[0].kubeconfig
    try:
        kubectl = Kubectl(kubeconfig)
        if too_old(kubectl):
            skip('kubectl is older than 1.%d: it prints other words' % OLDEST)
        programs.append(Program(sys.argv[1], 'controllers', '--kubeconfig', kubeconfig, ready='running'))
        sessions = [play(topic, kubectl, folder) for topic in sys.argv[2:] or TOPICS]
        for program in reversed(programs):
            program.stop()
    finally:
        for program in programs:
            program.kill()
            program.remove()
    failed = sum(len(s.failures) for s in sessions)
    print('%d commands, %d differences' % (sum(s.commands for s in sessions), failed))
    return 1 if failed else 0


sys.exit(main())
