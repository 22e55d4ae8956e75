"""Mixes Flyball with Kubernetes' own components and lets a cluster churn: every log must stay free of errors.

    real_components.py build/flyball BINARIES [--seconds 600] [--side flyball|kubernetes|both]

BINARIES is a folder with kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and etcd of the version that is
spoken. Side `flyball`: kube-controller-manager and kube-scheduler on `flyball apiserver`. Side `kubernetes`: `flyball
controllers` and `flyball scheduler` on kube-apiserver. On both sides the nodes are simulated (`flyball node --runtime sim`).
"""
import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from program import Kubectl, Program, skip, wait_until

NODES = 3
# What is no fault of either side.
EXPECTED = [
    # The object changed between read and write: the loop reads it again, and says so at this level.
    r'the object has been modified; please apply your changes to the latest version',
    # A leader's first look at a lease that nobody has made yet.
    r'leases\.coordination\.k8s\.io "kube-(controller-manager|scheduler)" not found',
    # kube-controller-manager's informers are behind its own writes: it waits for them, and says so at this level.
    r'read version: \d+ is not as new as written version: \d+',
    # A namespace goes with everything in it: what its controllers still try to create is refused, by every API server.
    r'unable to create new content in namespace \S+ because it is being terminated',
    # Flags of a local ephemeral manifest that is not there.
    r'The manifest file is empty, ignoring',
    # The program is told to end while requests are under way.
    r'context canceled',
]
ERROR_LINE = re.compile(r'^(E\d{4} |F\d{4} |panic:|goroutine \d+ \[running\]|.*\bERROR\b)')

WORKLOAD = '''
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "registry/web:1", ports: [{containerPort: 80}], resources: {requests: {cpu: 10m}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "registry/db:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "registry/agent:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {"sim.flyball.dev/exit-after": "1s"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry/job:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "40", configmaps: "50"}}
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Part:
    """One process and its log."""

    def __init__(self, folder, name, command):
        self.name = name
        self.path = os.path.join(folder, name + '.log')
        self.log = open(self.path, 'w')
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def lines(self):
        with open(self.path, errors='replace') as f:
            return f.read().splitlines()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def errors_in(lines):
    return [line for line in lines if ERROR_LINE.match(line) and not any(re.search(known, line) for known in EXPECTED)]


class Side:
    """The processes of one mixture. `watched` are those whose logs must be clean."""

    def __init__(self, flyball, binaries):
        self.flyball, self.binaries = flyball, binaries
        self.folder = tempfile.mkdtemp(prefix='flyball-components-')
        self.parts, self.watched = [], []

    def run(self, name, *command, watched=False):
        part = Part(self.folder, name, command)
        self.parts.append(part)
        if watched:
            self.watched.append(part)
        return part

    def binary(self, name):
        return os.path.join(self.binaries, name)

    def nodes(self, kubeconfig):
        for number in range(1, NODES + 1):
            name = 'n%d' % number
            self.run(name, self.flyball, 'node', '--runtime', 'sim', '--name', name, '--data-dir', os.path.join(self.folder, name),
                     '--kubeconfig', kubeconfig)

    def alive(self):
        for part in self.parts:
            assert part.process.poll() is None, '%s ended:\n%s' % (part.name, '\n'.join(part.lines()[-20:]))

    def close(self, keep):
        for part in reversed(self.parts):
            part.stop()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


class OnFlyball(Side):
    """Kubernetes' controllers and scheduler on Flyball's API server."""

    def start(self):
        data = os.path.join(self.folder, 'data')
        os.makedirs(data)
        self.server = Program(self.flyball, 'apiserver', '--data-dir', data, '--secure-port', '0', data_dir=data)
        kubeconfig = self.server.kubeconfig
        self.run('kube-controller-manager', self.binary('kube-controller-manager'), '--kubeconfig', kubeconfig, '--secure-port',
                 str(free_port()), '--use-service-account-credentials', '--service-account-private-key-file',
                 os.path.join(data, 'pki', 'sa.key'), '--root-ca-file', os.path.join(data, 'pki', 'ca.crt'),
                 '--cluster-signing-cert-file', os.path.join(data, 'pki', 'ca.crt'), '--cluster-signing-key-file',
                 os.path.join(data, 'pki', 'ca.key'), watched=True)
        self.run('kube-scheduler', self.binary('kube-scheduler'), '--kubeconfig', kubeconfig, '--secure-port', str(free_port()),
                 watched=True)
        self.nodes(kubeconfig)
        return kubeconfig

    def close(self, keep):
        super().close(keep)
        self.server.kill()


class OnKubernetes(Side):
    """Flyball's controllers and scheduler on kube-apiserver."""

    def start(self):
        client, peer, secure = free_port(), free_port(), free_port()
        etcd = 'http://127.0.0.1:%d' % client
        self.run('etcd', self.binary('etcd'), '--data-dir', os.path.join(self.folder, 'etcd'), '--listen-client-urls', etcd,
                 '--advertise-client-urls', etcd, '--listen-peer-urls', 'http://127.0.0.1:%d' % peer, '--unsafe-no-fsync')
        certificates = os.path.join(self.folder, 'pki')
        os.makedirs(certificates)
        key, tokens = os.path.join(certificates, 'sa.key'), os.path.join(certificates, 'tokens.csv')
        subprocess.run(['openssl', 'genrsa', '-out', key, '2048'], check=True, capture_output=True)
        with open(tokens, 'w') as f:
            f.write('admin-token,admin,admin,"system:masters"\n')
        self.run('kube-apiserver', self.binary('kube-apiserver'), '--etcd-servers', etcd, '--secure-port', str(secure), '--bind-address',
                 '127.0.0.1', '--cert-dir', certificates, '--service-cluster-ip-range', '10.0.0.0/24', '--authorization-mode',
                 'Node,RBAC', '--token-auth-file', tokens, '--service-account-issuer', 'https://kubernetes.default.svc',
                 '--service-account-key-file', key, '--service-account-signing-key-file', key, '--allow-privileged')
        kubeconfig = os.path.join(self.folder, 'kubeconfig')
        authority = os.path.join(certificates, 'apiserver.crt')  # which kube-apiserver makes, and signs itself
        wait_until('the certificate is there', lambda: os.path.exists(authority), 120)
        with open(kubeconfig, 'w') as f:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'clusters': [{'name': 'c', 'cluster': {'server': 'https://127.0.0.1:%d' % secure,
                                                              'certificate-authority': authority}}],
                       'users': [{'name': 'u', 'user': {'token': 'admin-token'}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)
        kubectl = Kubectl(kubeconfig, (self.binary('kubectl'),))
        wait_until('kube-apiserver is ready', lambda: kubectl.run('get', '--raw', '/readyz', check=False).returncode == 0, 180)
        self.run('controllers', self.flyball, 'controllers', '--kubeconfig', kubeconfig, '--root-ca-file',
                 authority, watched=True)
        self.run('scheduler', self.flyball, 'scheduler', '--kubeconfig', kubeconfig, watched=True)
        self.nodes(kubeconfig)
        return kubeconfig


def ready_pods(kubectl, namespace, selector):
    pods = json.loads(kubectl('get', 'pods', '-n', namespace, '-l', selector, '-o', 'json'))['items']
    return sum(1 for pod in pods if 'deletionTimestamp' not in pod['metadata']
               and any(c['type'] == 'Ready' and c['status'] == 'True' for c in pod['status'].get('conditions', [])))


def one_round(kubectl, namespace, chance):
    """A namespace's life: everything is created, scaled, rolled out, and goes."""
    kubectl('create', 'namespace', namespace)
    wait_until('the default service account', lambda: kubectl.run('get', 'sa', 'default', '-n', namespace, check=False).returncode == 0)
    kubectl('apply', '-n', namespace, '-f', '-', stdin=WORKLOAD)
    wait_until('3 ready pods', lambda: ready_pods(kubectl, namespace, 'app=web') == 3, 120)
    wait_until('the stateful pods', lambda: ready_pods(kubectl, namespace, 'app=db') == 2, 120)
    wait_until('a pod on each node', lambda: ready_pods(kubectl, namespace, 'app=agent') == NODES, 120)
    replicas = chance.randint(1, 6)
    kubectl('scale', '-n', namespace, 'deployment/web', '--replicas', str(replicas))
    kubectl('set', 'image', '-n', namespace, 'deployment/web', 'c=registry/web:2')
    wait_until('the rollout', lambda: kubectl.run('rollout', 'status', '-n', namespace, 'deployment/web', '--timeout=1s',
                                                  check=False).returncode == 0, 180)
    wait_until('the job', lambda: kubectl('get', 'job', 'once', '-n', namespace, '-o', 'jsonpath={.status.succeeded}') == '3', 120)
    wait_until('endpoints', lambda: len(kubectl('get', 'endpointslices', '-n', namespace, '-l', 'kubernetes.io/service-name=web', '-o',
                                                'jsonpath={.items[*].endpoints[*].addresses}').split()) == replicas)
    pod = kubectl('get', 'pods', '-n', namespace, '-l', 'app=db', '-o', 'jsonpath={.items[0].metadata.name}')
    kubectl('delete', 'pod', pod, '-n', namespace, '--wait=false')
    wait_until('the pod is replaced', lambda: ready_pods(kubectl, namespace, 'app=db') == 2, 120)
    kubectl('delete', 'namespace', namespace, '--wait=false')
    wait_until('the namespace is gone', lambda: kubectl.run('get', 'namespace', namespace, check=False).returncode != 0, 180)


def churn(side, seconds):
    """The error lines of the watched logs after so long; each is printed."""
    kubeconfig = side.start()
    kubectl = Kubectl(kubeconfig, (side.binary('kubectl'),))
    wait_until('the nodes are ready', lambda: kubectl('get', 'nodes', '--no-headers').count(' Ready') == NODES, 120)
    chance, rounds, end = random.Random(1), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        rounds += 1
        one_round(kubectl, 'churn-%d' % rounds, chance)
        side.alive()
    found = 0
    for part in side.watched:
        lines = errors_in(part.lines())
        found += len(lines)
        print('%s: %d lines, %d errors' % (part.name, len(part.lines()), len(lines)))
        for line in lines[:40]:
            print('  ' + line[:400])
    print('%s: %d rounds in %d s' % (type(side).__name__, rounds, seconds), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('flyball')
    parser.add_argument('binaries')
    parser.add_argument('--seconds', type=int, default=600)
    parser.add_argument('--side', choices=['flyball', 'kubernetes', 'both'], default='both')
    options = parser.parse_args()
    for name in ('kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'etcd'):
        if not os.path.exists(os.path.join(options.binaries, name)):
            skip('%s has no %s' % (options.binaries, name))
    kinds = {'flyball': [OnFlyball], 'kubernetes': [OnKubernetes], 'both': [OnFlyball, OnKubernetes]}[options.side]
    failed = 0
    for kind in kinds:
        side, found = kind(os.path.abspath(options.flyball), os.path.abspath(options.binaries)), None
        try:
            found = churn(side, options.seconds)
        finally:
            side.close(keep=found != 0)
            if found != 0:
                print('logs: ' + side.folder)
        failed += found
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
