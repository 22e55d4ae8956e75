"""The examples against a real running server: what their READMEs promise."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from program import Kubectl, Program, wait_until

EXAMPLES = sys.argv[2]


def example(name, *arguments, program=None, env=None):
    """A running example; its output goes to a file."""
    return Running([os.path.join(EXAMPLES, name, program or name), *arguments], env)


class Running:
    def __init__(self, command, env=None):
        self.file = tempfile.NamedTemporaryFile('w+', prefix='example-', suffix='.log')
        self.process = subprocess.Popen(command, stdout=self.file, stderr=subprocess.STDOUT,
                                        env={**os.environ, **(env or {})})

    def output(self):
        with open(self.file.name) as f:
            return f.read()

    def find(self, pattern):
        assert self.process.poll() is None, 'the example ended:\n' + self.output()
        return re.search(pattern, self.output())

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(40)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.output()[-4000:])
        self.process.kill()
        self.process.wait()
        self.file.close()


def get(url):
    """Status and body."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def network_controller(kubectl, kubeconfig):
    crds = subprocess.run([os.path.join(EXAMPLES, 'network-controller', 'network-controller'), '--print-crds'],
                          capture_output=True, text=True, check=True).stdout
    kubectl('apply', '-f', '-', stdin=crds)
    with tempfile.TemporaryDirectory() as folder:
        arguments = ['--kubeconfig', kubeconfig, '--bind-address', '127.0.0.1:0']
        with example('network-controller', *arguments, env={'NETWORK_DIR': folder}) as controller:
            network = {'apiVersion': 'sample.k8s.io/v1', 'kind': 'Network', 'metadata': {'name': 'lan'},
                       'spec': {'cidr': '10.1.0.0/16', 'gateway': '10.1.0.1'}}
            wait_until('the kind is served', lambda: kubectl.run('get', 'networks', check=False).returncode == 0)
            kubectl('apply', '-f', '-', stdin=json.dumps(network))
            bridge = wait_until('the bridge is reported', lambda: kubectl('get', 'network', 'lan', '-o', 'jsonpath={.status.bridge}'))

            def content():
                with open(os.path.join(folder, bridge)) as f:
                    return f.read()
            assert content() == 'cidr=10.1.0.0/16\ngateway=10.1.0.1\n', content()
            assert bridge in kubectl('get', 'net')
            network['spec']['gateway'] = '10.1.0.254'
            kubectl('apply', '-f', '-', stdin=json.dumps(network))
            wait_until('the bridge follows', lambda: 'gateway=10.1.0.254' in content())
            wait_until('an event tells of it', lambda: 'BridgeReady' in kubectl('get', 'events'))
            health_and_metrics(controller)
            kubectl('delete', 'network', 'lan')
            assert os.listdir(folder) == [], 'the bridge goes before the object'
            assert controller.stop() == 0, controller.output()


def bridges(kubectl, kubeconfig):
    """The same with real bridges, where we may make them."""
    if os.geteuid() != 0 or subprocess.run('ip netns add flyball-example-probe && ip netns delete flyball-example-probe',
                                           shell=True, capture_output=True).returncode != 0:
        print('     no real bridges: needs root and network namespaces')
        return

    def addresses():
        return subprocess.run(['ip', '-n', 'flyball-example', '-br', 'address'], capture_output=True, text=True).stdout

    network = {'apiVersion': 'sample.k8s.io/v1', 'kind': 'Network', 'metadata': {'name': 'real'},
               'spec': {'cidr': '10.2.0.0/16', 'gateway': '10.2.0.1'}}
    try:
        with example('network-controller', '--kubeconfig', kubeconfig) as controller:
            kubectl('apply', '-f', '-', stdin=json.dumps(network))
            wait_until('the bridge has its address', lambda: '10.2.0.1/16' in addresses())
            network['spec']['gateway'] = '10.2.0.254'
            kubectl('apply', '-f', '-', stdin=json.dumps(network))
            wait_until('the address follows', lambda: '10.2.0.254/16' in addresses() and '10.2.0.1/16' not in addresses())
            kubectl('delete', 'network', 'real')
            assert 'br-' not in addresses(), addresses()
            assert controller.stop() == 0
    finally:
        subprocess.run(['ip', 'netns', 'delete', 'flyball-example'])


def health_and_metrics(controller):
    port = wait_until('health is served', lambda: controller.find(r'serving metrics and health port=(\d+)')).group(1)
    base = 'http://127.0.0.1:' + port
    assert get(base + '/healthz') == (200, 'ok')
    status, text = get(base + '/healthz?verbose')
    assert status == 200 and '[+]controller-network ok' in text, text
    status, text = get(base + '/readyz?verbose')
    assert status == 200 and '[+]caches ok' in text, text
    text = get(base + '/metrics')[1]
    for name in ('workqueue_adds_total', 'workqueue_depth', 'workqueue_queue_duration_seconds_bucket', 'workqueue_work_duration_seconds_bucket',
                 'workqueue_retries_total', 'workqueue_unfinished_work_seconds', 'workqueue_longest_running_processor_seconds'):
        assert name + '{name="network"' in text, name + ' in ' + text
    assert 'controller_runtime_reconcile_total{controller="network",result="success"}' in text or 'result="requeue_after"' in text
    assert re.search(r'rest_client_requests_total{code="200",method="GET"} [1-9]', text), text
    assert get(base + '/nothing')[0] == 404


def replica_set(replicas):
    labels = {'app': 'web'}
    return json.dumps({'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'metadata': {'name': 'web'}, 'spec': {
        'replicas': replicas, 'selector': {'matchLabels': labels},
        'template': {'metadata': {'labels': labels}, 'spec': {'containers': [{'name': 'c', 'image': 'host'}]}}}})


def replicaset_from_scratch(kubectl, kubeconfig):
    def pods():
        items = json.loads(kubectl('get', 'pods', '-l', 'app=web', '-o', 'json'))['items']
        return {p['metadata']['name']: p for p in items}

    def has(count):
        status = json.loads(kubectl('get', 'rs', 'web', '-o', 'json')).get('status', {})
        return len(pods()) == count and status.get('replicas', 0) == count

    lines = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'examples', 'replicaset-from-scratch', 'main.cc'))
    with lines:
        assert len(lines.readlines()) < 150
    with example('replicaset-from-scratch', '--kubeconfig', kubeconfig) as controller:
        kubectl('apply', '-f', '-', stdin=replica_set(2))
        wait_until('two pods', lambda: has(2))
        owner = list(pods().values())[0]['metadata']['ownerReferences'][0]
        assert (owner['kind'], owner['name'], owner['controller']) == ('ReplicaSet', 'web', True), owner
        kubectl('scale', 'rs', 'web', '--replicas=3')
        wait_until('three pods', lambda: has(3))
        victim = sorted(pods())[0]
        kubectl('delete', 'pod', victim, '--grace-period=0', '--force')
        wait_until('it is replaced', lambda: victim not in pods() and has(3))
        kubectl('scale', 'rs', 'web', '--replicas=1')
        wait_until('one pod', lambda: has(1))
        assert controller.stop() == 0
    # An orphan made while nobody looked is adopted.
    orphan = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'orphan', 'labels': {'app': 'web'}},
              'spec': {'containers': [{'name': 'c', 'image': 'host'}]}}
    kubectl('apply', '-f', '-', stdin=json.dumps(orphan))
    kubectl('scale', 'rs', 'web', '--replicas=2')
    with example('replicaset-from-scratch', '--kubeconfig', kubeconfig) as controller:
        wait_until('the orphan is adopted', lambda: pods()['orphan']['metadata'].get('ownerReferences') and has(2))
        assert controller.stop() == 0


def registry_sync(kubectl, kubeconfig):
    def start_registry(port='0'):
        server = example('registry-sync', port, program='registry-server')
        return server, wait_until('the registry is there', lambda: server.find(r'http://127.0.0.1:(\d+)')).group(1)

    def record(path):
        status, text = get('http://127.0.0.1:%s/v1/%s' % (port, path))
        return json.loads(text) if status == 200 else None

    def endpoints(*addresses):
        kubectl('apply', '-f', '-', stdin=json.dumps({
            'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': 'web', 'namespace': 'shop'},
            'subsets': [{'addresses': [{'ip': a} for a in addresses], 'ports': [{'port': 8080}]}]}))

    kubectl('create', 'namespace', 'shop')
    server, port = start_registry()
    env = {'REGISTRY_URL': 'http://127.0.0.1:' + port}
    with server:
        with example('registry-sync', '--kubeconfig', kubeconfig, env=env) as sync:
            wait_until('the namespace is registered', lambda: record('namespaces/shop') == {'name': 'shop'})
            kubectl('create', 'service', 'clusterip', 'web', '--tcp=80', '-n', 'shop')
            endpoints('10.0.0.1')
            wait_until('the service is registered with its instance',
                       lambda: (r := record('services/shop/web')) and [i['host'] for i in r['instances']] == ['10.0.0.1'])
            assert record('services/shop/web')['ports'][0]['port'] == 80
            endpoints('10.0.0.1', '10.0.0.2')
            wait_until('the second instance comes', lambda: len(record('services/shop/web')['instances']) == 2)
            # Somebody meddles with the registry: it is put right.
            urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:%s/v1/services/shop/web' % port, method='DELETE'))
            wait_until('it is registered again', lambda: record('services/shop/web'))
            kubectl('delete', 'service', 'web', '-n', 'shop')
            wait_until('the service goes', lambda: record('services/shop/web') is None)
            kubectl('create', 'service', 'clusterip', 'late', '--tcp=81', '-n', 'shop')
            wait_until('another service', lambda: record('services/shop/late'))
            assert sync.stop() == 0
        # Deleted while nobody looked: noticed at the start, from what the registry holds.
        kubectl('delete', 'service', 'late', '-n', 'shop')
        with example('registry-sync', '--kubeconfig', kubeconfig, env=env):
            wait_until('what went meanwhile goes', lambda: record('services/shop/late') is None)


def polling_vs_informer(_, kubeconfig):
    table = subprocess.run([os.path.join(EXAMPLES, 'polling-vs-informer', 'polling-vs-informer'), kubeconfig],
                           capture_output=True, text=True, check=True, timeout=120).stdout
    print(table)
    requests = {}
    for line in table.splitlines()[1:]:
        match = re.match(r'(.+?)  +\d+ +(\d+) +([\d.]+) +(\d+) +([\d.]+)$', line)
        requests[match.group(1)] = int(match.group(2))
        assert int(match.group(4)) > 0, 'changes were noticed: ' + line
    # A list and a watch each; a slow machine may break and resume a watch.
    assert requests['shared informer'] <= 4, requests
    assert 100 <= requests['own informer'] <= 120, requests
    assert requests['polling'] > 3 * requests['own informer'] and requests['own informer'] > 20 * requests['shared informer'], requests


def leader_election(kubectl, kubeconfig):
    flags = ['--kubeconfig', kubeconfig, '--leader-elect-lease-duration', '4s', '--leader-elect-renew-deadline', '3s',
             '--leader-elect-retry-period', '300ms']

    def beats(copy):
        return [int(n) for n in re.findall(r'leads: beat (\d+)', copy.output())]

    with example('leader-election', *flags) as first:
        wait_until('the first leads', lambda: len(beats(first)) > 2)
        with example('leader-election', *flags) as second:
            before = len(beats(first))
            wait_until('the first goes on', lambda: len(beats(first)) > before + 2)
            assert beats(second) == [], 'the second waits'
            killed = time.monotonic()
            first.stop(signal.SIGKILL)
            wait_until('the second takes over', lambda: len(beats(second)) > 2)
            print('     took over after %.1f s' % (time.monotonic() - killed))
            assert min(beats(second)) > max(beats(first)), 'never two at a time'
            with example('leader-election', *flags) as third:
                assert second.stop() == 0, second.output()
                wait_until('the third takes over', lambda: beats(third))
                holder = kubectl('get', 'lease', 'leader-election', '-o', 'jsonpath={.spec.holderIdentity}')
                assert holder == 'copy-%d' % third.process.pid, holder


def main():
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    server = Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0',
                     '--disable-admission-plugins', 'ServiceAccount', data_dir=folder)
    try:
        kubectl = Kubectl(server.kubeconfig)
        for part in (network_controller, bridges, replicaset_from_scratch, registry_sync, polling_vs_informer, leader_election):
            began = time.monotonic()
            part(kubectl, server.kubeconfig)
            print('ok   %s (%.0f s)' % (part.__name__, time.monotonic() - began), flush=True)
        server.stop()
    finally:
        server.kill()
        server.remove()


main()
