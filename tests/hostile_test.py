"""Clients that mean harm against the real `flyball apiserver`: after each of them it lives, has not grown without bound, and
serves the next request."""
import json
import os
import random
import socket
import ssl
import struct
import sys
import tempfile
import time

from program import SANITIZED, Program, wait_until

TOKEN = 'hostile-test-token'
# What the server may grow by over an attack, and stay grown. Its allocator keeps some of what it once needed.
# A sanitizer keeps what was freed (256 MB of it) and its own notes on every byte.
MOST_GROWTH_MB = 1000 if SANITIZED else 160


def client_context(alpn):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols([alpn])
    return context


# Made once: thousands of connections are opened.
CONTEXTS = {alpn: client_context(alpn) for alpn in (None, 'h2')}


class Server:
    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix='flyball-test-')
        tokens = os.path.join(self.folder, 'tokens.csv')
        with open(tokens, 'w') as f:
            f.write(TOKEN + ',admin,1,"system:masters"\n')
        self.program = Program(binary, 'apiserver', '--data-dir', self.folder, '--secure-port', '0', '--token-auth-file', tokens,
                               data_dir=self.folder)
        self.host, port = self.program.url.split('//')[1].split(':')
        self.port = int(port)
        self.first_rss = self.rss_mb()

    def rss_mb(self, which='VmRSS'):
        with open('/proc/%d/status' % self.program.process.pid) as f:
            for line in f:
                if line.startswith(which):
                    return int(line.split()[1]) / 1024

    def connect(self, alpn=None, timeout=30):
        plain = socket.create_connection((self.host, self.port), timeout=timeout)
        return CONTEXTS[alpn].wrap_socket(plain, server_hostname='localhost')

    def send(self, data, wait=True):
        """Sends raw bytes on a connection of their own; what is answered until it closes or a while passes."""
        answer = b''
        try:
            with self.connect() as s:
                s.sendall(data)
                s.settimeout(5)
                while wait:
                    piece = s.recv(65536)
                    if not piece:
                        break
                    answer += piece
        except OSError:
            pass
        return answer

    def request(self, method, path, body=b'', headers=()):
        """One honest request: (status, body)."""
        lines = ['%s %s HTTP/1.1' % (method, path), 'Host: x', 'Authorization: Bearer ' + TOKEN, 'Connection: close',
                 'Content-Type: application/json', 'Content-Length: %d' % len(body), *headers]
        with self.connect(timeout=60) as s:
            s.sendall('\r\n'.join(lines).encode() + b'\r\n\r\n' + body)
            answer = b''
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                answer += piece
        head, _, rest = answer.partition(b'\r\n\r\n')
        return int(head.split()[1]), rest

    def check(self, what):
        assert self.program.process.poll() is None, '%s: the server died\n%s' % (what, self.program.output()[-3000:])
        status, _ = self.request('GET', '/api/v1/namespaces/default')
        assert status == 200, (what, status)
        grown = lambda: self.rss_mb() - self.first_rss
        wait_until('%s: memory is bounded' % what, lambda: grown() < MOST_GROWTH_MB, seconds=30)
        print('%-40s ok, %3d MB (+%d, at most %d)' % (what, self.rss_mb(), grown(), self.rss_mb('VmHWM')), flush=True)


def truncated_tls(server):
    hello = bytes.fromhex('16030100')
    for size in (0, 1, 3, 4):
        with socket.create_connection((server.host, server.port)) as s:
            s.sendall(hello[:size])
    for _ in range(200):
        with socket.create_connection((server.host, server.port)) as s:
            s.sendall(random.randbytes(random.randrange(1, 600)))
    with socket.create_connection((server.host, server.port)) as s:
        s.sendall(b'GET / HTTP/1.1\r\n\r\n')


def smuggling(server):
    base = b'POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ' + TOKEN.encode() + b'\r\n'
    hidden = b'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ' + TOKEN.encode() + b'\r\n\r\n'
    for head in (b'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n', b'Content-Length: 6\r\nContent-Length: 7\r\n',
                 b'Transfer-Encoding: chunked, identity\r\n', b'Transfer-Encoding: xchunked\r\n', b'Content-Length: +6\r\n',
                 b'Content-Length: 0x6\r\n', b'Transfer-Encoding : chunked\r\n'):
        answer = server.send(base + head + b'\r\n0\r\n\r\n' + hidden)
        assert answer.startswith(b'HTTP/1.1 400'), (head, answer[:200])
        assert answer.count(b'HTTP/1.1 ') == 1, (head, answer)


def traversal(server):
    for path in ('/../../etc/passwd', '/api/v1/../../../etc/passwd', '/api/v1/namespaces/..%2f..%2f/pods', '/%2e%2e/%2e%2e/etc/passwd',
                 '/api/v1/namespaces/default/pods/..%2f..%2fsecrets', '/openapi/v3/../../../../etc/shadow', '//etc/passwd'):
        status, body = server.request('GET', path)
        assert status in (301, 400, 403, 404, 405, 406), (path, status)
        assert b'root:' not in body, path
    assert server.send(b'GET /%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').startswith(b'HTTP/1.1 400')


def huge_heads(server):
    for _ in range(20):
        assert server.send(b'GET / HTTP/1.1\r\nHost: x\r\nX-Long: ' + b'a' * 200000 + b'\r\n\r\n').startswith(b'HTTP/1.1 431')
        server.send(b'GET /' + b'a' * 300000 + b' HTTP/1.1\r\n\r\n')
    server.send(b'GET / HTTP/1.1\r\nHost: x\r\n' + b''.join(b'h%d: v\r\n' % i for i in range(50000)) + b'\r\n')


def large_bodies(server):
    status, body = server.request('POST', '/api/v1/namespaces/default/configmaps', b'x' * (3 * 1024 * 1024 + 1))
    assert status == 413, status
    answer = json.loads(body)
    assert answer['reason'] == 'RequestEntityTooLarge' and answer['kind'] == 'Status', answer
    assert 'limit is 3145728' in answer['message'], answer


def endless_chunks(server):
    """An extension, a trailer, or chunks that are nearly all extension: refused, and nothing of what follows is kept."""
    head = b'POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
    for begin, piece in ((b'5;', b'x' * 65536), (b'0\r\n', b'A: b\r\n' * 10000), (b'', (b'1;' + b'x' * 4000 + b'\r\ny\r\n') * 16)):
        sent = 0
        try:
            with server.connect() as s:
                s.sendall(head + begin)
                while sent < 400 << 20:
                    s.sendall(piece)
                    sent += len(piece)
        except OSError:
            pass
        most = server.rss_mb('VmHWM') - server.first_rss
        assert most < MOST_GROWTH_MB, 'the server grew by %d MB' % most


def many_bad_labels(server):
    """The answer is no larger than the question."""
    labels = {'-bad%d' % i: '-bad-' for i in range(50000)}
    body = json.dumps({'metadata': {'name': 'x', 'labels': labels}}).encode()
    status, answer = server.request('POST', '/api/v1/namespaces/default/configmaps', body)
    assert status == 422 and len(answer) < 100000, (status, len(answer))


def odd_bodies(server):
    path = '/api/v1/namespaces/default/configmaps'
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd"%s},"data":{"k":%s}}'
    deep = b'[' * 100000 + b']' * 100000
    for body in (deep, b'{"a":' * 100000, b'{"a":' * 100000 + b'1' + b'}' * 100000, head.encode().replace(b'%s', b'') ,
                 b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd"},"data":{"k":"\xff\xfe"}}',
                 b'\x00' * 1000, b'k8s\x00' + random.randbytes(5000), b'"' + b'\\u0000' * 100000 + b'"', b'1e999999999', b''):
        status, _ = server.request('POST', path, body)
        assert status in (201, 400, 409, 415, 422), (body[:40], status)
    yaml = b'a: &a [x,x,x,x,x,x,x,x,x]\n' + b''.join(b'%c: &%c [%s]\n' % (c, c, b','.join([b'*%c' % (c - 1)] * 9))
                                                   for c in range(ord('b'), ord('k')))
    status, _ = server.request('POST', path, yaml, ['Content-Type: application/yaml'])
    assert status in (400, 415, 422), status
    giant = json.dumps({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'odd', 'labels': {'k' * 100000: 'v' * 100000}}})
    status, body = server.request('POST', path, giant.encode())
    assert status == 422, status
    status, _ = server.request('GET', '/api/v1/pods?labelSelector=' + 'a%2C' * 10000)
    assert status in (200, 400), status
    status, _ = server.request('GET', '/api/v1/pods?labelSelector=' + '%28' * 1000)
    assert status == 400, status


def slow_loris(server):
    """A thousand that send a byte and then nothing: none of them keeps anybody else waiting."""
    held = []
    for _ in range(1000):
        s = server.connect()
        s.sendall(b'GET / HT')
        held.append(s)
    server.check('slow loris, while it lasts')
    for s in held:
        s.close()


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0)


def literal(name, value):
    """A header that nobody indexes, in HPACK's plainest form."""
    def text(data):
        return (bytes([len(data)]) if len(data) < 127 else b'\x7f' + varint(len(data) - 127)) + data
    return b'\x00' + text(name) + text(value)


def varint(n):
    out = b''
    while n >= 128:
        out += bytes([n % 128 + 128])
        n //= 128
    return out + bytes([n])


def heads(path, method=b'GET'):
    return (literal(b':method', method) + literal(b':scheme', b'https') + literal(b':authority', b'x') + literal(b':path', path) +
            literal(b'authorization', b'Bearer ' + TOKEN.encode()))


def http2(server, frames, read_for=0.0):
    """Sends frames on a connection of their own, as many as the server takes."""
    try:
        with server.connect('h2') as s:
            s.sendall(PREFACE)
            s.settimeout(5)
            for data in frames:
                s.sendall(data)
            s.settimeout(read_for or 0.01)
            while s.recv(65536):
                pass
    except OSError:
        pass


def bad_frames(server):
    for _ in range(100):
        http2(server, [random.randbytes(random.randrange(1, 500))])
    http2(server, [frame(0, 0, 1, b'data of no stream')])
    http2(server, [frame(8, 0, 0, struct.pack('>I', 0))])
    http2(server, [frame(4, 0, 0, b'12345')])
    http2(server, [b'\xff' * 9 + b'x' * 100000])


def hpack_bomb(server):
    entry = b'\x40' + b'\x01a' + b'\x7f' + varint(3900 - 127) + b'b' * 3900
    http2(server, [frame(1, 4, 1, entry + b'\xbe' * 16000), *(frame(1, 4, 3 + 2 * i, b'\xbe' * 16000) for i in range(200))])


def continuation_flood(server):
    http2(server, [frame(1, 0, 1, heads(b'/version')), *(frame(9, 0, 1, literal(b'x%d' % i, b'y' * 1000)) for i in range(20000))])


def rapid_reset(server):
    block = heads(b'/api/v1/pods')
    http2(server, [frame(1, 5, 2 * i + 1, block) + frame(3, 0, 2 * i + 1, struct.pack('>I', 8)) for i in range(30000)])


def watches_dropped(server, count=10000):
    """Opened and dropped at once, many to a connection."""
    block = heads(b'/api/v1/configmaps?watch=1')
    per_connection = 200
    for _ in range(count // per_connection):
        with server.connect('h2') as s:
            s.sendall(PREFACE + b''.join(frame(1, 5, 2 * i + 1, block) for i in range(per_connection)))
            s.recv(1000)


def deaf_watchers(server, connections=4, per_connection=250):
    """Watchers that never read, with windows as large as there are, while objects change: what they are owed is bounded."""
    block = heads(b'/api/v1/configmaps?watch=1')
    held = []
    for _ in range(connections):
        s = server.connect('h2')
        # Windows of 2^31-1, for each stream and for the connection.
        s.sendall(PREFACE + frame(4, 0, 0, struct.pack('>HI', 4, 0x7fffffff)) + frame(8, 0, 0, struct.pack('>I', 0x7fff0000)))
        s.sendall(b''.join(frame(1, 5, 2 * i + 1, block) for i in range(per_connection)))
        held.append(s)
    data = 'x' * 100000
    for i in range(60):
        body = json.dumps({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'big-%d' % i}, 'data': {'k': data}})
        status, answer = server.request('POST', '/api/v1/namespaces/default/configmaps', body.encode())
        assert status == 201, (status, answer[:200])
    # 1,000 watchers x 60 x 100 KB would be 6 GB.
    server.check('%d watchers that never read' % (connections * per_connection))
    for s in held:
        s.close()


def idle_connections(server, count=3000):
    held = [server.connect('h2' if i % 2 else None) for i in range(count)]
    each = (server.rss_mb() - server.first_rss) * 1024 / count
    print('%d idle TLS connections: at most %.1f KB each' % (count, each))
    server.check('idle connections')
    for s in held:
        s.close()


def upgrades(server):
    """Asking to leave HTTP where nothing can be left for, and half way."""
    status, _ = server.request('GET', '/api/v1/namespaces/default/pods/none/exec?command=ls',
                               headers=['Upgrade: SPDY/3.1', 'Connection: Upgrade'])
    assert status == 404, status
    for path in (b'/version', b'/api/v1/namespaces/default/pods/none/exec', b'/api/v1/pods?watch=1'):
        for protocol in (b'SPDY/3.1', b'websocket', b'h2c', b'\x80'):
            server.send(b'GET ' + path + b' HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ' + TOKEN.encode() + b'\r\nConnection: Upgrade\r\n'
                        b'Upgrade: ' + protocol + b'\r\n\r\n' + random.randbytes(100), wait=False)


def main():
    server = Server(sys.argv[1])
    random.seed(1)
    try:
        for attack in (truncated_tls, smuggling, traversal, huge_heads, large_bodies, endless_chunks, many_bad_labels, odd_bodies, slow_loris, bad_frames, hpack_bomb,
                       continuation_flood, rapid_reset, watches_dropped, upgrades, deaf_watchers, idle_connections):
            started = time.monotonic()
            attack(server)
            server.check('%s (%.1f s)' % (attack.__name__.replace('_', ' '), time.monotonic() - started))
        server.program.stop()
    finally:
        server.program.kill()
        server.program.remove()


main()
