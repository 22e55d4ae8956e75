"""`flyball ingress` beside a real API server: hosts, paths, TLS by name, default backends, WebSockets, headers, HTTP/2, what is answered
when there is no backend, classes, status, and changes."""
import base64
import hashlib
import http.server
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from program import Kubectl, Program, skip, wait_until

MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'


class Backend(http.server.BaseHTTPRequestHandler):
    """Says what it was asked; /slow never answers; /ws is an echo by WebSocket."""
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.headers.get('Upgrade', '').lower() == 'websocket':
            return self.echo()
        if self.path == '/break':
            return self.connection.shutdown(socket.SHUT_RDWR)
        length = int(self.headers.get('Content-Length') or 0)
        said = json.dumps({'name': self.server.name, 'method': self.command, 'path': self.path, 'headers': dict(self.headers.items()),
                           'body': len(self.rfile.read(length))}).encode()
        self.send_response(201 if self.path == '/created' else 200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(said)))
        self.send_header('X-Backend', self.server.name)
        self.send_header('Connection', 'X-Secret-Hop')
        self.send_header('X-Secret-Hop', '1')
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_PUT = do_GET

    def echo(self):
        accept = base64.b64encode(hashlib.sha1((self.headers['Sec-WebSocket-Key'] + MAGIC).encode()).digest()).decode()
        self.wfile.write(('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                          'Sec-WebSocket-Accept: %s\r\n\r\n' % accept).encode())
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                break
            mask, data = self.rfile.read(4), self.rfile.read(head[1] & 127)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
            self.wfile.write(bytes([0x81, len(data)]) + data)
        self.close_connection = True


def start_backend(name, address):
    server = http.server.ThreadingHTTPServer((address, 0), Backend)
    server.name, server.daemon_threads = name, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def machine_address():
    """An address of this machine that endpoints may have: not a loopback one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(('198.51.100.1', 9))
        except OSError:
            skip('this machine has no address but loopback')
        return s.getsockname()[0]


def service(name, backends, address, **spec):
    ports = [{'name': 'http', 'port': 80}]
    endpoints = [{'addressType': 'IPv4', 'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice',
                  'metadata': {'name': '%s-%d' % (name, i), 'namespace': 'default', 'labels': {'kubernetes.io/service-name': name}},
                  'ports': [{'name': 'http', 'port': backend.server_address[1], 'protocol': 'TCP'}],
                  'endpoints': [{'addresses': [address], 'conditions': {'ready': True}}]} for i, backend in enumerate(backends)]
    return [{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name, 'namespace': 'default'},
             'spec': {'ports': ports, **spec}}, *endpoints]


def ingress(name, *rules, default=None, **spec):
    """`rules`: (host, path, type, service, port)."""
    def backend(to, port=80):
        return {'service': {'name': to, 'port': {'name': port} if isinstance(port, str) else {'number': port}}}
    made = [{**({'host': host} if host else {}),
             'http': {'paths': [{'path': path, 'pathType': kind, 'backend': backend(to, port)}]}} for host, path, kind, to, port in rules]
    return {'apiVersion': 'networking.k8s.io/v1', 'kind': 'Ingress', 'metadata': {'name': name, 'namespace': 'default'},
            'spec': {**({'rules': made} if made else {}), **({'defaultBackend': backend(default)} if default else {}), **spec}}


def apply(kubectl, *objects):
    kubectl.run('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}))


class Curl:
    def __init__(self, http_port, https_port):
        self.http_port, self.https_port = http_port, https_port

    def __call__(self, url, *arguments, http2=False, stdin=b''):
        """(status, headers, body) of http[s]://HOST/PATH, whatever the host."""
        host = re.match(r'https?://([^/]+)', url).group(1)
        port = self.https_port if url.startswith('https') else self.http_port
        url = url.replace(host, '%s:%d' % (host, port), 1)
        done = subprocess.run(['curl', '-sS', '-k', '-i', '--max-time', '60', *([] if http2 else ['--http1.1']), '--resolve',
                               '%s:%d:127.0.0.1' % (host, port), *arguments, url], capture_output=True,
                              input=stdin, timeout=90)
        assert done.returncode == 0, done.stderr
        head, _, body = done.stdout.partition(b'\r\n\r\n')
        while head.startswith(b'HTTP/1.1 100'):
            head, _, body = body.partition(b'\r\n\r\n')
        status, *fields = head.decode().split('\r\n')
        return int(status.split()[1]), dict(field.lower().split(': ', 1) for field in fields), body

    def json(self, *arguments, **options):
        status, _, body = self(*arguments, **options)
        assert status == 200, (status, body)
        return json.loads(body)


def certificate(folder, host):
    key, cert = os.path.join(folder, host + '.key'), os.path.join(folder, host + '.crt')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out',
                    cert, '-days', '2', '-subj', '/CN=' + host, '-addext', 'subjectAltName=DNS:' + host],
                   check=True, capture_output=True)
    return cert, key


def served_certificate(port, name):
    done = subprocess.run(['openssl', 's_client', '-connect', '127.0.0.1:%d' % port, '-servername', name], input='', text=True,
                          capture_output=True, timeout=60)
    return re.search(r'subject=.*CN ?= ?(\S+)', done.stdout).group(1)


def check_routes(curl):
    assert curl.json('http://web.example/')['name'] == 'one'
    assert curl.json('http://web.example/api/v1?x=1')['path'] == '/api/v1?x=1'
    assert curl.json('http://web.example/api/v1')['name'] == 'two'
    assert curl.json('http://web.example/apis')['name'] == 'one', 'prefixes are whole elements'
    assert curl.json('http://web.example/exact')['name'] == 'two'
    assert curl.json('http://web.example/exact/')['name'] == 'one'
    assert curl.json('http://a.wild.example/')['name'] == 'two'
    assert curl('http://a.b.wild.example/')[0] == 404
    status, headers, body = curl('http://other.example/')
    assert status == 404 and b'404 Not Found' in body and headers['content-type'].startswith('text/html'), (status, body)
    assert curl('http://web.example/none')[0] == 503


def check_headers(curl):
    said = curl.json('http://web.example/', '-H', 'X-Forwarded-For: 6.6.6.6', '-H', 'Connection: keep-alive, X-Mine', '-H', 'X-Mine: 1',
                     '-H', 'X-Kept: 1')
    seen = {name.lower(): value for name, value in said['headers'].items()}
    assert seen['x-forwarded-for'] == '127.0.0.1' and seen['x-real-ip'] == '127.0.0.1', seen
    assert seen['x-forwarded-proto'] == 'http' and seen['x-forwarded-host'].startswith('web.example:'), seen
    assert seen['host'].startswith('web.example:') and seen['x-kept'] == '1' and 'x-mine' not in seen, seen
    status, headers, _ = curl('http://web.example/created', '-X', 'POST', '-d', 'x' * 100000)
    assert status == 201 and headers['x-backend'] == 'one' and 'x-secret-hop' not in headers, headers
    assert curl.json('http://web.example/', '-X', 'PUT', '--data-binary', '@-', stdin=b'x' * 5_000_000)['body'] == 5_000_000
    secure = curl.json('https://web.example/')
    assert {name.lower(): value for name, value in secure['headers'].items()}['x-forwarded-proto'] == 'https'
    assert curl('https://web.example/', http2=True)[0] == 200


def check_failures(curl):
    assert curl('http://web.example/break')[0] == 502
    assert curl('http://dead.example/')[0] == 502


def check_websocket(port):
    with socket.create_connection(('127.0.0.1', port), timeout=30) as s:
        s.sendall(b'GET /ws HTTP/1.1\r\nHost: web.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                  b'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n')
        stream = s.makefile('rb')
        assert b' 101 ' in stream.readline()
        headers = {}
        while (line := stream.readline().strip()):
            name, value = line.decode().split(': ', 1)
            headers[name.lower()] = value
        assert headers['sec-websocket-accept'] == 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=', headers
        for text in (b'hello', b'again'):
            s.sendall(bytes([0x81, 0x80 | len(text)]) + b'\0\0\0\0' + text)
            assert stream.read(2 + len(text)) == bytes([0x81, len(text)]) + text


def check_turns(curl):
    names = {curl.json('http://both.example/')['name'] for _ in range(10)}
    assert names == {'one', 'two'}, names


def check_tls(curl, kubectl, folder):
    assert served_certificate(curl.https_port, 'web.example') == 'flyball-ingress'
    for host in ('web.example', 'second.example'):
        cert, key = certificate(folder, host)
        kubectl.run('create', 'secret', 'tls', 'tls-' + host.split('.')[0], '--cert', cert, '--key', key)
    apply(kubectl, ingress('tls', ('second.example', '/', 'Prefix', 'one', 80), tls=[
        {'hosts': ['web.example'], 'secretName': 'tls-web'}, {'hosts': ['second.example'], 'secretName': 'tls-second'}]))
    for host in ('web.example', 'second.example'):
        wait_until('%s has its certificate' % host, lambda h=host: served_certificate(curl.https_port, h) == h)
    assert served_certificate(curl.https_port, 'other.example') == 'flyball-ingress'
    # A new certificate is taken up.
    cert, key = certificate(folder, 'third.example')
    kubectl.run('delete', 'secret', 'tls-second')
    kubectl.run('create', 'secret', 'tls', 'tls-second', '--cert', cert, '--key', key)
    wait_until('the new certificate', lambda: served_certificate(curl.https_port, 'second.example') == 'third.example')


def check_classes(curl, kubectl):
    made = json.loads(kubectl('get', 'ingressclass', 'flyball', '-o', 'json'))
    assert made['spec']['controller'] == 'flyball.dev/ingress'
    assert json.loads(kubectl('get', 'ingress', 'web', '-o', 'json'))['spec'].get('ingressClassName') in (None, 'flyball')
    wait_until('the status has the address', lambda: json.loads(kubectl('get', 'ingress', 'web', '-o', 'json'))['status']
               ['loadBalancer'].get('ingress') == [{'ip': '192.0.2.7'}])
    apply(kubectl, ingress('foreign', ('foreign.example', '/', 'Prefix', 'one', 80), ingressClassName='nginx'),
          ingress('named', ('named.example', '/', 'Prefix', 'one', 80), ingressClassName='flyball'))
    wait_until('a named class', lambda: curl('http://named.example/')[0] == 200)
    assert curl('http://foreign.example/')[0] == 404
    assert not json.loads(kubectl('get', 'ingress', 'foreign', '-o', 'json'))['status']['loadBalancer']


def check_changes(curl, kubectl):
    apply(kubectl, ingress('fallback', default='two'))
    wait_until('a default backend', lambda: curl('http://other.example/')[1].get('x-backend') == 'two')
    kubectl.run('delete', 'ingress', 'fallback')
    wait_until('no default backend', lambda: curl('http://other.example/')[0] == 404)
    kubectl.run('patch', 'endpointslice', 'one-0', '--type=json', '-p',
                '[{"op":"replace","path":"/endpoints/0/conditions/ready","value":false}]')
    wait_until('an endpoint that is not ready gets no requests', lambda: curl('http://web.example/')[0] == 503)


def main():
    binary = sys.argv[1]
    address = machine_address()
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    one, two = start_backend('one', address), start_backend('two', address)
    closed = start_backend('closed', address)
    closed.shutdown()
    closed.server_close()
    server = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)
    programs = [server]
    try:
        kubectl = Kubectl(server.kubeconfig)
        served = Program(binary, 'ingress', '--kubeconfig', server.kubeconfig, '--ingress-address', '127.0.0.1', '--ingress-http-port',
                         '0', '--ingress-https-port', '0', '--ingress-published-address', '192.0.2.7', ready='ingress running')
        programs.append(served)
        curl = Curl(*map(int, re.search(r'ports (\d+) \(HTTP\) and (\d+)', served.output()).groups()))
        apply(kubectl, *service('one', [one], address), *service('two', [two], address), *service('both', [one, two], address),
              *service('dead', [closed], address), *service('none', [], address),
              ingress('web', ('web.example', '/', 'Prefix', 'one', 80), ('web.example', '/api', 'Prefix', 'two', 'http'),
                      ('web.example', '/exact', 'Exact', 'two', 80), ('web.example', '/none', 'Prefix', 'none', 80),
                      ('*.wild.example', '/', 'ImplementationSpecific', 'two', 80), ('both.example', '/', 'Prefix', 'both', 80),
                      ('dead.example', '/', 'Prefix', 'dead', 80)))
        wait_until('the routes are in effect', lambda: curl('http://both.example/')[0] == 200)
        wait_until('both endpoints are known', lambda: {curl.json('http://both.example/')['name'] for _ in range(4)} == {'one', 'two'})
        check_routes(curl)
        check_headers(curl)
        check_failures(curl)
        check_websocket(curl.http_port)
        check_turns(curl)
        check_tls(curl, kubectl, folder)
        check_classes(curl, kubectl)
        check_changes(curl, kubectl)
        taken = Program(binary, 'ingress', '--kubeconfig', server.kubeconfig, '--ingress-address', '127.0.0.1', '--ingress-http-port',
                        str(curl.http_port), ready=None)
        programs.append(taken)
        taken.process.wait(timeout=60)
        assert taken.process.returncode == 1 and 'choose another port with --ingress-http-port' in taken.output(), taken.output()
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
