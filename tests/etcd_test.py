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


ADDRESSES = ['10.77.0.1', '10.77.0.2']  # nobody listens there


class Servers:
    def __init__(self, binary, folder, etcd):
        self.programs, self.kubectls = [], []
        for i, name in enumerate(('one', 'two')):
            program = Program(binary, 'apiserver', '--data-dir', os.path.join(folder, name), '--secure-port', '0', '--etcd-servers', etcd.url,
                              '--advertise-address', ADDRESSES[i], data_dir=self.folder(folder, name))
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


def services_differ(one, two, etcd):
    """Addresses and ports are given out once, by two servers at the same time."""
    makers = [subprocess.Popen([*kubectl.command, 'create', 'service', 'nodeport', 'from-%s-%d' % (who, i), '--tcp=80'],
                               stdout=subprocess.DEVNULL)
              for i in range(8) for who, kubectl in (('one', one), ('two', two))]
    assert [maker.wait(60) for maker in makers] == [0] * 16
    services = [item for item in json.loads(one('get', 'services', '-o', 'json'))['items'] if item['metadata']['name'] != 'kubernetes']
    addresses = {item['spec']['clusterIP'] for item in services}
    assert len(addresses) == len({item['spec']['ports'][0]['nodePort'] for item in services}) == 16, services
    held = {item['metadata']['name'] for item in json.loads(two('get', 'ipaddresses', '-o', 'json'))['items']}
    assert addresses < held, (addresses, held)
    assert etcd.get('/registry/ipaddresses/' + services[0]['spec']['clusterIP']).startswith(b'k8s\0')
    assert b'RangeAllocation' in etcd.get('/registry/ranges/servicenodeports')
    taken = two.run('create', 'service', 'clusterip', 'late', '--tcp=80', '--clusterip=' + min(addresses), check=False)
    assert 'provided IP is already allocated' in taken.stderr, taken
    one('delete', 'service', *[item['metadata']['name'] for item in services])
    assert not addresses & {item['metadata']['name'] for item in json.loads(two('get', 'ipaddresses', '-o', 'json'))['items']}


def endpoints(kubectl):
    return kubectl('get', 'endpoints', 'kubernetes', '-o', 'jsonpath={.subsets[*].addresses[*].ip}').split()


def servers_are_endpoints(one, two, etcd):
    assert endpoints(one) == endpoints(two) == ADDRESSES, endpoints(one)
    assert etcd.get('/registry/masterleases/' + ADDRESSES[0]).startswith(b'k8s\0')
    leases = json.loads(one('get', 'leases', '-n', 'kube-system', '-l', 'apiserver.kubernetes.io/identity=kube-apiserver', '-o', 'json'))
    assert [lease['metadata']['labels']['kubernetes.io/hostname'] for lease in leases['items']] == [socket.gethostname()], leases


def stale_values_are_rewritten(binary, folder, etcd, kubectl):
    """A write that changes nothing is stored if the media type is another one by now."""
    kubectl('create', 'configmap', 'media')
    data = os.path.join(folder, 'json')
    os.mkdir(data)
    third = Program(binary, 'apiserver', '--data-dir', data, '--secure-port', '0', '--etcd-servers', etcd.url, '--storage-media-type',
                    'application/json', data_dir=data)
    try:
        same = kubectl('get', 'configmap', 'media', '-o', 'json')
        Kubectl(third.kubeconfig)('create', 'configmap', 'other')
        assert etcd.get('/registry/configmaps/default/other').startswith(b'{')
        kubectl('replace', '-f', '-', stdin=kubectl('get', 'configmap', 'other', '-o', 'json'))
        assert etcd.get('/registry/configmaps/default/other').startswith(b'k8s\0')
        kubectl('replace', '-f', '-', stdin=same)
        assert kubectl('get', 'configmap', 'media', '-o', 'json') == same
    finally:
        third.kill()
        third.remove()


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


EVENT = """{"apiVersion":"v1","kind":"Event","metadata":{"name":"%s"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},
"reason":"Tested","message":"m","type":"Normal"}"""
LEASE = '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}'


def version(kubectl, resource):
    return int(json.loads(kubectl('get', '--raw', '/api/v1/namespaces/default/' + resource))['metadata']['resourceVersion'])


def some_resources_are_elsewhere(binary, folder, etcd):
    """Events and leases in an etcd of their own, with revisions of their own; two servers, and one of the etcds dies."""
    os.mkdir(os.path.join(folder, 'elsewhere'))
    other = Etcd(os.path.join(folder, 'elsewhere'))
    overrides = '/events#%s,coordination.k8s.io/leases#%s' % (other.url, other.url)
    programs = []
    try:
        for name in ('three', 'four'):
            data = Servers.folder(folder, name)
            programs.append(Program(binary, 'apiserver', '--data-dir', data, '--secure-port', '0', '--etcd-servers', etcd.url,
                                    '--etcd-servers-overrides', overrides, data_dir=data))
        three, four = (Kubectl(program.kubeconfig) for program in programs)
        watch = subprocess.Popen([*four.command, 'get', 'events', '--watch', '-o', 'name'], stdout=subprocess.PIPE, text=True)
        three('create', '-f', '-', stdin=EVENT % 'first')
        three('create', '-f', '-', stdin=LEASE)
        read_until(watch.stdout, 'event/first')
        assert 'event/first' in four('get', 'events', '-o', 'name').split()
        four('patch', 'lease', 'l', '--type=merge', '-p', '{"spec":{"holderIdentity":"you"}}')
        assert three('get', 'lease', 'l', '-o', 'jsonpath={.spec.holderIdentity}') == 'you'
        assert other.get('/registry/events/default/first').startswith(b'k8s\0')
        assert other.get('/registry/leases/default/l') and not etcd.get('/registry/leases/default/l')
        events, maps = version(three, 'events'), version(three, 'configmaps')
        for i in range(5):
            three('create', 'configmap', 'here-%d' % i)
        assert version(four, 'configmaps') >= maps + 5 and version(four, 'events') < events + 5, 'revisions are of each etcd'
        other.stop()
        ready = three.run('get', '--raw', '/readyz?verbose', check=False)
        assert '[-]etcd-override-0 failed' in ready.stdout + ready.stderr and '[+]etcd ok' in ready.stdout + ready.stderr, ready
        three('create', 'configmap', 'all-the-same')
        assert four('get', 'configmap', 'all-the-same', '-o', 'name') == 'configmap/all-the-same'
        other.start()
        wait_until('events work again', lambda: three.run('create', '-f', '-', stdin=EVENT % 'second', check=False).returncode == 0)
        read_until(watch.stdout, 'event/second')
        watch.kill()
        watch.wait()
    finally:
        for program in programs:
            program.kill()
        other.stop()


def data_moves(binary, folder, etcd):
    """From etcd into a data folder and on into another etcd: the same objects, by their checksum."""
    def copy(source, target, status=0):
        result = subprocess.run([binary, 'store', 'copy', '--from', source, '--to', target], capture_output=True, text=True, timeout=120)
        assert result.returncode == status, result
        return dict(line.rsplit(' ', 1) for line in result.stdout.replace(' (source and copy)', '').splitlines()) or result.stderr

    moved = os.path.join(folder, 'moved')
    os.mkdir(moved)
    shutil.copytree(os.path.join(folder, 'one', 'pki'), os.path.join(moved, 'pki'))
    first = copy('etcd:' + etcd.url, 'sqlite:' + moved)
    assert int(first['objects']) > 100, first
    assert 'copy into an empty store' in copy('etcd:' + etcd.url, 'sqlite:' + moved, status=1)
    os.mkdir(os.path.join(folder, 'second'))
    second_etcd = Etcd(os.path.join(folder, 'second'))
    try:
        assert copy('sqlite:' + moved, 'etcd:' + second_etcd.url)['checksum'] == first['checksum']
        assert second_etcd.get('/registry/configmaps/default/c1') == etcd.get('/registry/configmaps/default/c1')
    finally:
        second_etcd.stop()
    server = Program(binary, 'apiserver', '--data-dir', moved, '--secure-port', '0', data_dir=moved)
    try:
        kubectl = Kubectl(server.kubeconfig)
        assert kubectl('get', 'configmap', 'c1', '-o', 'jsonpath={.data.a}') == '2'
        assert kubectl('get', 'toys', 'bear', '-o', 'name') == 'toy.example.com/bear'
    finally:
        server.kill()
        server.log.close()
    saved = subprocess.run([binary, 'snapshot', 'save', os.path.join(folder, 'x.db'), '--data-dir', os.path.join(folder, 'one')],
                           capture_output=True, text=True)
    assert 'etcdctl snapshot save' in saved.stderr, saved


def says_what_is_wrong(binary, folder):
    def refusal(*arguments):
        result = subprocess.run([binary, 'apiserver', '--data-dir', os.path.join(folder, 'wrong'), '--secure-port', '0', *arguments],
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 1, result
        return result.stderr

    assert '--storage-media-type "text/plain" invalid' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--storage-media-type', 'text/plain')
    assert 'etcdctl snapshot save' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--snapshot-interval', '1h')
    assert 'Services, IPAddresses and node ports' in refusal('--etcd-servers', 'http://127.0.0.1:1', '--etcd-servers-overrides',
                                                              '/services#http://127.0.0.1:2')
    assert 'needs an etcd in --etcd-servers' in refusal('--etcd-servers-overrides', '/events#http://127.0.0.1:2')
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
        services_differ(one, two, etcd)
        servers_are_endpoints(one, two, etcd)
        stale_values_are_rewritten(binary, folder, etcd, one)
        survives_etcds_death(one, two, etcd)
        says_what_is_wrong(binary, folder)
        some_resources_are_elsewhere(binary, folder, etcd)
        servers.programs[0].stop()
        wait_until('who ends is no endpoint', lambda: endpoints(two) == ADDRESSES[1:])
        servers.programs[1].stop()
        data_moves(binary, folder, etcd)
    finally:
        for program in servers.programs if servers else []:
            program.kill()
        etcd.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print('two servers on one etcd: OK')


if __name__ == '__main__':
    main(sys.argv[1])
