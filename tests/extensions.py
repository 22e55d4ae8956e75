"""Lets programs of others plug in as local processes, with their webhooks and API servers, and churn.

    extensions.py build/flyball BINARIES [--seconds 600] [--only jobset,metrics-server,cert-manager]

BINARIES is a folder with the programs: `jobset`, `metrics-server`, and `controller`, `webhook` and `cainjector` of cert-manager.
`BINARIES/jobset.yaml` holds jobset's definition and webhook configurations (config/components/crd/bases and
webhook/manifests.yaml of its source), `BINARIES/cert-manager` cert-manager's definitions (deploy/crds). They run beside `flyball
up` with simulated nodes, which finds them through Services of type ExternalName. Every log must stay free of errors.
"""
import argparse
import base64
import json
import os
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'webhooks'))
from hook_server import make_certificate  # noqa: E402
from program import Kubectl, Program, wait_until  # noqa: E402
from real_components import ERROR_LINE, EXPECTED, Part, free_port  # noqa: E402

# Beside what is expected of Kubernetes' own components.
EXPECTED_HERE = [
    # Caches of these programs are behind their own writes, and what they manage is deleted under their hands.
    r'StorageError: invalid object', r'Precondition failed', r'"[^"]*" not found', r'already exists',
    # A node is asked for its metrics before its first sample.
    r'"Failed to scrape node"',
]


class World:
    """A cluster, the programs that plug in, and a folder for all of it."""

    def __init__(self, flyball, binaries):
        self.binaries = binaries
        self.folder = tempfile.mkdtemp(prefix='flyball-extensions-')
        data = os.path.join(self.folder, 'data')
        os.makedirs(data)
        self.cluster = Program(flyball, 'up', '--runtime', 'sim', '--nodes', '2', '--port', '0', '--data-dir', data, data_dir=data)
        self.kubectl = Kubectl(self.cluster.kubeconfig)
        self.parts = []

    def has(self, *names):
        return all(os.path.exists(os.path.join(self.binaries, name)) for name in names)

    def run(self, name, *arguments):
        self.parts.append(Part(self.folder, name, [os.path.join(self.binaries, name), *arguments]))

    def apply(self, *objects):
        self.kubectl('apply', '--server-side', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}))

    def refused(self, *objects):
        """What is said about objects that must not be accepted."""
        done = self.kubectl.run('create', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}), check=False)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def service(self, namespace, name):
        """Leads to this machine."""
        self.apply({'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': namespace}})
        self.apply({'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name, 'namespace': namespace},
                    'spec': {'type': 'ExternalName', 'externalName': 'localhost'}})

    def certificate(self, namespace, name):
        """A folder with ca.crt, tls.crt and tls.key for the Service."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        make_certificate(folder, 'DNS:%s.%s.svc' % (name, namespace))
        for kind in ('crt', 'key'):
            shutil.copy(os.path.join(folder, 'hook.' + kind), os.path.join(folder, 'tls.' + kind))
        with open(os.path.join(folder, 'ca.crt'), 'rb') as f:
            return folder, base64.b64encode(f.read()).decode()

    def read(self, name):
        """The objects of a YAML file."""
        text = self.kubectl('create', '--dry-run=client', '--validate=false', '-o', 'json', '-f', os.path.join(self.binaries, name))
        decoder, at, objects = json.JSONDecoder(), 0, []
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            at += len(text[at:]) - len(text[at:].lstrip())
            objects += value['items'] if value['kind'] == 'List' else [value]
        return objects

    def errors(self):
        known = EXPECTED + EXPECTED_HERE
        found = [(self.cluster.output().splitlines(), 'flyball')] + [(part.lines(), part.name) for part in self.parts]
        wrong = ['%s: %s' % (name, line) for lines, name in found for line in lines
                 if (ERROR_LINE.match(line) or '"level":"error"' in line) and not any(re.search(pattern, line) for pattern in known)]
        return wrong + ['%s has ended' % part.name for part in self.parts if part.process.poll() is not None]

    def close(self, keep):
        for part in self.parts:
            part.stop()
        self.cluster.stop()
        if keep:
            print('logs: ' + self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class JobSets:
    """jobset: a mutating and a validating webhook for JobSets, Jobs and pods."""

    name, needs = 'jobset', ('jobset', 'jobset.yaml')
    namespace, service = 'jobset-system', 'jobset-webhook-service'

    def start(self, world):
        port = free_port()
        world.service(self.namespace, self.service)
        folder, ca = world.certificate(self.namespace, self.service)
        for thing in world.read('jobset.yaml'):
            for webhook in thing.get('webhooks', []):
                webhook['clientConfig']['caBundle'] = ca
                webhook['clientConfig']['service'].update(namespace=self.namespace, name=self.service, port=port)
            world.apply(thing)
        config = os.path.join(folder, 'config.yaml')
        with open(config, 'w') as f:
            json.dump({'apiVersion': 'config.jobset.x-k8s.io/v1alpha1', 'kind': 'Configuration', 'internalCertManagement': {'enable': False},
                       'webhook': {'port': port, 'host': '127.0.0.1', 'certDir': folder}, 'metrics': {'bindAddress': '0'},
                       'health': {'healthProbeBindAddress': '127.0.0.1:%d' % free_port()}, 'leaderElection': {'leaderElect': False}}, f)
        world.run('jobset', '--config', config, '--kubeconfig', world.cluster.kubeconfig)
        wait_until('jobset answers', lambda: world.apply(self.job_set('default', 'first')) or True)

    @staticmethod
    def job_set(namespace, name, **more):
        pod = {'metadata': {'annotations': {'sim.flyball.dev/exit-after': '1s'}},
               'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'c', 'image': 'registry/work:1'}]}}
        job = {'parallelism': 2, 'completions': 2, 'backoffLimit': 0, 'template': pod}
        return {'apiVersion': 'jobset.x-k8s.io/v1alpha2', 'kind': 'JobSet', 'metadata': {'name': name, 'namespace': namespace},
                'spec': {'replicatedJobs': [{'name': part, 'replicas': 2, 'template': {'spec': job}} for part in ('workers', 'driver')], **more}}

    def churn(self, world, namespace):
        world.apply(self.job_set(namespace, 'work'))
        made = json.loads(world.kubectl('get', 'jobset', 'work', '-n', namespace, '-o', 'json'))
        assert made['spec']['successPolicy'] == {'operator': 'All'}, made['spec']  # the mutating webhook's default
        said = world.refused(self.job_set(namespace, 'bad', successPolicy={'operator': 'All', 'targetReplicatedJobs': ['nobody']}))
        assert "invalid replicatedJob name 'nobody'" in said, said
        wait_until('the jobs are done', lambda: world.kubectl('get', 'jobset', 'work', '-n', namespace, '-o',
                                                              'jsonpath={.status.terminalState}') == 'Completed', 120)


class CertManager:
    """cert-manager: a validating and a mutating webhook whose authority its own injector writes into their configurations."""

    name, needs = 'cert-manager', ('controller', 'webhook', 'cainjector', 'cert-manager')
    namespace, service, secret = 'cert-manager', 'cert-manager-webhook', 'cert-manager-webhook-ca'

    def start(self, world):
        port = free_port()
        world.service(self.namespace, self.service)
        for definition in world.read('cert-manager'):
            world.apply(definition)
        world.apply(self.configuration('Mutating', port, '/mutate', ['cert-manager.io'], ['CREATE'], 'certificaterequests'),
                    self.configuration('Validating', port, '/validate', ['cert-manager.io', 'acme.cert-manager.io'], ['CREATE', 'UPDATE'], '*/*'))
        common = ['--kubeconfig', world.cluster.kubeconfig]
        os.environ['KUBECONFIG'] = world.cluster.kubeconfig  # cainjector does not look at its flag
        names = [self.service, '%s.%s' % (self.service, self.namespace), '%s.%s.svc' % (self.service, self.namespace)]
        world.run('webhook', *common, '--secure-port=%d' % port, '--healthz-port=%d' % free_port(), '--metrics-listen-address=0',
                  '--dynamic-serving-ca-secret-namespace=' + self.namespace, '--dynamic-serving-ca-secret-name=' + self.secret,
                  *['--dynamic-serving-dns-names=' + name for name in names])
        world.run('cainjector', *common, '--leader-elect=false', '--metrics-listen-address=0')
        world.run('controller', *common, '--cluster-resource-namespace=' + self.namespace, '--leader-elect=false',
                  '--metrics-listen-address=127.0.0.1:%d' % free_port(), '--internal-healthz-listen-address=127.0.0.1:%d' % free_port())
        wait_until('cert-manager answers', lambda: self.answers(world), 120)

    def configuration(self, kind, port, path, groups, operations, resources):
        """As cert-manager's chart has it, with another port."""
        return {'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': kind + 'WebhookConfiguration',
                'metadata': {'name': self.service, 'annotations': {'cert-manager.io/inject-ca-from-secret': '%s/%s' % (self.namespace, self.secret)}},
                'webhooks': [{'name': 'webhook.cert-manager.io', 'admissionReviewVersions': ['v1'], 'sideEffects': 'None', 'failurePolicy': 'Fail',
                              'clientConfig': {'service': {'namespace': self.namespace, 'name': self.service, 'port': port, 'path': path}},
                              'rules': [{'apiGroups': groups, 'apiVersions': ['v1'], 'operations': operations, 'resources': [resources]}]}]}

    def answers(self, world):
        issuer = json.dumps(self.thing('Issuer', 'first', 'default', selfSigned={}))
        return world.kubectl.run('apply', '--server-side', '-f', '-', stdin=issuer, check=False).returncode == 0

    @staticmethod
    def thing(kind, name, namespace, **spec):
        return {'apiVersion': 'cert-manager.io/v1', 'kind': kind, 'metadata': {'name': name, 'namespace': namespace}, 'spec': spec}

    def churn(self, world, namespace):
        """An authority signs itself, an issuer signs with it, and a certificate whose Secret is deleted is issued again."""
        world.apply(self.thing('Issuer', 'itself', namespace, selfSigned={}),
                    self.thing('Certificate', 'root', namespace, isCA=True, commonName='root', secretName='root', issuerRef={'name': 'itself'}),
                    self.thing('Issuer', 'root', namespace, ca={'secretName': 'root'}),
                    self.thing('Certificate', 'web', namespace, dnsNames=['web.example.com'], secretName='web', issuerRef={'name': 'root'}))
        world.kubectl('wait', 'certificate/web', '-n', namespace, '--for=condition=Ready', '--timeout=120s', timeout=150)
        requester = world.kubectl('get', 'certificaterequests', '-n', namespace, '-o', 'jsonpath={.items[*].spec.username}').split()
        assert set(requester) == {'kubernetes-admin'}, requester  # the mutating webhook writes down who asked
        world.kubectl('delete', 'secret', 'web', '-n', namespace)
        wait_until('the certificate is issued again', lambda: 'tls.crt' in world.kubectl(
            'get', 'secret', 'web', '-n', namespace, '--ignore-not-found', '-o', 'jsonpath={.data}'), 120)
        said = world.refused(self.thing('Certificate', 'bad', namespace, secretName='bad', issuerRef={'name': 'root'}))
        assert 'at least one of commonName' in said and 'webhook.cert-manager.io' in said, said


class MetricsServer:
    """metrics-server: an API server behind this one."""

    name, needs = 'metrics-server', ('metrics-server',)
    namespace, service, api = 'kube-system', 'metrics-server', 'v1beta1.metrics.k8s.io'

    def start(self, world):
        port, kubeconfig = free_port(), world.cluster.kubeconfig
        world.service(self.namespace, self.service)
        folder, ca = world.certificate(self.namespace, self.service)
        world.run('metrics-server', '--kubeconfig', kubeconfig, '--authentication-kubeconfig', kubeconfig, '--authorization-kubeconfig', kubeconfig,
                  '--secure-port=%d' % port, '--tls-cert-file', os.path.join(folder, 'tls.crt'), '--tls-private-key-file', os.path.join(folder, 'tls.key'),
                  '--kubelet-insecure-tls', '--kubelet-use-node-status-port', '--kubelet-preferred-address-types=InternalIP')
        world.apply({'apiVersion': 'apiregistration.k8s.io/v1', 'kind': 'APIService', 'metadata': {'name': self.api},
                     'spec': {'group': 'metrics.k8s.io', 'version': 'v1beta1', 'groupPriorityMinimum': 100, 'versionPriority': 100, 'caBundle': ca,
                              'service': {'namespace': self.namespace, 'name': self.service, 'port': port}}})
        world.kubectl('wait', 'apiservice/' + self.api, '--for=condition=Available', '--timeout=120s', timeout=150)

    def churn(self, world, namespace):
        listed = world.kubectl('api-resources', '--api-group=metrics.k8s.io', '-o', 'name').split()
        assert listed == ['nodes.metrics.k8s.io', 'pods.metrics.k8s.io'], listed
        for path in ('nodes', 'namespaces/%s/pods' % namespace):
            answer = json.loads(world.kubectl('get', '--raw', '/apis/metrics.k8s.io/v1beta1/' + path))
            assert answer['kind'].endswith('MetricsList'), answer


def one_round(world, extensions, number):
    namespace = 'round-%d' % number
    world.kubectl('create', 'namespace', namespace)
    for extension in extensions:
        extension.churn(world, namespace)
    world.kubectl('delete', 'namespace', namespace, '--timeout=120s', timeout=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('flyball')
    parser.add_argument('binaries')
    parser.add_argument('--seconds', type=int, default=600)
    parser.add_argument('--only', default='jobset,metrics-server,cert-manager')
    options = parser.parse_args()
    world, rounds, good = World(os.path.abspath(options.flyball), os.path.abspath(options.binaries)), 0, False
    try:
        extensions = [kind() for kind in (JobSets, MetricsServer, CertManager) if kind.name in options.only.split(',')]
        for extension in extensions:
            if not world.has(*extension.needs):
                sys.exit('%s needs in BINARIES: %s' % (extension.name, ', '.join(extension.needs)))
            extension.start(world)
            print('%s is plugged in' % extension.name, flush=True)
        end = time.monotonic() + options.seconds
        while time.monotonic() < end or rounds == 0:
            one_round(world, extensions, rounds)
            rounds += 1
        errors = world.errors()
        print('%d rounds, %d lines of errors' % (rounds, len(errors)))
        print('\n'.join(errors[:40]))
        good = not errors
    finally:
        world.close(keep=not good)
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
