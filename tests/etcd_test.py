"""Two API servers on one real etcd: each sees at once what the other has written, in kube-apiserver's layout."""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

from program import Kubectl, Program, skip, wait_until

ETCD = os.environ.get('FLYBALL_ETCD') or shutil.which('etcd')
OLDEST = {(3, 4): (3, 4, 31), (3, 5): (3, 5, 13)}


def usable_etcd():
    if not ETCD:
        skip('there is no etcd (in the path, or $FLYBALL_ETCD)')
    said = subprocess.run([ETCD, '--version'], capture_output=True, text=True).stdout
    if not said.startswith('etcd Version: '):
        skip(ETCD + ' is no etcd')
    version = tuple(int(part) for part in said.split('\n')[0].split(': ')[1].split('.'))
    if version < OLDEST.get(version[:2], (3, 6, 0)):
        skip('etcd %d.%d.%d is too old' % version)
    return ETCD


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Etcd:
    def __init__(self, folder):
        self.folder, self.port, self.peer = folder, free_port(), free_port()
        self.url = 'http://127.0.0.1:%d' % self.port
        self.start()

    def start(self):
        peer = 'http://127.0.0.1:%d' % self.peer
        self.process = subprocess.Popen(
            [usable_etcd(), '--data-dir', os.path.join(self.folder, 'etcd'), '--listen-client-urls', self.url, '--advertise-client-urls',
             self.url, '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', 'default=' + peer,
             '--unsafe-no-fsync', '--log-level', 'error'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def get(self, key):
        """The stored value, by etcd's own gateway."""
        body = json.dumps({'key': base64.b64encode(key.encode()).decode()}).encode()
        answer = json.load(urllib.request.urlopen(self.url + '/v3/kv/range', body, 10))
        return base64.b64decode(answer['kvs'][0].get('value', '')) if answer.get('kvs') else None


class Servers:
    def __init__(self, binary, folder, etcd):
        self.programs, self.kubectls = [], []
        for name in ('one', 'two'):
            program = Program(binary, 'apiserver', '--data-dir', os.path.join(folder, name), '--secure-port', '0', '--etcd-servers', etcd.url,
                              data_dir=self.folder(folder, name))
            self.programs.append(program)
            self.kubectls.append(Kubectl(program.kubeconfig))

    @staticmethod
    def folder(folder, name):
        path = os.path.join(folder, name)
        os.mkdir(path)
        return path


def each_sees_the_other(one, two):
    for i in range(10):
        name = 'c%d' % i
        one('create', 'configmap', name, '--from-literal=a=1')
        assert two('get', 'configmap', name, '-o', 'jsonpath={.data.a}') == '1'
        two('patch', 'configmap', name, '--type=merge', '-p', '{"data":{"a":"2"}}')
        assert one('get', 'configmap', name, '-o', 'jsonpath={.data.a}') == '2'
    one('create', 'namespace', 'fresh')
    two('create', 'configmap', 'in-fresh', '-n', 'fresh')
    two('delete', 'configmap', 'c0')
    assert 'NotFound' in one.run('get', 'configmap', 'c0', check=False).stderr
    pages = json.loads(one('get', '--raw', '/api/v1/namespaces/default/configmaps?limit=4'))
    assert len(pages['items']) == 4, pages
    rest = json.loads(two('get', '--raw', '/api/v1/namespaces/default/configmaps?limit=500&continue=' + pages['metadata']['continue']))
    names = [item['metadata']['name'] for item in pages['items'] + rest['items']]
    assert sorted(names) == sorted(['c%d' % i for i in range(1, 10)] + [n for n in names if not n.startswith('c')]), names
    assert pages['metadata']['resourceVersion'] == rest['metadata']['resourceVersion']


def values_are_kube_apiservers(one, etcd):
    stored = etcd.get('/registry/configmaps/default/c1')
    assert stored and stored.startswith(b'k8s\0'), stored
    assert etcd.get('/registry/namespaces/fresh').startswith(b'k8s\0')
    one('apply', '-f', '-', stdin=CRD)
    one('wait', '--for=condition=Established', 'crd/toys.example.com')
    assert etcd.get('/registry/apiextensions.k8s.io/customresourcedefinitions/toys.example.com').startswith(b'{')
    one('apply', '-f', '-', stdin='{"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"bear"}}')
    assert etcd.get('/registry/example.com/toys/default/bear').startswith(b'{')


CRD = """{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"toys.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"toys","kind":"Toy"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"""


def definitions_reach_the_other(two):
    wait_until('the other server serves toys', lambda: two('get', 'toys', 'bear', '-o', 'name') == 'toy.example.com/bear')


def read_until(stream, wanted):
    for line in stream:
        if line.strip() == wanted:
            return
    raise AssertionError('the watch ended before ' + wanted)


def survives_etcds_death(one, two, etcd):
    one('create', 'configmap', 'before')
    watch = subprocess.Popen([*two.command, 'get', 'configmaps', '--watch', '-o', 'name'], stdout=subprocess.PIPE, text=True)
    read_until(watch.stdout, 'configmap/before')
    etcd.stop()
    down = one.run('get', '--raw', '/readyz?verbose', check=False)
    assert '[-]etcd failed' in down.stdout + down.stderr, down
    assert one.run('create', 'configmap', 'lost', '--request-timeout=8s', check=False).returncode != 0
    etcd.start()
    wait_until('writes work again', lambda: one.run('create', 'configmap', 'after', check=False).returncode == 0)
    read_until(watch.stdout, 'configmap/after')
    watch.send_signal(signal.SIGINT)
    watch.wait()
    assert two('get', 'configmap', 'after', '-o', 'name') == 'configmap/after'
    assert one('get', '--raw', '/readyz') == 'ok'


def says_what_is_wrong(binary, folder):
    def refusal(*arguments):
        result = subprocess.run([binary, 'apiserver', '--data-dir', os.path.join(folder, 'wrong'), '--secure-port', '0', *arguments],
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 1, result
        return result.stderr

    assert '--storage-media-type "text/plain" invalid' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--storage-media-type', 'text/plain')
    assert 'etcdctl snapshot save' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--snapshot-interval', '1h')
    assert '--etcd-servers-overrides' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--etcd-servers-overrides', '/events#http://127.0.0.1:2')
    assert '--lease-reuse-duration-seconds' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--lease-reuse-duration-seconds', '0')


def main(binary):
    usable_etcd()
    folder = tempfile.mkdtemp(prefix='flyball-etcd-')
    etcd = Etcd(folder)
    servers = None
    try:
        servers = Servers(binary, folder, etcd)
        one, two = servers.kubectls
        each_sees_the_other(one, two)
        values_are_kube_apiservers(one, etcd)
        definitions_reach_the_other(two)
        survives_etcds_death(one, two, etcd)
        says_what_is_wrong(binary, folder)
        for program in servers.programs:
            program.stop()
    finally:
        for program in servers.programs if servers else []:
            program.kill()
        etcd.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print('two servers on one etcd: OK')


if __name__ == '__main__':
    main(sys.argv[1])
