"""`flyball dns` beside a real API server: Services, headless ones with hostnames, ExternalName, pods, reverse names, an upstream,
truncation and TCP, and what it refuses."""
import json
import re
import socket
import struct
import sys
import tempfile
import threading
import urllib.error
import urllib.request

from dns_client import ask, encode_name, read_name
from program import Kubectl, Program, wait_until

OBJECTS = '''
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {clusterIP: 10.96.7.7, ports: [{name: http, port: 80}, {name: metrics, port: 9090, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: default}
spec: {clusterIP: None, ports: [{name: sql, port: 5432}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: default, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: sql, port: 5432, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.1], hostname: db-0, conditions: {ready: true}}
- {addresses: [10.1.0.2], hostname: db-1, conditions: {ready: true}}
- {addresses: [10.1.0.3], conditions: {ready: true}}
- {addresses: [10.1.0.4], hostname: db-3, conditions: {ready: false}}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {type: ExternalName, externalName: www.upstream.example}
---
apiVersion: v1
kind: Service
metadata: {name: empty, namespace: default}
spec: {clusterIP: None, ports: [{port: 80}]}
'''


class Upstream(threading.Thread):
    """A name server that knows every name below upstream.example, for A."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.address = '127.0.0.1:%d' % self.socket.getsockname()[1]
        self.asked = []
        self.start()

    def run(self):
        while True:
            packet, peer = self.socket.recvfrom(4096)
            name, end = read_name(packet, 12)
            kind = struct.unpack('>H', packet[end:end + 2])[0]
            self.asked.append((name.lower(), kind))
            known = name.lower().endswith('upstream.example.') and kind == 1
            head = packet[:2] + struct.pack('>HHHHH', 0x8180 if known else 0x8183, 1, known, 0 if known else 1, 0)
            record = encode_name(name) + struct.pack('>HHIH4B', 1, 1, 300, 4, 192, 0, 2, 53)
            soa = encode_name('example') + struct.pack('>HHIH', 6, 1, 60, 22) + b'\0\0' + struct.pack('>IIIII', 1, 2, 3, 4, 60)
            self.socket.sendto(head + packet[12:end + 4] + (record if known else soa), peer)


def check_cluster(dns, kubectl):
    web = 'web.default.svc.cluster.local'
    assert ask(dns, web).data == ['10.96.7.7']
    assert ask(dns, web, tcp=True).data == ['10.96.7.7']
    assert ask(dns, web.upper()).answers[0][0] == web.upper() + '.'
    assert ask(dns, '_http._tcp.' + web, 'SRV').data == ['0 100 80 %s.' % web]
    assert ask(dns, '_metrics._udp.' + web, 'SRV').data == ['0 100 9090 %s.' % web]
    assert ask(dns, '7.7.96.10.in-addr.arpa', 'PTR').data == [web + '.']
    assert ask(dns, 'kubernetes.default.svc.cluster.local').data == ['10.96.0.1']
    assert ask(dns, 'dns-version.cluster.local', 'TXT').data == ['1.1.0']
    nodata = ask(dns, web, 'AAAA')
    assert nodata.rcode == 'NOERROR' and not nodata.answers and nodata.authorities[0][1] == 'SOA', vars(nodata)
    none = ask(dns, 'none.default.svc.cluster.local')
    assert none.rcode == 'NXDOMAIN' and none.authorities[0][:2] == ('cluster.local.', 'SOA'), vars(none)


def check_headless(dns, kubectl):
    db = 'db.default.svc.cluster.local'
    assert ask(dns, db).data == ['10.1.0.1', '10.1.0.2', '10.1.0.3']
    assert ask(dns, 'db-0.' + db).data == ['10.1.0.1']
    assert ask(dns, '10-1-0-3.' + db).data == ['10.1.0.3']
    assert ask(dns, 'db-3.' + db).rcode == 'NXDOMAIN'
    srv = ask(dns, '_sql._tcp.' + db, 'SRV')
    assert srv.data == sorted('0 33 5432 %s.%s.' % (host, db) for host in ('db-0', 'db-1', '10-1-0-3')), srv.data
    assert len(srv.additionals) == 3
    assert ask(dns, '2.0.1.10.in-addr.arpa', 'PTR').data == ['db-1.' + db + '.']
    assert ask(dns, 'empty.default.svc.cluster.local').rcode == 'NXDOMAIN'
    # Changes are seen.
    kubectl.run('patch', 'service', 'db', '--type=merge', '-p', '{"spec":{"publishNotReadyAddresses":true}}')
    wait_until('endpoints that are not ready have names', lambda: ask(dns, 'db-3.' + db).data == ['10.1.0.4'])
    kubectl.run('delete', 'endpointslice', 'db-1')
    wait_until('the names are gone', lambda: ask(dns, db).rcode == 'NXDOMAIN')


def check_pods(dns):
    assert ask(dns, '10-2-3-4.default.pod.cluster.local').data == ['10.2.3.4']
    assert ask(dns, '10-2-3-4.none.pod.cluster.local').rcode == 'NXDOMAIN'


def check_forwarding(dns, upstream):
    for _ in range(3):
        assert ask(dns, 'www.upstream.example').data == ['192.0.2.53']
        assert ask(dns, 'www.elsewhere.example').rcode == 'NXDOMAIN'
    assert upstream.asked.count(('www.upstream.example.', 1)) == 1, 'cached'
    assert upstream.asked.count(('www.elsewhere.example.', 1)) == 1, 'cached, too'
    outside = ask(dns, 'outside.default.svc.cluster.local')
    assert outside.data == ['192.0.2.53', 'www.upstream.example.'], outside.data
    assert ask(dns, '4.3.2.1.in-addr.arpa', 'PTR').rcode == 'NXDOMAIN'
    assert not any(name.endswith('cluster.local.') for name, _ in upstream.asked), upstream.asked


def check_sizes(dns, kubectl):
    endpoints = [{'addresses': ['10.5.%d.%d' % (i // 100, i % 100 + 1)], 'conditions': {'ready': True}} for i in range(200)]
    kubectl.run('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
                              'metadata': {'name': 'empty-1', 'namespace': 'default', 'labels': {'kubernetes.io/service-name': 'empty'}},
                              'ports': [{'name': '', 'port': 80, 'protocol': 'TCP'}], 'endpoints': endpoints}))
    name = 'empty.default.svc.cluster.local'
    wait_until('the endpoints are known', lambda: ask(dns, name).answers)
    small, larger, whole = ask(dns, name), ask(dns, name, udp_size=4096), ask(dns, name, tcp=True)
    assert small.truncated and small.size <= 512 and small.answers
    assert larger.truncated and 512 < larger.size <= 1232
    assert not whole.truncated and len(whole.answers) == 200


def check_refusals(dns):
    for tcp in (False, True):
        assert ask(dns, 'cluster.local', 'AXFR', tcp=tcp).rcode == 'REFUSED'
        assert ask(dns, 'cluster.local', 'ANY', tcp=tcp).rcode == 'REFUSED'
    # Several questions on one connection, and a connection that says half of one is not in the way of others.
    with socket.create_connection(dns) as half:
        half.sendall(b'\0')
        assert ask(dns, 'kubernetes.default.svc.cluster.local', tcp=True).data == ['10.96.0.1']


def check_service(dns, kubectl):
    wait_until('the Service leads to the server', lambda: ask(dns, 'kube-dns.kube-system.svc.cluster.local').data == ['10.96.0.10'])
    assert ask(dns, 'ns.dns.cluster.local').data == ['10.96.0.10']

    def endpoint():
        found = json.loads(kubectl('get', 'endpointslice', 'kube-dns', '-n', 'kube-system', '-o', 'json'))
        return [port['port'] for port in found['ports']] == [dns[1]] * 2 and found['endpoints'][0]['addresses'] == ['192.0.2.10']
    wait_until('its endpoint is the server', endpoint)
    kubectl.run('delete', 'endpointslice', 'kube-dns', '-n', 'kube-system')
    wait_until('it is kept', endpoint)


def fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def main():
    binary = sys.argv[1]
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    upstream = Upstream()
    server = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0',
                     '--service-cluster-ip-range', '10.96.0.0/16', data_dir=folder)
    programs = [server]
    try:
        kubectl = Kubectl(server.kubeconfig)
        kubectl.run('apply', '-f', '-', stdin=OBJECTS)
        served = Program(binary, 'dns', '--kubeconfig', server.kubeconfig, '--port', '0', '--upstream', upstream.address,
                         '--health-address', '127.0.0.1:0', '--service-address', '10.96.0.10',
                         '--service-endpoint', '192.0.2.10', ready='dns running')
        programs.append(served)
        output = served.output()
        dns = ('127.0.0.1', int(re.search(r'dns running on port (\d+)', output).group(1)))
        health = 'http://127.0.0.1:' + re.search(r'health and metrics on port (\d+)', output).group(1)
        wait_until('it is ready', lambda: fetch(health + '/readyz')[0] == 200)
        check_cluster(dns, kubectl)
        check_headless(dns, kubectl)
        check_pods(dns)
        check_forwarding(dns, upstream)
        check_sizes(dns, kubectl)
        check_refusals(dns)
        check_service(dns, kubectl)
        metrics = fetch(health + '/metrics')[1]
        assert re.search(r'coredns_dns_requests_total\{.*type="SRV",zone="cluster.local."\} [1-9]', metrics), metrics
        assert re.search(r'coredns_cache_hits_total\{type="success"\} [1-9]', metrics), metrics
        taken = Program(binary, 'dns', '--kubeconfig', server.kubeconfig, '--port', str(dns[1]), ready=None)
        programs.append(taken)
        taken.process.wait(timeout=60)
        assert taken.process.returncode == 1 and 'cannot listen on 127.0.0.1:%d' % dns[1] in taken.output(), taken.output()
        served.stop()
    except BaseException:
        print('\n'.join(program.output()[-3000:] for program in programs))
        raise
    finally:
        for program in reversed(programs):
            program.kill()
            program.remove()


if __name__ == '__main__':
    main()
