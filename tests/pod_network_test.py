"""The network of pods on the native runtime: addresses, host ports, hostNetwork, a machine left as it was found.

Everything happens in network namespaces of this test: one that plays the machine, and one that plays the world outside.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import containers
from certificates_test import BINDING, BOOTSTRAP_CONFIG, TOKEN, utc
from containers import apply, build_image, check_machine, container_status
from program import Kubectl, Program, wait_until

containers.APPLETS = containers.APPLETS + ['head', 'wc', 'httpd', 'nc', 'ip', 'mkdir', 'timeout', 'nslookup']
MACHINE, WORLD = '198.51.100.2', '198.51.100.1'
MACHINE6, WORLD6 = 'fd00:198:51::2', 'fd00:198:51::1'
DUAL_STACK = ['--cluster-cidr', '10.244.0.0/16,fd00:10:244::/56', '--service-cluster-ip-range', '10.96.0.0/16,fd00:10:96::/112']
HAS_IPV6 = os.path.exists('/proc/sys/net/ipv6')
BALANCERS = ['198.51.100.40', '198.51.100.41']
OWN_NAMES = []  # of the clusters of this test: others may come and go meanwhile
INSIDE = 'FLYBALL_POD_NETWORK_INSIDE'


def sh(*command, check=True, timeout=30):
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert not check or result.returncode == 0, '%s: %s%s' % (' '.join(command), result.stdout, result.stderr)
    return result.stdout


class World:
    """What is outside of the machine; its only way there is a link with an address."""

    def __init__(self):
        self.name = 'fbtest-world-%d' % os.getpid()
        sh('ip', 'netns', 'add', self.name)
        sh('ip', 'link', 'set', 'lo', 'up')
        sh('ip', 'link', 'add', 'uplink', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', self.name)
        sh('ip', 'address', 'add', MACHINE + '/24', 'dev', 'uplink')
        sh('ip', 'link', 'set', 'uplink', 'up')
        self.run('ip', 'address', 'add', WORLD + '/24', 'dev', 'eth0')
        self.run('ip', 'link', 'set', 'eth0', 'up')
        self.run('ip', 'link', 'set', 'lo', 'up')
        sh('ip', 'route', 'add', 'default', 'via', WORLD)
        if HAS_IPV6:
            sh('ip', 'address', 'add', MACHINE6 + '/64', 'dev', 'uplink', 'nodad')
            self.run('ip', 'address', 'add', WORLD6 + '/64', 'dev', 'eth0', 'nodad')
            sh('ip', 'route', 'add', 'default', 'via', WORLD6)
        # Whoever is outside would send to pods and to the API server this way, if it were let.
        self.run('ip', 'route', 'add', '10.0.0.0/8', 'via', MACHINE)
        self.folder = tempfile.mkdtemp(prefix='flyball-world-')
        with open(self.folder + '/who', 'w') as f:
            f.write('world')
        self.server = subprocess.Popen(['ip', 'netns', 'exec', self.name, 'busybox', 'httpd', '-f', '-v', '-p', '80', '-h', self.folder],
                                       stderr=subprocess.PIPE, text=True)

    def run(self, *command, check=True):
        return sh('ip', 'netns', 'exec', self.name, *command, check=check)

    def close(self):
        self.server.kill()
        self.server.wait()
        sh('ip', 'netns', 'delete', self.name)
        shutil.rmtree(self.folder)


def network_name(folder):
    """The beginning of all names that a cluster with this data folder makes (network::NetworkName)."""
    number = 2166136261
    for byte in os.path.realpath(folder).encode():
        number = (number ^ byte) * 16777619 % (1 << 32)
    return 'fb' + ''.join('0123456789abcdef'[number >> shift & 15] for shift in range(0, 24, 4))


def state_of_machine():
    """What must be the same before and after: links, filters, namespaces, routes, and whether it is a router."""
    links = sorted(link['ifname'] for link in json.loads(sh('ip', '-j', 'link')))
    with open('/proc/sys/net/ipv4/ip_forward') as f:
        return {'links': links, 'filters': sh('nft', 'list', 'ruleset'), 'routes': sh('ip', 'route'), 'router': f.read(),
                'routes of IPv6': [line for line in sh('ip', '-6', 'route').splitlines() if not line.startswith('fe80::')],
                'router of IPv6': open('/proc/sys/net/ipv6/conf/all/forwarding').read() if HAS_IPV6 else '',
                'cgroups': sorted(path for name in OWN_NAMES for path in glob.glob('/sys/fs/cgroup/%s' % name) + glob.glob('/sys/fs/cgroup/*/%s' % name)),
                'namespaces': sorted(n for n in os.listdir('/run/netns') if n.startswith(tuple(OWN_NAMES)))}


def web(name, text=None, image=containers.IMAGE, ports=None, node=None, **spec):
    """A pod that says its name at port 8080."""
    tool = '' if image != 'host' else 'busybox '
    command = '%smkdir -p /tmp/www-%s; cd /tmp/www-%s; echo %s > who; exec %shttpd -f -p 8080' % (tool, name, name, text or name, tool)
    container = {'name': 'c', 'image': image, 'command': ['sh', '-c', command], 'ports': ports or [{'containerPort': 8080}],
                 'readinessProbe': {'httpGet': {'path': '/who', 'port': 8080}, 'periodSeconds': 1}}
    pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'labels': {'app': 'web'}},
           'spec': {'terminationGracePeriodSeconds': 0, 'containers': [container], **spec}}
    if node:
        pod['spec']['nodeSelector'] = {'kubernetes.io/hostname': node}
    return pod


def status(kubectl, name):
    return json.loads(kubectl('get', 'pod', name, '-o', 'json'))['status']


def ready(kubectl, *names):
    for name in names:
        wait_until(name + ' is ready', lambda: container_status(kubectl, name)['ready'], 120)
    return [status(kubectl, name)['podIP'] for name in names]


def get_command(where):
    # Not wget's own limit: some builds of busybox crash with it.
    return 'timeout', '5', 'busybox', 'wget', '-q', '-O', '-', 'http://%s/who' % where


def get(*where):
    """What a command of the machine's busybox reads there."""
    return sh(*where[:-1], 'busybox', *get_command(where[-1]), check=False).strip()


def get_in(kubectl, pod, where):
    return kubectl.run('exec', pod, '--', *(['busybox'] if pod == 'host' else []), *get_command(where), check=False).stdout.strip()


def check_clean(before):
    after = state_of_machine()
    assert after == before, (after, before)


class Test:
    def __init__(self, binary, nodes=1, flags=()):
        self.binary, self.nodes, self.flags = binary, nodes, flags
        self.folder = tempfile.mkdtemp(prefix='flyball-test-')
        self.start()
        self.kubectl = Kubectl(self.program.kubeconfig)

    def start(self):
        OWN_NAMES.append(network_name(self.folder))
        balancers = ['--load-balancer-range', '%s-%s' % tuple(BALANCERS)] if self.nodes == 1 and not self.flags else []
        self.program = Program(self.binary, 'up', '--data-dir', self.folder, '--port', '0', '--host-image', 'on', '--network', 'on',
                               '--nodes', str(self.nodes), *balancers, *self.flags, data_dir=self.folder)

    def close(self):
        self.program.kill()
        self.program.remove()


def pods_have_addresses_of_their_own(test, world):
    kubectl = test.kubectl
    apply(kubectl, web('a'), web('b'), web('host', image='host'))
    a, b, host = addresses = ready(kubectl, 'a', 'b', 'host')
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]
    prefix = node['spec']['podCIDR'].removesuffix('0/24')
    assert {'type': 'InternalIP', 'address': MACHINE} in node['status']['addresses'], node['status']['addresses']
    assert len(set(addresses)) == 3 and all(ip.startswith(prefix) for ip in addresses), (addresses, prefix)
    assert status(kubectl, 'a')['podIPs'] == [{'ip': a}] and status(kubectl, 'a')['hostIP'] == MACHINE
    # Three servers at one port, and everybody reaches everybody.
    for pod in 'a', 'b', 'host':
        for name, ip in ('a', a), ('b', b), ('host', host):
            assert get_in(kubectl, pod, ip + ':8080') == name, (pod, name)
    assert get(a + ':8080') == 'a', 'the machine reaches pods'
    assert get_in(kubectl, 'a', 'localhost:8080') == 'a'
    assert get_in(kubectl, 'b', WORLD) == 'world', 'pods reach the world outside'
    assert get(a + ':8080') == 'a'
    inside = kubectl('exec', 'a', '--', 'ip', 'address')
    assert a + '/32' in inside and 'LOOPBACK,UP' in inside, inside
    assert a in kubectl('exec', 'a', '--', 'cat', '/etc/hosts')


def clients_reach_pods(test):
    kubectl = test.kubectl
    forward = subprocess.Popen([*kubectl.command, 'port-forward', 'pod/b', ':8080'], stdout=subprocess.PIPE, text=True)
    try:
        port = forward.stdout.readline().split(':')[1].split(' ')[0]
        assert get('127.0.0.1:' + port) == 'b'
    finally:
        forward.kill()
        forward.wait()
    assert kubectl('get', '--raw', '/api/v1/namespaces/default/pods/a:8080/proxy/who') == 'a'


def the_api_server_is_reached_from_pods_only(test, world):
    kubectl = test.kubectl
    slices = json.loads(kubectl('get', 'endpointslices', '-n', 'default', '-o', 'json'))['items']
    kubernetes = next(s for s in slices if s['metadata']['name'] == 'kubernetes')
    address, port = kubernetes['endpoints'][0]['addresses'][0], kubernetes['ports'][0]['port']
    def connect(to):
        return 'nc', '-w', '3', to, str(port), '-e', 'true'
    sh('busybox', *connect(address))
    kubectl('exec', 'a', '--', *connect(address))
    outside = subprocess.run(['ip', 'netns', 'exec', world.name, 'busybox', *connect(address)], capture_output=True, timeout=30)
    assert outside.returncode != 0, 'the world reaches the API server at %s:%d' % (address, port)
    # What pods call localhost is their own.
    assert kubectl.run('exec', 'a', '--', *connect('127.0.0.1'), check=False).returncode != 0


def pods_of_the_host_network_are_the_machine(test):
    kubectl = test.kubectl
    pod = web('shared', hostNetwork=True)
    pod['spec']['containers'][0]['command'][2] = pod['spec']['containers'][0]['command'][2].replace('8080', '8123')
    pod['spec']['containers'][0]['readinessProbe']['httpGet']['port'] = 8123
    pod['spec']['containers'][0]['ports'] = []
    apply(kubectl, pod)
    assert ready(kubectl, 'shared') == [MACHINE]
    assert get(MACHINE + ':8123') == 'shared' and get('127.0.0.1:8123') == 'shared'
    assert get_in(kubectl, 'a', MACHINE + ':8123') == 'shared', 'pods reach the node'
    kubectl('delete', 'pod', 'shared')


def host_ports_lead_to_pods(test, world):
    kubectl = test.kubectl
    apply(kubectl, web('ported', ports=[{'containerPort': 8080, 'hostPort': 8200}]),
          web('local', ports=[{'containerPort': 8080, 'hostPort': 8201, 'hostIP': '127.0.0.1'}]),
          web('other', ports=[{'containerPort': 8080, 'hostPort': 8201, 'hostIP': MACHINE}]))
    ready(kubectl, 'ported', 'local', 'other')
    in_world = 'ip', 'netns', 'exec', world.name
    assert get(*in_world, MACHINE + ':8200') == 'ported'
    assert get(MACHINE + ':8200') == 'ported' and get('127.0.0.1:8200') == 'ported'
    assert get_in(kubectl, 'a', MACHINE + ':8200') == 'ported'
    assert get_in(kubectl, 'ported', MACHINE + ':8200') == 'ported', 'a pod reaches itself'
    assert get('127.0.0.1:8201') == 'local' and get(MACHINE + ':8201') == 'other'
    apply(kubectl, web('again', ports=[{'containerPort': 8080, 'hostPort': 8200}]))
    wait_until('a second pod with the port is not placed',
               lambda: "didn't have free ports" in json.dumps(status(kubectl, 'again').get('conditions', [])))
    kubectl('delete', 'pod', 'ported', 'local', 'other', 'again')
    wait_until('the ports are closed', lambda: '. 820' not in sh('nft', 'list', 'ruleset'))
    assert get(MACHINE + ':8200') == ''


def a_network_survives_the_program(test):
    kubectl = test.kubectl
    before = ready(kubectl, 'a', 'b')
    started = container_status(kubectl, 'a')['containerID']
    test.program.process.send_signal(signal.SIGKILL)
    test.program.process.wait()
    assert get(before[0] + ':8080') == 'a', 'containers go on without the program'
    test.start()
    assert ready(kubectl, 'a', 'b') == before
    assert container_status(kubectl, 'a')['containerID'] == started
    assert get_in(kubectl, 'a', before[1] + ':8080') == 'b'
    apply(kubectl, web('late'))
    late, = ready(kubectl, 'late')
    assert late not in before and get_in(kubectl, 'a', late + ':8080') == 'late'


def ended_pods_have_no_network(test):
    kubectl = test.kubectl
    apply(kubectl, containers.pod('short', 'ip address'))
    containers.ended(kubectl, 'short')
    uid = json.loads(kubectl('get', 'pod', 'short', '-o', 'json'))['metadata']['uid']
    wait_until('its namespace is gone', lambda: not any(uid in name for name in os.listdir('/run/netns')))
    assert status(kubectl, 'short')['podIP'].startswith('10.')
    kubectl('delete', 'pod', 'short')


def services_lead_to_pods(test, world):
    kubectl = test.kubectl
    kubectl('expose', 'pod', 'a', '--name=web', '--port=80', '--target-port=8080', '--type=NodePort', '--selector=app=web')
    service = json.loads(kubectl('get', 'service', 'web', '-o', 'json'))['spec']
    ip, port = service['clusterIP'], service['ports'][0]['nodePort']
    in_world = 'ip', 'netns', 'exec', world.name
    wait_until('the service answers', lambda: get_in(kubectl, 'b', ip))
    assert {get_in(kubectl, 'b', ip) for _ in range(30)} == {'a', 'b', 'host'}, 'a pod, also itself'
    assert {get(ip) for _ in range(30)} == {'a', 'b', 'host'}, 'the machine'
    assert {get(*in_world, '%s:%d' % (MACHINE, port)) for _ in range(30)} == {'a', 'b', 'host'}, 'the world'
    assert get('%s:%d' % (MACHINE, port)) in ('a', 'b', 'host')
    kubectl('label', 'pod', 'a', 'app=other', '--overwrite')
    wait_until('a is out of it', lambda: {get(ip) for _ in range(15)} == {'b', 'host'})
    kubectl('label', 'pod', 'a', 'app=web', '--overwrite')
    kubectl('delete', 'service', 'web')
    wait_until('the service is gone', lambda: ip not in sh('nft', 'list', 'ruleset'))


def balancers_of(kubectl, *names):
    found = [json.loads(kubectl('get', 'service', name, '-o', 'json'))['status']['loadBalancer'].get('ingress', []) for name in names]
    return [ingress[0]['ip'] if ingress else None for ingress in found]


def load_balancers_have_addresses(test, world):
    kubectl = test.kubectl
    for name in 'first', 'second', 'third':
        kubectl('expose', 'pod', 'a', '--name=' + name, '--port=80', '--target-port=8080', '--type=LoadBalancer')
        wait_until('%s has been looked at' % name, lambda: name in kubectl('get', 'events', '-o', 'jsonpath={.items[*].involvedObject.name}').split())
    assert balancers_of(kubectl, 'first', 'second', 'third') == BALANCERS + [None]
    assert 'belongs to the Service default/' in kubectl('get', 'events', '--field-selector', 'reason=SyncLoadBalancerFailed')
    for address in BALANCERS:  # on the link: the world has no route to it
        wait_until('%s answers' % address, lambda: get('ip', 'netns', 'exec', world.name, '%s' % address) in ('a', 'b', 'host'))
    kubectl('delete', 'service', 'first')
    wait_until('the next one has the address', lambda: balancers_of(kubectl, 'third') == BALANCERS[:1])
    kubectl('delete', 'service', 'second', 'third')
    wait_until('the machine has none of them', lambda: not any(a in sh('ip', 'address') for a in BALANCERS))


def names_lead_to_services(test):
    kubectl = test.kubectl
    kubectl('expose', 'pod', 'a', '--name=named', '--port=80', '--target-port=8080')

    def address(service, namespace='default'):  # another cluster of this machine may have the usual range
        return kubectl('get', 'service', service, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}')

    ip = address('named')
    assert 'nameserver %s\n' % address('kube-dns', 'kube-system') in kubectl('exec', 'a', '--', 'cat', '/etc/resolv.conf') + '\n'

    def answer(name):
        return kubectl.run('exec', 'b', '--', 'nslookup', name, check=False).stdout

    wait_until('the name has an address', lambda: 'Address: ' + ip in answer('named.default.svc.cluster.local'))
    assert ip in answer('named'), 'by the search list'
    assert 'kubernetes.default.svc.cluster.local' in answer(address('kubernetes'))
    assert 'NXDOMAIN' in answer('nobody.default.svc.cluster.local')
    kubectl('delete', 'service', 'named')


DENY = {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'metadata': {'name': 'deny'},
        'spec': {'podSelector': {'matchLabels': {'app': 'web'}}, 'policyTypes': ['Ingress']}}


def policies_keep_pods_apart(test):
    kubectl = test.kubectl
    b = status(kubectl, 'b')['podIP']
    apply(kubectl, DENY)
    wait_until('b is closed', lambda: get_in(kubectl, 'a', b + ':8080') == '')
    assert get(b + ':8080') == 'b', 'its node may'
    apply(kubectl, web('closed'))
    closed, = ready(kubectl, 'closed')
    assert get_in(kubectl, 'a', closed + ':8080') == '', 'a pod that comes later'
    kubectl('delete', 'networkpolicy', 'deny')
    wait_until('b is open', lambda: get_in(kubectl, 'a', b + ':8080') == 'b')
    kubectl('delete', 'pod', 'closed')


def end_cgroups(paths):
    """What a killed cluster still ran, also what it was about to start: nobody else can end that once its folder is gone."""
    folders = [folder for path in set(paths) for folder, _, _ in os.walk(path, topdown=False)]

    def gone():
        for folder in folders:
            try:
                with open(folder + '/cgroup.procs') as f:
                    for process in f.read().split():
                        os.kill(int(process), signal.SIGKILL)
                os.rmdir(folder)
            except OSError:
                pass
        return not any(os.path.exists(folder) for folder in folders)

    wait_until('the cgroups are gone', gone)


def one_node(binary, busybox, world):
    before = state_of_machine()
    test = Test(binary)
    try:
        build_image(binary, test.folder, busybox)
        pods_have_addresses_of_their_own(test, world)
        clients_reach_pods(test)
        the_api_server_is_reached_from_pods_only(test, world)
        pods_of_the_host_network_are_the_machine(test)
        host_ports_lead_to_pods(test, world)
        ended_pods_have_no_network(test)
        services_lead_to_pods(test, world)
        load_balancers_have_addresses(test, world)
        names_lead_to_services(test)
        policies_keep_pods_apart(test)
        a_network_survives_the_program(test)
        test.program.stop()
        check_clean(before)
        # Killed, and its data folder removed: the next cluster cleans up.
        test.start()
        ready(test.kubectl, 'host')
        test.program.process.kill()
        test.program.process.wait()
        containers.clean(test.folder)
        end_cgroups(state_of_machine()['cgroups'])
        shutil.rmtree(test.folder)
        test.folder = tempfile.mkdtemp(prefix='flyball-test-')
        test.start()
        test.program.stop()
        check_clean(before)
    except BaseException:
        print(test.program.output()[-6000:])
        raise
    finally:
        containers.clean(test.folder)
        test.close()


def three_nodes(binary, busybox, world):
    before = state_of_machine()
    test = Test(binary, nodes=3)
    kubectl = test.kubectl
    try:
        build_image(binary, test.folder, busybox)
        wait_until('three nodes are ready', lambda: kubectl('get', 'nodes').split().count('Ready') == 3)
        nodes = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items']
        names = [n['metadata']['name'] for n in nodes]
        internal = [a['address'] for n in nodes for a in n['status']['addresses'] if a['type'] == 'InternalIP']
        assert len(set(internal)) == 3 and len({n['spec']['podCIDR'] for n in nodes}) == 3, nodes
        pods = ['a', 'b', 'c']
        apply(kubectl, *(web(p, node=n) for p, n in zip(pods, names)), web('shared', node=names[2], hostNetwork=True))
        ips = ready(kubectl, *pods)
        assert ready(kubectl, 'shared') == [internal[2]]
        for pod in pods:
            for name, ip in zip(pods, ips):
                assert get_in(kubectl, pod, ip + ':8080') == name, (pod, name)
            assert get_in(kubectl, pod, WORLD) == 'world'
            assert get_in(kubectl, pod, internal[2] + ':8080') == 'shared'
        assert [get(ip + ':8080') for ip in ips] == pods
        # A node port of a node that has no endpoint, asked for by another node.
        kubectl('expose', 'pod', 'a', '--name=far', '--port=80', '--target-port=8080', '--type=NodePort', '--selector=far=x')
        kubectl('label', 'pod', 'a', 'far=x')
        port = kubectl('get', 'service', 'far', '-o', 'jsonpath={.spec.ports[0].nodePort}')
        for place in internal:
            wait_until('the node port at %s answers' % place, lambda: get_in(kubectl, 'shared', '%s:%s' % (place, port)) == 'a', 20)
        kubectl('patch', 'service', 'far', '-p', '{"spec":{"type":"LoadBalancer"}}')
        wait_until('a load balancer has the address of the first node', lambda: balancers_of(kubectl, 'far') == internal[:1])
        wait_until('it answers', lambda: get(internal[0]) == 'a')
        # One node cut off: the others go on.
        link = next(l['ifname'] for l in json.loads(sh('ip', '-j', 'link')) if l['ifname'].startswith('fb') and l['ifname'].endswith('n2'))
        sh('ip', 'link', 'set', link, 'down')
        assert get_in(kubectl, 'a', ips[2] + ':8080') == 'c'
        assert get(ips[1] + ':8080') == ''
        wait_until('the pod that is cut off is not ready', lambda: not container_status(kubectl, 'b')['ready'], 60)
        sh('ip', 'link', 'set', link, 'up')
        ready(kubectl, 'b')
        assert get_in(kubectl, 'a', ips[1] + ':8080') == 'b'
        test.program.stop()
        check_clean(before)
    except BaseException:
        print(test.program.output()[-6000:])
        raise
    finally:
        containers.clean(test.folder)
        test.close()


def both_of(status_list):
    """The addresses of a list such as status.podIPs: one of each family, IPv4 first."""
    v4, v6 = [item['ip'] for item in status_list]
    assert ':' not in v4 and ':' in v6, status_list
    return v4, v6


def pods_have_an_address_of_each_family(test, world):
    kubectl = test.kubectl
    probe = web('a', hostNetwork=False)
    probe['spec']['containers'][0]['env'] = [{'name': 'IPS', 'valueFrom': {'fieldRef': {'fieldPath': 'status.podIPs'}}},
                                             {'name': 'HOSTS', 'valueFrom': {'fieldRef': {'fieldPath': 'status.hostIPs'}}}]
    apply(kubectl, probe, web('b', ports=[{'containerPort': 8080, 'hostPort': 8200}]))
    ready(kubectl, 'a', 'b')
    ips = {name: both_of(status(kubectl, name)['podIPs']) for name in 'ab'}
    hosts = both_of(status(kubectl, 'a')['hostIPs'])
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]
    assert [a['address'] for a in node['status']['addresses'] if a['type'] == 'InternalIP'] == list(hosts) == [MACHINE, MACHINE6], node['status']
    assert len(node['spec']['podCIDRs']) == 2, node['spec']
    assert kubectl('exec', 'a', '--', 'sh', '-c', 'echo $IPS $HOSTS') == '%s,%s %s,%s' % (*ips['a'], *hosts)
    for pod in 'a', 'b':
        for name, (v4, v6) in ips.items():
            assert get_in(kubectl, pod, v4 + ':8080') == get_in(kubectl, pod, '[%s]:8080' % v6) == name, (pod, name)
    assert get('[%s]:8080' % ips['a'][1]) == 'a', 'the machine reaches pods'
    assert get_in(kubectl, 'a', '[%s]' % WORLD6) == 'world', 'pods reach the world outside'
    assert ips['a'][1] in kubectl('exec', 'a', '--', 'cat', '/etc/hosts')
    in_world = 'ip', 'netns', 'exec', world.name
    assert get(*in_world, '[%s]:8200' % MACHINE6) == get(*in_world, MACHINE + ':8200') == 'b', 'host ports'


def services_have_an_address_of_each_family(test, world):
    kubectl = test.kubectl
    kubectl('expose', 'pod', 'a', '--name=web', '--port=80', '--target-port=8080', '--type=NodePort', '--selector=app=web')
    kubectl('patch', 'service', 'web', '-p', '{"spec":{"ipFamilyPolicy":"PreferDualStack"}}')
    spec = json.loads(kubectl('get', 'service', 'web', '-o', 'json'))['spec']
    assert spec['ipFamilies'] == ['IPv4', 'IPv6'] and len(spec['clusterIPs']) == 2, spec
    v6, port = spec['clusterIPs'][1], spec['ports'][0]['nodePort']
    wait_until('the service answers', lambda: get_in(kubectl, 'b', '[%s]' % v6))
    assert {get_in(kubectl, 'b', '[%s]' % v6) for _ in range(20)} == {'a', 'b'}, 'a pod, also itself'
    assert {get('[%s]' % v6) for _ in range(20)} == {'a', 'b'}, 'the machine'
    in_world = 'ip', 'netns', 'exec', world.name
    assert {get(*in_world, '[%s]:%d' % (MACHINE6, port)) for _ in range(20)} == {'a', 'b'}, 'the world'
    wait_until('its name has both addresses', lambda: all(
        ip in kubectl.run('exec', 'b', '--', 'nslookup', 'web.default.svc.cluster.local', check=False).stdout for ip in spec['clusterIPs']))
    apply(kubectl, DENY)
    b = both_of(status(kubectl, 'b')['podIPs'])[1]
    wait_until('b is closed', lambda: get_in(kubectl, 'a', '[%s]:8080' % b) == '')
    kubectl('delete', 'networkpolicy', 'deny')
    wait_until('b is open', lambda: get_in(kubectl, 'a', '[%s]:8080' % b) == 'b')
    kubectl('patch', 'service', 'web', '-p', '{"spec":{"ipFamilyPolicy":"SingleStack"}}')
    wait_until('the second address is gone', lambda: v6 not in sh('nft', 'list', 'ruleset'))


def dual_stack(binary, busybox, world):
    before = state_of_machine()
    test = Test(binary, flags=DUAL_STACK)
    try:
        build_image(binary, test.folder, busybox)
        pods_have_an_address_of_each_family(test, world)
        services_have_an_address_of_each_family(test, world)
        test.program.stop()
        check_clean(before)
    except BaseException:
        print(test.program.output()[-6000:])
        raise
    finally:
        containers.clean(test.folder)
        test.close()
    test = Test(binary, nodes=2, flags=DUAL_STACK)
    try:
        build_image(binary, test.folder, busybox)
        wait_until('two nodes are ready', lambda: test.kubectl('get', 'nodes').split().count('Ready') == 2)
        names = sorted(n['metadata']['name'] for n in json.loads(test.kubectl('get', 'nodes', '-o', 'json'))['items'])
        apply(test.kubectl, *(web(p, node=n) for p, n in zip('ab', names)))
        ready(test.kubectl, 'a', 'b')
        b = both_of(status(test.kubectl, 'b')['podIPs'])[1]
        wait_until('one node reaches pods of the other', lambda: get_in(test.kubectl, 'a', '[%s]:8080' % b) == 'b', 20)
        assert get('[%s]:8080' % b) == 'b' and get_in(test.kubectl, 'a', '[%s]' % WORLD6) == 'world'
        test.program.stop()
        check_clean(before)
    except BaseException:
        print(test.program.output()[-6000:])
        raise
    finally:
        containers.clean(test.folder)
        test.close()


def two_clusters(binary, busybox):
    """Side by side, with what they have by default: each has ranges, filters and cgroups of its own."""
    before = state_of_machine()
    tests = [Test(binary, flags=['--load-balancer-range', address]) for address in ('198.51.100.50-198.51.100.51', '198.51.100.52-198.51.100.53')]
    try:
        addresses = []
        for name, test in zip('ab', tests):
            build_image(binary, test.folder, busybox)
            pod = web(name)
            pod['spec']['containers'][0]['resources'] = {'limits': {'memory': '64Mi', 'cpu': '500m'}}
            apply(test.kubectl, pod)
            addresses += ready(test.kubectl, name)
            test.kubectl('expose', 'pod', name, '--name=web', '--port=80', '--target-port=8080')
        services = [test.kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}') for test in tests]
        assert addresses[0].split('.')[:2] != addresses[1].split('.')[:2] and services[0].split('.')[:2] != services[1].split('.')[:2]
        for name, test, pod, service in zip('ab', tests, addresses, services):
            wait_until('a Service leads to its own pods', lambda: get_in(test.kubectl, name, service) == name)
            assert get(pod + ':8080') == get(service) == name
            wait_until('by its name', lambda: name in test.kubectl.run('exec', name, '--', 'wget', '-q', '-O', '-', 'http://web/who', check=False).stdout)
            groups = glob.glob('/sys/fs/cgroup/%s/kubepods' % network_name(test.folder)) + \
                glob.glob('/sys/fs/cgroup/memory/%s/kubepods' % network_name(test.folder))
            assert groups, 'a cgroup of its own'
        apply(tests[0].kubectl, DENY)
        wait_until('a is closed to pods of its own cluster and others', lambda: get_in(tests[1].kubectl, 'b', addresses[0] + ':8080') == '')
        assert get_in(tests[1].kubectl, 'b', services[1]) == 'b', 'the other cluster has no such policy'
        tests[0].program.stop()
        assert get(services[1]) == 'b' and get_in(tests[1].kubectl, 'b', addresses[1] + ':8080') == 'b', 'one of them goes on'
        assert get_in(tests[1].kubectl, 'b', WORLD) == 'world'
        tests[1].program.stop()
        check_clean(before)
    except BaseException:
        print(*(test.program.output()[-3000:] for test in tests))
        raise
    finally:
        for test in tests:
            containers.clean(test.folder)
            test.close()


class Machine:
    """A machine of its own, that a router joins with others."""

    def __init__(self, name, network):
        self.name, self.address, self.router = 'fbtest-%s-%d' % (name, os.getpid()), network + '.2', network + '.1'
        sh('ip', 'netns', 'add', self.name)
        sh('ip', 'link', 'add', 'to-' + name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', self.name)
        sh('ip', 'address', 'add', self.router + '/24', 'dev', 'to-' + name)
        sh('ip', 'link', 'set', 'to-' + name, 'up')
        for command in (['address', 'add', self.address + '/24', 'dev', 'eth0'], ['link', 'set', 'eth0', 'up'], ['link', 'set', 'lo', 'up'],
                        ['route', 'add', 'default', 'via', self.router]):
            sh('ip', '-n', self.name, *command)
        if HAS_IPV6:
            self.address += ',fd00:192::' + network.split('.')[0]
            sh('ip', '-n', self.name, 'address', 'add', self.address.split(',')[1] + '/128', 'dev', 'eth0', 'nodad')

    def run(self, *command):
        return 'nsenter', '--net=/run/netns/' + self.name, '--', *command

    def close(self):
        sh('ip', 'netns', 'delete', self.name)


class Machines:
    """A cluster of two machines on networks of their own: the router between them runs the rest."""

    def __init__(self, binary, busybox):
        self.binary, self.folder, self.programs = binary, tempfile.mkdtemp(prefix='flyball-test-'), []
        with open('/proc/sys/net/ipv4/ip_forward', 'w') as f:
            f.write('1')
        self.machines = {'one': Machine('one', '192.0.2'), 'two': Machine('two', '203.0.113')}
        self.ca = os.path.join(self.folder, 'pki', 'ca.crt')
        ranges = '10.200.0.0/16' + (',fd00:10:200::/56' if HAS_IPV6 else '')
        self.start([binary], 'apiserver', '--data-dir', self.folder, '--secure-port', '0', '--bind-address', self.machines['one'].router,
                   '--enable-bootstrap-token-auth', '--enable-admission-plugins', 'NodeRestriction')
        self.url = self.programs[-1].url
        self.kubeconfig = os.path.join(self.folder, 'kubeconfig')
        connection = '--kubeconfig', self.kubeconfig
        self.start([binary], 'controllers', '--allocate-node-cidrs', '--cluster-cidr', ranges, '--cluster-signing-cert-file', self.ca,
                   '--cluster-signing-key-file', os.path.join(self.folder, 'pki', 'ca.key'), *connection, ready='controllers running')
        self.start([binary], 'scheduler', *connection, ready='scheduler running')
        joining = self.let_nodes_join(Kubectl(self.kubeconfig))
        for name, machine in self.machines.items():
            os.makedirs(self.data_of(name))
            build_image(binary, self.data_of(name), busybox)
            self.start(machine.run(binary), 'node', '--name', name, '--data-dir', self.data_of(name), '--address', machine.address,
                       '--network', 'on', '--cluster-cidr', ranges, *joining, ready='node %s running' % name)

    def let_nodes_join(self, kubectl):
        """With a bootstrap token: their certificates allow what nodes may, and nothing else."""
        kubectl('create', '-f', '-', stdin=TOKEN % utc(3600))
        kubectl('create', '-f', '-', stdin=BINDING % ('join', 'system:node-bootstrapper', 'system:bootstrappers'))
        kubectl('create', '-f', '-', stdin=BINDING % ('approve', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
                                                      'system:bootstrappers'))
        config = os.path.join(self.folder, 'bootstrap.conf')
        with open(config, 'w') as f:
            f.write(BOOTSTRAP_CONFIG % (self.url, self.ca, 'abcdef.0123456789abcdef'))
        return '--bootstrap-kubeconfig', config

    def data_of(self, name):
        return os.path.join(self.folder, name)

    def start(self, command, part, *arguments, **options):
        output = os.path.join(self.folder, 'output', '%s-%d' % (part, len(self.programs)))
        os.makedirs(output)
        self.programs.append(Program(*command, part, *arguments, data_dir=output, **options))

    def output(self):
        return '\n'.join(program.output()[-3000:] for program in self.programs)

    def close(self):
        for program in reversed(self.programs):
            program.kill()
            program.log.close()
        for name in self.machines:
            containers.clean(self.data_of(name))
        for machine in self.machines.values():
            machine.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def two_machines(binary, busybox):
    test = Machines(binary, busybox)
    try:
        kubectl = Kubectl(test.kubeconfig)
        apply(kubectl, web('a', node='one'), web('b', node='two'))
        ips = ready(kubectl, 'a', 'b')
        for pod in 'a', 'b':
            for name, ip in zip('ab', ips):
                assert get_in(kubectl, pod, ip + ':8080') == name, (pod, name)
        assert get(*test.machines['one'].run(), ips[1] + ':8080') == 'b', 'a machine reaches pods of the other'
        if HAS_IPV6:
            b = both_of(status(kubectl, 'b')['podIPs'])[1]
            assert get_in(kubectl, 'a', '[%s]:8080' % b) == get(*test.machines['one'].run(), '[%s]:8080' % b) == 'b', 'also by IPv6'
        assert 'vxlan' in sh('ip', '-n', test.machines['one'].name, '-d', 'link')
        kubectl('exec', 'b', '--', 'sh', '-c', 'head -c 300000 /dev/zero > /tmp/www-b/large')
        read = kubectl('exec', 'a', '--', 'sh', '-c', 'timeout 10 wget -q -O - http://%s:8080/large | wc -c' % ips[1])
        assert read == '300000', 'packets fit into the tunnel: ' + read
        kubectl('expose', 'pod', 'b', '--name=far', '--port=80', '--target-port=8080', '--selector=far=x')
        kubectl('label', 'pod', 'b', 'far=x')
        service = kubectl('get', 'service', 'far', '-o', 'jsonpath={.spec.clusterIP}')
        wait_until('a Service leads to the other machine', lambda: get_in(kubectl, 'a', service) == 'b')
        apply(kubectl, DENY)
        wait_until('b is closed', lambda: get_in(kubectl, 'a', ips[1] + ':8080') == '')
        kubectl('delete', 'pods', '--all', '--wait=true')
        wait_until('their networks are gone', lambda: not any('_one_' in n or '_two_' in n for n in os.listdir('/run/netns')))
    except BaseException:
        print(test.output())
        raise
    finally:
        test.close()


def main():
    binary = os.path.abspath(sys.argv[1])
    busybox = check_machine()
    if INSIDE not in os.environ:
        sys.exit(subprocess.call(['unshare', '-n', sys.executable, *sys.argv], env={**os.environ, INSIDE: 'yes'}))
    world = World()
    try:
        one_node(binary, busybox, world)
        if HAS_IPV6:
            dual_stack(binary, busybox, world)
        two_clusters(binary, busybox)
        three_nodes(binary, busybox, world)
        two_machines(binary, busybox)
    finally:
        world.close()
    print('ok')


if __name__ == '__main__':
    main()
