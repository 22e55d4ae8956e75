"""`flyball service-proxy` as a node runs it: an API server, a node, pods and a stranger, each in a network namespace, and real
connections by cluster IP and NodePort. Runs itself again in a network namespace of its own. Needs root."""
import os
import subprocess
import sys
import tempfile
import urllib.request

from program import Kubectl, Program, wait_until

SERVER = '''
import socketserver, sys
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall((sys.argv[1] + " " + self.client_address[0]).encode())
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
Server((sys.argv[2], 8080), Answer).serve_forever()
'''
ASK = '''
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2)
    print(s.recv(100).decode())
except ConnectionRefusedError:
    print("refused")
except OSError as e:
    print(e)
'''
SERVICE = '''
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, clusterIP: 10.96.0.10, ports: [{port: 80, nodePort: 30080, name: web}]}
'''
NODE = '{"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}}'


def slice_of(*ips):
    endpoints = ', '.join('{addresses: [%s], nodeName: node-1, conditions: {ready: true}}' % ip for ip in ips)
    return '''
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: web, port: 8080, protocol: TCP}]
endpoints: [%s]
''' % endpoints


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


class Host:
    """A network namespace with one address, which reaches everything by this one."""

    def __init__(self, name, ip, node_ip):
        self.name, self.ip = name, ip
        self.process = subprocess.Popen(['unshare', '--net', 'sleep', '1000'])
        mine = os.readlink('/proc/self/ns/net')
        wait_until('%s has a namespace' % name, lambda: os.readlink('/proc/%d/ns/net' % self.process.pid) != mine)
        run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', str(self.process.pid))
        run('ip', 'address', 'add', node_ip + '/32', 'dev', name)
        run('ip', 'link', 'set', name, 'up')
        run('ip', 'route', 'add', ip, 'dev', name)
        for arguments in (('link', 'set', 'lo', 'up'), ('link', 'set', 'eth0', 'up'), ('address', 'add', ip + '/32', 'dev', 'eth0'),
                          ('route', 'add', 'default', 'via', node_ip, 'dev', 'eth0', 'onlink')):
            self.run('ip', *arguments)
        self.server = None

    def inside(self, *command):
        return ['nsenter', '--net=/proc/%d/ns/net' % self.process.pid, *command]

    def run(self, *command):
        return run(*self.inside(*command))

    def serve(self):
        self.server = subprocess.Popen(self.inside(sys.executable, '-c', SERVER, self.name, self.ip))
        wait_until('%s answers' % self.name, lambda: ask(None, self.ip, 8080).startswith(self.name))

    def end(self):
        for process in (self.server, self.process):
            if process:
                process.kill()
                process.wait()


def ask(host, ip, port):
    command = [sys.executable, '-c', ASK, ip, str(port)]
    return run(*(host.inside(*command) if host else command))


def answers(host, ip, port, times=20):
    return {ask(host, ip, port) for _ in range(times)}


def start_proxy(binary, kubeconfig):
    return Program(binary, 'service-proxy', '--kubeconfig', kubeconfig, '--hostname-override', 'node-1', '--cluster-cidr', '10.1.0.0/16',
                   '--healthz-bind-address', '127.0.0.1:0', '--metrics-bind-address', '127.0.0.1:0', '--proxy-mode', 'iptables',
                   ready=r'metrics on port (\d+)')


def it_serves_services(kubectl, proxy, a, b, stranger):
    wait_until('the service is refused', lambda: ask(a, '10.96.0.10', 80) == 'refused')
    kubectl('apply', '-f', '-', stdin=slice_of(a.ip, b.ip))
    wait_until('the service answers', lambda: ask(a, '10.96.0.10', 80).startswith(b.name))
    assert {x.split()[0] for x in answers(a, '10.96.0.10', 80)} == {'pod-a', 'pod-b'}
    assert {x.split()[0] for x in answers(stranger, '192.0.2.1', 30080)} == {'pod-a', 'pod-b'}
    assert {x.split()[0] for x in answers(None, '10.96.0.10', 80)} == {'pod-a', 'pod-b'}, 'from the node'
    kubectl('apply', '-f', '-', stdin=slice_of(b.ip))
    wait_until('only b answers', lambda: {x.split()[0] for x in answers(a, '10.96.0.10', 80, 8)} == {'pod-b'})


def it_reports_as_kube_proxy_does(proxy):
    metrics = urllib.request.urlopen('http://127.0.0.1:%s/metrics' % proxy.url, timeout=10).read().decode()
    for name in ('kubeproxy_sync_proxy_rules_duration_seconds_count', 'kubeproxy_sync_proxy_rules_endpoint_changes_total',
                 'kubeproxy_sync_proxy_rules_last_timestamp_seconds', 'kubeproxy_sync_proxy_rules_service_changes_total'):
        assert name in metrics, name + ' is not in:\n' + metrics
    assert urllib.request.urlopen('http://127.0.0.1:%s/proxyMode' % proxy.url, timeout=10).read() == b'nftables'
    assert b'"healthy":true' in urllib.request.urlopen('http://127.0.0.1:%s/healthz' % proxy.url, timeout=10).read()
    assert proxy.output().count('flag has no effect here flag=--proxy-mode') == 1, proxy.output()


def it_leaves_rules_until_it_is_told(binary, kubeconfig, a, b, proxy):
    proxy.stop()
    assert ask(a, '10.96.0.10', 80).startswith('pod-b'), 'rules stay'
    again = start_proxy(binary, kubeconfig)
    wait_until('the rules are there', lambda: ask(a, '10.96.0.10', 80).startswith('pod-b'))
    again.stop()
    run(binary, 'service-proxy', '--cleanup')
    assert 'flyball-services' not in run('nft', 'list', 'tables'), 'nothing is left'
    again.remove()


def main(binary):
    if '--inside' not in sys.argv:
        sys.exit(subprocess.run(['unshare', '--net', sys.executable, *sys.argv, '--inside'], timeout=600).returncode)
    run('ip', 'link', 'set', 'lo', 'up')
    with open('/proc/sys/net/ipv4/ip_forward', 'w') as f:
        f.write('1')
    hosts = [Host('pod-a', '10.1.0.2', '10.1.0.1'), Host('pod-b', '10.1.0.3', '10.1.0.1'), Host('outside', '192.0.2.9', '192.0.2.1')]
    run('ip', 'route', 'add', 'default', 'via', '192.0.2.9', 'dev', 'outside', 'onlink')
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', '--service-cluster-ip-range', '10.96.0.0/16',
                      data_dir=folder)
    proxy = None
    try:
        kubectl = Kubectl(program.kubeconfig, command=(binary,))
        kubectl('create', '-f', '-', stdin='{apiVersion: v1, kind: Node, metadata: {name: node-1}}')
        kubectl('patch', 'node', 'node-1', '--subresource=status', '--type=merge', '-p', NODE)
        kubectl('apply', '-f', '-', stdin=SERVICE)
        for host in hosts[:2]:
            host.serve()
        proxy = start_proxy(binary, program.kubeconfig)
        it_serves_services(kubectl, proxy, *hosts)
        it_reports_as_kube_proxy_does(proxy)
        it_leaves_rules_until_it_is_told(binary, program.kubeconfig, hosts[0], hosts[1], proxy)
    finally:
        for process in (proxy, program):
            if process:
                process.stop()
                process.remove()
        for host in hosts:
            host.end()
    print('services: all fine')


if __name__ == '__main__':
    main(sys.argv[1])
