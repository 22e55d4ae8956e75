"""A node whose pods get their networks from CNI plugins: Debian's bridge, host-local and portmap.

Everything happens in network namespaces of this test, as in pod_network_test.py.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import containers
import pod_network_test
from containers import apply, build_image, check_machine
from pod_network_test import INSIDE, MACHINE, World, get, get_in, ready, sh, status, web
from program import Kubectl, Program, skip, wait_until

PLUGINS = '/usr/lib/cni'
RANGE = '10.88.0.0/24'


class Cluster:
    """An API server, controllers, scheduler and one node, as processes of their own."""

    def __init__(self, binary, busybox):
        self.binary, self.folder, self.programs = binary, tempfile.mkdtemp(prefix='flyball-test-'), []
        self.config, self.data = os.path.join(self.folder, 'net.d'), os.path.join(self.folder, 'node')
        os.makedirs(self.config)
        os.makedirs(self.data)
        pod_network_test.OWN_NAMES.append(pod_network_test.network_name(self.data))
        self.start('apiserver', '--data-dir', self.folder, '--secure-port', '0', '--bind-address', MACHINE)
        self.connection = '--kubeconfig', os.path.join(self.folder, 'kubeconfig')
        self.kubectl = Kubectl(self.connection[1])
        self.start('controllers', *self.connection, ready='controllers running')
        self.start('scheduler', *self.connection, ready='scheduler running')
        build_image(binary, self.data, busybox)
        self.start_node()

    def start(self, part, *arguments, **options):
        output = os.path.join(self.folder, 'output', '%s-%d' % (part, len(self.programs)))
        os.makedirs(output)
        self.programs.append(Program(self.binary, part, *arguments, data_dir=output, **options))
        return self.programs[-1]

    def start_node(self):
        self.node = self.start('node', '--name', 'n', '--data-dir', self.data, '--address', MACHINE, '--network', 'cni',
                               '--cni-conf-dir', self.config, '--cni-bin-dir', '/nowhere,' + PLUGINS, '--cluster-cidr', RANGE,
                               *self.connection, ready='node n running')

    def configure(self, *plugins, version='1.0.0'):
        with open(os.path.join(self.config, '10-test.conflist'), 'w') as f:
            json.dump({'name': 'test', 'cniVersion': version, 'plugins': list(plugins)}, f)

    def bridge(self, **more):
        return {'type': 'bridge', 'bridge': 'cni-test', 'isGateway': True, 'ipMasq': True, 'hairpinMode': True,
                'ipam': {'type': 'host-local', 'dataDir': self.folder + '/ipam', 'subnet': RANGE, 'routes': [{'dst': '0.0.0.0/0'}]}, **more}

    def addresses_in_use(self):
        return sorted(name for name in os.listdir(self.folder + '/ipam/test') if name.startswith('10.'))

    def close(self):
        for program in reversed(self.programs):
            program.kill()
            program.log.close()
        containers.clean(self.data)
        shutil.rmtree(self.folder, ignore_errors=True)


PORTMAP = {'type': 'portmap', 'capabilities': {'portMappings': True}}


def a_node_waits_for_a_configuration(cluster):
    def condition():
        return next(c for c in json.loads(cluster.kubectl('get', 'node', 'n', '-o', 'json'))['status']['conditions'] if c['type'] == 'Ready')

    wait_until('the node says what it lacks', lambda: condition()['message'] == 'container runtime network not ready: NetworkReady=false '
               'reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized')
    cluster.configure(cluster.bridge(), PORTMAP)
    wait_until('the node is ready', lambda: condition()['status'] == 'True')


def pods_have_networks(cluster, world):
    kubectl = cluster.kubectl
    apply(kubectl, web('a'), web('b', ports=[{'containerPort': 8080, 'hostPort': 8300}]))
    ips = ready(kubectl, 'a', 'b')
    assert all(ip.startswith('10.88.0.') for ip in ips) and cluster.addresses_in_use() == sorted(ips), ips
    for pod in 'a', 'b':
        for name, ip in zip('ab', ips):
            assert get_in(kubectl, pod, ip + ':8080') == name, (pod, name)
        assert get_in(kubectl, pod, pod_network_test.WORLD) == 'world'
    assert get('ip', 'netns', 'exec', world.name, MACHINE + ':8300') == 'b', 'a host port'
    kubectl('expose', 'pod', 'b', '--name=web', '--port=80', '--target-port=8080', '--selector=app=web')
    service = kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')
    # Pods of one bridge answer each other past the filters, unless the kernel has br_netfilter.
    wait_until('a Service leads to both', lambda: {get(service) for _ in range(10)} == {'a', 'b'})
    if os.path.exists('/proc/sys/net/bridge/bridge-nf-call-iptables'):
        wait_until('also for pods', lambda: {get_in(kubectl, 'a', service) for _ in range(10)} == {'a', 'b'})


def networks_survive_the_node(cluster):
    before = ready(cluster.kubectl, 'a', 'b')
    cluster.node.process.send_signal(signal.SIGKILL)
    cluster.node.process.wait()
    cluster.start_node()
    assert ready(cluster.kubectl, 'a', 'b') == before
    assert get_in(cluster.kubectl, 'a', before[1] + ':8080') == 'b'


def failures_are_told(cluster):
    kubectl = cluster.kubectl
    cluster.configure(cluster.bridge(type='missing'))
    apply(kubectl, web('c'))
    text = 'Failed to create pod sandbox: failed to setup network for sandbox "%s": plugin type="missing" failed (add): ' \
        'failed to find plugin "missing" in path [/nowhere %s]' % (json.loads(kubectl('get', 'pod', 'c', '-o', 'json'))['metadata']['uid'], PLUGINS)
    wait_until('an event says why', lambda: text in kubectl('get', 'events', '--field-selector', 'reason=FailedCreatePodSandBox', '-o',
                                                            'jsonpath={.items[*].message}'))
    # A range without a free address: what host-local says.
    cluster.configure(cluster.bridge(ipam={'type': 'host-local', 'dataDir': cluster.folder + '/ipam', 'subnet': RANGE,
                                           'rangeStart': cluster.addresses_in_use()[0], 'rangeEnd': cluster.addresses_in_use()[0]}))
    wait_until('the plugin says why', lambda: 'no IP addresses available in range set' in kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}'))
    # Of an older version of the specification, from now on.
    cluster.configure(cluster.bridge(), PORTMAP, version='0.3.1')
    c, = ready(kubectl, 'c')
    assert get_in(kubectl, 'a', c + ':8080') == 'c'


def everything_is_given_back(cluster, world):
    cluster.kubectl('delete', 'pods', '--all', '--wait=true')
    wait_until('no address is in use', lambda: cluster.addresses_in_use() == [])
    wait_until('no network is left', lambda: not any(pod_network_test.network_name(cluster.data) in name for name in os.listdir('/run/netns')))
    assert get('ip', 'netns', 'exec', world.name, MACHINE + ':8300') == ''


def main():
    binary = os.path.abspath(sys.argv[1])
    busybox = check_machine()
    if not os.path.exists(PLUGINS + '/bridge'):
        skip('there are no CNI plugins (containernetworking-plugins)')
    if INSIDE not in os.environ:
        sys.exit(subprocess.call(['unshare', '-n', sys.executable, *sys.argv], env={**os.environ, INSIDE: 'yes'}))
    world = World()
    cluster = Cluster(binary, busybox)
    try:
        a_node_waits_for_a_configuration(cluster)
        pods_have_networks(cluster, world)
        networks_survive_the_node(cluster)
        failures_are_told(cluster)
        everything_is_given_back(cluster, world)
    except BaseException:
        print('\n'.join(program.output()[-4000:] for program in cluster.programs))
        raise
    finally:
        cluster.close()
        world.close()
    print('ok')


if __name__ == '__main__':
    main()
