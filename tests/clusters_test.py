"""Clusters by name: two side by side, their contexts in a kubeconfig that has other things in it, stop, start and delete; and the
program under the name kubectl.

    clusters_test.py build/flyball
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kubectl'))

import newer  # noqa: E402
import session  # noqa: E402
from program import wait_until  # noqa: E402

WORK = """apiVersion: v1
kind: Config
clusters: [{name: work, cluster: {server: "https://work.example"}}]
contexts: [{name: work, context: {cluster: work, user: me}}]
users: [{name: me, user: {token: secret}}]
current-context: work
"""


class Machine:
    """A home folder of its own."""

    def __init__(self, binary):
        self.home = tempfile.mkdtemp(prefix='flyball-test-')
        self.binary = os.path.abspath(binary)
        self.kubectl_link = os.path.join(self.home, 'kubectl')
        os.symlink(self.binary, self.kubectl_link)
        self.environment = {k: v for k, v in os.environ.items() if k not in ('KUBECONFIG', 'XDG_DATA_HOME')}
        self.environment['HOME'] = self.home
        os.mkdir(os.path.join(self.home, '.kube'))
        with open(os.path.join(self.home, '.kube', 'config'), 'w') as f:
            f.write(WORK)

    def run(self, program, *arguments, status=0):
        result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=180, env=self.environment)
        said = result.stdout + result.stderr
        assert result.returncode == status, '%s: exit status %d: %s' % (arguments, result.returncode, said)
        return said

    def flyball(self, *arguments, status=0):
        return self.run(self.binary, *arguments, status=status)

    def kubectl(self, *arguments, status=0):
        return self.run(self.kubectl_link, *arguments, status=status)

    def contexts(self):
        return sorted(self.kubectl('config', 'get-contexts', '-o', 'name').split())


def expect(got, *wanted):
    for want in wanted:
        assert want in got, 'want %r in:\n%s' % (want, got)


def two_clusters_live_side_by_side(machine):
    machine.flyball('up', 'one', '-d', '--runtime', 'sim', '--ingress', '--ingress-http-port', '0', '--ingress-https-port', '0')
    expect(machine.kubectl('get', 'nodes', '--no-headers'), ' Ready ')
    assert machine.contexts() == ['flyball-one', 'work']
    assert machine.kubectl('config', 'current-context').strip() == 'flyball-one'
    machine.kubectl('config', 'set-context', '--current', '--namespace=kube-system')
    machine.flyball('up', 'two', '-d', '--runtime', 'sim')
    listed = machine.flyball('list')
    assert listed.count('Running') == 2, listed
    for name in ('one', 'two'):
        machine.kubectl('--context', 'flyball-' + name, 'create', 'configmap', 'of-' + name, '-n', 'default')
    expect(machine.kubectl('--context', 'flyball-two', 'get', 'cm', 'of-one', '-n', 'default', status=1), 'NotFound')
    expect(machine.flyball('status', 'one'), 'Running', 'ready        yes', 'flyball-one')


def a_cluster_keeps_its_data_port_and_namespace(machine):
    before = machine.flyball('list').splitlines()[1].split()[-1]
    expect(machine.flyball('stop', 'one'), 'stopped')
    expect(machine.flyball('stop', 'one'), 'was not running')
    expect(machine.flyball('status', 'one'), 'Stopped')
    expect(machine.flyball('start', 'one'), before)
    assert machine.flyball('cluster', 'logs', 'one').count('  ingress ') == 2, 'the flags of the first start are used again'
    expect(machine.flyball('use', 'one'), 'flyball-one')
    expect(machine.kubectl('config', 'get-contexts'), 'kube-system')
    machine.kubectl('get', 'cm', 'of-one', '-n', 'default')


def refusals_say_what_to_do(machine):
    expect(machine.flyball('up', 'one', '-d', status=1), 'runs already', 'flyball stop one')
    expect(machine.flyball('up', 'one', '--data-dir', 'x', status=1), 'leave out --data-dir or the name')
    expect(machine.flyball('up', 'No_Name', status=1), 'lower-case letters')
    expect(machine.flyball('up', '-d', status=1), 'flyball up NAME -d')
    expect(machine.flyball('status', 'none', status=1), 'there are: one, two')
    expect(machine.flyball('status', status=1), "'flyball list'")
    expect(machine.flyball('cluster', 'delete', status=1), 'which cluster?')


def under_the_name_kubectl_it_is_kubectl(machine):
    expect(machine.kubectl('up', status=1), 'error: unknown command "up" for "kubectl"')
    expect(machine.kubectl('gte', status=1), 'Did you mean this?\n\tget\n')
    expect(machine.kubectl('get', '--nothing', status=1), "error: unknown flag: --nothing\nSee 'kubectl get --help' for usage.\n")
    expect(machine.kubectl('get', 'ns', '-o', status=1), "flag needs an argument: 'o' in -o")
    expect(machine.kubectl('rollout', 'x', status=1), "See 'kubectl rollout -h' for help and examples")
    expect(machine.kubectl('create', 'ns', status=1), 'exactly one NAME is required, got 0')
    expect(machine.kubectl('top', 'node'), 'CPU(cores)')
    expect(machine.kubectl('__complete', 'get', 'namespaces', 'kube-p'), 'kube-public\n:4\n')
    plugin = os.path.join(machine.home, 'kubectl-say-hello')
    with open(plugin, 'w') as f:
        f.write('#!/bin/sh\necho hello "$@"\n')
    os.chmod(plugin, 0o755)
    machine.environment['PATH'] = machine.home + ':' + machine.environment['PATH']
    assert machine.kubectl('say', 'hello', 'you', '-x') == 'hello you -x\n'


def a_dry_run_changes_nothing(machine):
    manifest = os.path.join(machine.home, 'dry.yaml')

    def write(*names):
        with open(manifest, 'w') as f:
            f.write('\n---\n'.join('{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {set: dry}}}' % n for n in names))
    write('first', 'second')
    machine.kubectl('apply', '-f', manifest)
    write('first')
    for way, note in (('client', '(dry run)'), ('server', '(server dry run)')):
        said = machine.kubectl('apply', '-f', manifest, '--prune', '-l', 'set=dry', '--prune-allowlist=core/v1/ConfigMap', '--dry-run=' + way)
        expect(said, 'configmap/second pruned ' + note)
        expect(machine.kubectl('replace', '-f', manifest, '--force', '--dry-run=' + way, status=1),
               '--dry-run can not be used when --force is set')
    assert machine.kubectl('get', 'cm', '-l', 'set=dry', '-o', 'name').split() == ['configmap/first', 'configmap/second']
    machine.kubectl('create', 'deploy', 'dry', '--image=one')
    machine.kubectl('rollout', 'status', 'deploy/dry')
    machine.kubectl('set', 'image', 'deploy/dry', 'one=two')
    machine.kubectl('rollout', 'status', 'deploy/dry')
    expect(machine.kubectl('rollout', 'undo', 'deploy/dry', '--dry-run=server'), 'rolled back (server dry run)')
    assert machine.kubectl('get', 'deploy', 'dry', '-o', 'jsonpath={.spec.template.spec.containers[0].image}') == 'two'


def versions_say_the_commit_and_the_build(machine):
    expect(machine.kubectl('version'), 'Client Version: v1.', 'Kustomize Version: v5.', 'Server Version: v1.')
    expect(machine.flyball('version'), 'Flyball Version: v', 'Commit: ', 'Build: ', 'Server Version: v1.')
    assert 'Flyball' not in machine.kubectl('version', '--client')
    said = json.loads(machine.flyball('version', '-o', 'json'))
    assert said['flyball']['commit'] == said['serverVersion']['gitCommit'], said


def apply_sets_prune_what_they_no_longer_have(machine):
    manifest = os.path.join(machine.home, 'set.yaml')
    machine.environment['KUBECTL_APPLYSET'] = 'true'

    def apply(*names, **options):
        with open(manifest, 'w') as f:
            f.write('\n---\n'.join('{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}' % name for name in names))
        return machine.kubectl('apply', '-f', manifest, '--prune', '--applyset=configmaps/parent', '-n', 'default', **options)
    apply('member-one', 'member-two')
    machine.kubectl('create', 'cm', 'stranger', '-n', 'default')
    expect(apply('member-one'), 'configmap/member-one unchanged', 'configmap/member-two pruned')
    assert machine.kubectl('get', 'cm', '-l', 'applyset.kubernetes.io/part-of', '-o', 'name', '-n', 'default').split() == ['configmap/member-one']
    machine.kubectl('get', 'cm', 'stranger', '-n', 'default')
    parent = json.loads(machine.kubectl('get', 'cm', 'parent', '-n', 'default', '-o', 'json'))['metadata']
    assert parent['annotations']['applyset.kubernetes.io/contains-group-kinds'] == 'ConfigMap', parent
    assert parent['annotations']['applyset.kubernetes.io/tooling'].startswith('kubectl/v1.'), parent
    expect(machine.kubectl('apply', '-f', manifest, '--prune', '--applyset=x', status=1), 'namespace is required to use namespace-scoped ApplySet')
    expect(machine.kubectl('apply', '-f', manifest, '--applyset=x', status=1), '--applyset requires --prune')
    machine.kubectl('label', 'cm', 'parent', 'applyset.kubernetes.io/id-', '-n', 'default')
    expect(apply('member-one', status=1), 'does not have required label applyset.kubernetes.io/id')


def objects_are_printed_as_kyaml(machine):
    machine.kubectl('create', 'cm', 'lines', '--from-literal=text=one\n  two', '--from-literal=on=1', '-n', 'default')
    said = machine.kubectl('get', 'cm', 'lines', '-n', 'default', '-o', 'kyaml')
    assert said.startswith('---\n{\n  apiVersion: "v1",\n  data: {\n    "on": "1",\n    text: "\\\n'), said
    expect(said, 'kind: "ConfigMap",', 'namespace: "default",')


def preferences_are_aliases_and_defaults(machine):
    path = os.path.join(machine.home, '.kube', 'kuberc')
    with open(path, 'w') as f:
        f.write('apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n'
                'aliases: [{name: names, command: get, options: [{name: output, default: name}], appendArgs: [-n, default]}]\n'
                'defaults: [{command: get, options: [{name: show-labels, default: "true"}]}]\n')
    assert 'configmap/lines' in machine.kubectl('names', 'cm').split()
    expect(machine.kubectl('get', 'ns', 'default'), 'kubernetes.io/metadata.name=default')
    assert 'metadata.name' not in machine.kubectl('get', 'ns', 'default', '--show-labels=false')
    machine.environment['KUBERC'] = 'off'
    expect(machine.kubectl('names', 'cm', status=1), 'unknown command "names"')
    del machine.environment['KUBERC']
    os.remove(path)
    machine.kubectl('kuberc', 'set', '--section=aliases', '--name=named', '--command=get', '--option=output=name')
    assert 'namespace/default' in machine.kubectl('named', 'ns').split()
    expect(machine.kubectl('kuberc', 'set', '--section=aliases', '--name=named', '--command=get', status=1), 'use --overwrite to replace')
    machine.kubectl('kuberc', 'set', '--section=credentialplugin', '--policy=DenyAll')
    expect(machine.kubectl('kuberc', 'view'), 'name: named', 'credentialPluginPolicy: DenyAll')
    os.remove(path)


class Ours:
    """Our client under the name kubectl, for the sessions of tests/kubectl/."""

    def __init__(self, machine):
        self.machine = machine

    def run(self, *arguments, stdin=None, check=True, timeout=60, env=None, cwd=None):
        return subprocess.run([self.machine.kubectl_link, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout, cwd=cwd,
                              env={**self.machine.environment, **(env or {})})


def newer_commands_do_what_kubectl_does(machine):
    machine.kubectl('create', 'namespace', 'newer')
    folder = os.path.join(machine.home, 'newer')
    os.mkdir(folder)
    played = session.Session(Ours(machine), 'newer', folder)
    for part in newer.PARTS:
        part(played)
    assert not played.failures, '\n'.join(played.failures)


def a_trace_says_who_did_what_and_why(machine):
    machine.kubectl('create', 'deploy', 'traced', '--image=one', '-n', 'default')
    machine.kubectl('rollout', 'status', 'deploy/traced', '-n', 'default')
    said = machine.flyball('trace', 'deploy/traced', '-n', 'default')
    expect(said, 'Deployment default/traced', 'ReplicaSet default/traced-', 'Pod default/traced-', 'kubectl-create', 'wrote ', 'spec.',
           'Normal ScalingReplicaSet', 'reconciled because Deployment default/traced added, waited ', 'wrote ReplicaSet default/traced-')
    expect(machine.flyball('trace', 'deploy/none', '-n', 'default', status=1), 'NotFound')


def top_shows_one_picture(machine):
    expect(machine.flyball('top', '--once'), 'requests', '99 % within', 'pods', 'Running', 'QUEUE', 'deployment')


def a_file_has_the_flags_of_up(machine):
    folder = os.path.join(machine.home, 'config')
    os.mkdir(folder)
    with open(os.path.join(folder, 'cluster.yaml'), 'w') as f:
        f.write('nodes: 2\nruntime: sim\napply: [app.yaml]\n')
    with open(os.path.join(folder, 'app.yaml'), 'w') as f:
        f.write('{apiVersion: v1, kind: ConfigMap, metadata: {name: from-file, namespace: default}}')
    machine.flyball('up', 'three', '-d', '--config', os.path.join(folder, 'cluster.yaml'))
    machine.kubectl('--context', 'flyball-three', 'get', 'cm', 'from-file', '-n', 'default')
    wait_until('there are two nodes', lambda: len(machine.kubectl('--context', 'flyball-three', 'get', 'nodes', '-o', 'name').split()) == 2)
    machine.flyball('cluster', 'delete', 'three')
    machine.flyball('use', 'two')
    expect(machine.flyball('up', 'four', '--ephemeral', status=1), 'leave out the name or --ephemeral')


def deleting_leaves_what_others_wrote(machine):
    expect(machine.flyball('delete', 'one'), 'deleted')
    expect(machine.flyball('cluster', 'logs', 'two'), 'Flyball is up.')
    expect(machine.flyball('cluster', 'delete', 'two'), 'deleted')
    assert machine.contexts() == ['work']
    expect(machine.kubectl('config', 'view', '--raw'), 'https://work.example', 'token: secret')
    expect(machine.flyball('list'), 'No clusters')


def main():
    machine = Machine(sys.argv[1])
    try:
        for check in (two_clusters_live_side_by_side, a_cluster_keeps_its_data_port_and_namespace, refusals_say_what_to_do,
                      under_the_name_kubectl_it_is_kubectl, a_dry_run_changes_nothing,
                      versions_say_the_commit_and_the_build, apply_sets_prune_what_they_no_longer_have, objects_are_printed_as_kyaml,
                      preferences_are_aliases_and_defaults, newer_commands_do_what_kubectl_does, a_trace_says_who_did_what_and_why, top_shows_one_picture,
                      a_file_has_the_flags_of_up, deleting_leaves_what_others_wrote):
            check(machine)
            print('ok   ' + check.__name__, flush=True)
    finally:
        for name in ('one', 'two', 'three'):
            subprocess.run([machine.binary, 'stop', name], capture_output=True, env=machine.environment)
        shutil.rmtree(machine.home, ignore_errors=True)


main()
