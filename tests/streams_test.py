"""exec, attach, port-forward, cp, proxy and logs -f with real kubectl (WebSockets, and SPDY as older ones speak it) and with
Debian's python3-kubernetes, against `flyball up` and against a server and a node in processes of their own."""
import base64
import http.client
import json
import os
import pty
import re
import select
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from program import Kubectl, Program, wait_until

PYTHON_CLIENT = '/usr/bin/python3'  # Debian's, which python3-kubernetes belongs to

WEB = '''
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/moved':
            self.send_response(302); self.send_header('Location', '/there'); self.send_header('Content-Length', '0')
            self.end_headers(); return
        body = ('hello from %s host=%s' % (self.path, 'authorization' in self.headers)).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(201); self.send_header('Content-Length', str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
http.server.HTTPServer(('', int(sys.argv[1])), Handler).serve_forever()
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def pod(name, command, **container):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'labels': {'app': name}},
            'spec': {'restartPolicy': 'Never', 'terminationGracePeriodSeconds': 1,
                     'containers': [{'name': 'main', 'image': 'host', 'command': command, **container}]}}


def make_pods(kubectl, port):
    pods = [pod('shell', ['sh', '-c', 'echo started; while true; do sleep 1; done'],
                env=[{'name': 'COLOUR', 'value': 'green'}], workingDir='/tmp'),
            pod('reader', ['sh', '-c', 'while read line; do echo "got $line"; done; echo over'], stdin=True, stdinOnce=True),
            pod('ticker', ['sh', '-c', 'n=0; while [ $n -lt 5 ]; do echo tick $n; n=$((n+1)); sleep 0.3; done']),
            pod('two', ['sh', '-c', 'sleep 1000']),
            pod('web', [sys.executable, '-c', WEB, str(port)], ports=[{'name': 'http', 'containerPort': port}])]
    pods[3]['spec']['containers'].append({'name': 'other', 'image': 'host', 'command': ['sleep', '1000']})
    service = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'web'},
               'spec': {'selector': {'app': 'web'}, 'ports': [{'name': 'http', 'port': 80, 'targetPort': 'http'}]}}
    kubectl('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': [*pods, service]}))
    for name in ('shell', 'reader', 'two', 'web'):
        kubectl('wait', '--for=condition=Ready', 'pod/' + name, '--timeout=60s', timeout=90)


class Spdy(Kubectl):
    """kubectl that speaks SPDY only, as before 1.30."""

    def run(self, *arguments, **options):
        for name in ('KUBECTL_REMOTE_COMMAND_WEBSOCKETS', 'KUBECTL_PORT_FORWARD_WEBSOCKETS'):
            os.environ[name] = 'false'
        try:
            return super().run(*arguments, **options)
        finally:
            for name in ('KUBECTL_REMOTE_COMMAND_WEBSOCKETS', 'KUBECTL_PORT_FORWARD_WEBSOCKETS'):
                del os.environ[name]


def check_exec(kubectl):
    assert kubectl('exec', 'shell', '--', 'echo', 'hello', 'a b&c') == 'hello a b&c'
    assert kubectl('exec', 'shell', '--', 'sh', '-c', 'echo $COLOUR; pwd') == 'green\n/tmp'
    result = kubectl.run('exec', 'shell', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7', check=False)
    assert (result.stdout, result.returncode) == ('out\n', 7), result
    assert 'err\n' in result.stderr and 'command terminated with exit code 7' in result.stderr, result.stderr
    big = 'x' * 1000 + '\n'
    assert kubectl.run('exec', '-i', 'shell', '--', 'cat', stdin=big * 3000).stdout == big * 3000
    assert kubectl.run('exec', '-i', 'shell', '--', 'wc', '-c', stdin='four').stdout.strip() == '4'
    out = kubectl.run('exec', 'shell', '--', 'head', '-c', '20000000', '/dev/zero', timeout=120).stdout
    assert len(out) == 20000000, len(out)


def check_errors(kubectl):
    def fails(*arguments):
        result = kubectl.run(*arguments, check=False)
        assert result.returncode != 0, result.stdout
        return result.stderr
    assert 'pods "nobody" not found' in fails('exec', 'nobody', '--', 'ls')
    assert 'container nope is not valid for pod shell' in fails('exec', 'shell', '-c', 'nope', '--', 'ls')
    assert 'no-such-program' in fails('exec', 'shell', '--', 'no-such-program')
    wait_until('the ticker has ended', lambda: kubectl('get', 'pod', 'ticker', '-o', 'jsonpath={.status.phase}') == 'Succeeded')
    text = fails('exec', 'ticker', '--', 'ls')
    assert 'completed pod' in text or 'container not found ("main")' in text, text
    raw = kubectl.run('get', '--raw', '/api/v1/namespaces/default/pods/two/exec?command=ls&stdout=1', check=False).stderr
    assert 'a container name must be specified for pod two, choose one of: [main other]' in raw, raw
    raw = kubectl.run('get', '--raw', '/api/v1/namespaces/default/pods/shell/exec?command=ls&stdout=1', check=False).stderr
    assert 'Upgrade request required' in raw, raw


def check_first_words(kubectl):
    """kubectl throws away what comes before it has made its streams: nothing may come that early."""
    for i in range(30):
        assert kubectl('exec', 'shell', '--', 'echo', str(i)).strip() == str(i)


def check_terminal(kubectl):
    """kubectl exec -it on a terminal of our own, with a size."""
    master, slave = pty.openpty()
    subprocess.run(['stty', 'rows', '33', 'cols', '77'], stdin=slave, check=True)
    process = subprocess.Popen([*kubectl.command, 'exec', '-it', 'shell', '--', 'sh'], stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True)
    os.close(slave)
    seen = ''

    def read_until(pattern):
        nonlocal seen

        def look():
            nonlocal seen
            if select.select([master], [], [], 0.5)[0]:
                seen += os.read(master, 65536).decode(errors='replace')
            return re.search(pattern, seen)
        return wait_until('the terminal shows ' + pattern, look)
    try:
        read_until(r'[$#] ')
        os.write(master, b'test -t 0 && echo a-$((1+1))-tty\n')
        read_until('a-2-tty')

        def size_is_known():
            os.write(master, b'stty size\n')
            # What is typed before the prompt is there is echoed before it.
            return read_until(r'\n(# |\$ )?\d+ \d+\r\n') and '33 77' in seen
        wait_until('the terminal has its size', size_is_known)
        os.write(master, b'exit 5\n')
        assert process.wait(60) == 5, seen
    finally:
        process.kill()
        os.close(master)


def check_attach(kubectl):
    process = subprocess.Popen([*kubectl.command, 'attach', '-i', 'reader'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write('one\ntwo\n')
    process.stdin.flush()
    assert process.stdout.readline() == 'got one\n'
    assert process.stdout.readline() == 'got two\n'
    out, err = process.communicate(timeout=60)
    assert out == 'over\n' and process.returncode == 0, (out, err, process.returncode)
    wait_until('the container ended with its input',
               lambda: kubectl('get', 'pod', 'reader', '-o', 'jsonpath={.status.phase}') == 'Succeeded')
    assert 'got one' in kubectl('logs', 'reader')


def fetch(port, path, body=None):
    with urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:%d%s' % (port, path), data=body), timeout=30) as answer:
        return answer.read().decode()


def why_not(kubectl):
    """What is said of ports of the machine: a pod in a network of its own does not even meet them."""
    status = json.loads(kubectl('get', 'pod', 'web', '-o', 'json'))['status']
    return 'address not allowed' if status['podIP'] == status['hostIP'] else 'connection refused'


def check_port_forward(kubectl, port, environment):
    process = subprocess.Popen([*kubectl.command, 'port-forward', 'pod/web', ':%d' % port], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
    try:
        line = process.stdout.readline()
        local = int(re.search(r'127\.0\.0\.1:(\d+) ->', line).group(1))
        for i in range(20):
            assert fetch(local, '/n%d' % i).startswith('hello from /n%d' % i)
        body = b'y' * 3000000
        assert fetch(local, '/', body) == body.decode()
    finally:
        process.terminate()
        process.wait(30)
    check_port_is_not_forwarded(kubectl, free_port(), environment, 'connection refused')
    with socket.create_server(('127.0.0.1', 0)) as machine:
        check_port_is_not_forwarded(kubectl, machine.getsockname()[1], environment, why_not(kubectl))


def check_port_is_not_forwarded(kubectl, port, environment, why):
    """Nobody listens there, or somebody who is not of the pod."""
    process = subprocess.Popen([*kubectl.command, 'port-forward', 'pod/web', ':%d' % port], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
    try:
        local = int(re.search(r'127\.0\.0\.1:(\d+) ->', process.stdout.readline()).group(1))
        try:
            fetch(local, '/')
            raise AssertionError('nobody of the pod listens, and yet there was an answer')
        except (OSError, http.client.HTTPException):
            pass
        text = ''
        while why not in text:
            line = process.stdout.readline()
            assert line, text
            text += line
    finally:
        process.terminate()
        process.wait(30)


def check_cp(kubectl):
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    try:
        source, there, back = (os.path.join(folder, name) for name in ('source', 'there', 'back'))
        data = os.urandom(5000000)
        with open(source, 'wb') as f:
            f.write(data)
        kubectl('cp', source, 'shell:' + there)
        kubectl('cp', 'shell:' + there, back)
        with open(back, 'rb') as f:
            assert f.read() == data
    finally:
        shutil.rmtree(folder)


def check_run(kubectl):
    """A pod of its own for one command; image `host` has no entry point, so arguments alone are the command."""
    result = kubectl.run('run', 'once', '--rm', '-i', '--image=host', '--restart=Never', '--', 'sh', '-c', 'cat; echo over',
                         stdin='given\n', timeout=90)
    assert 'given\nover\n' in result.stdout, result


def check_debug(own):
    result = own.run('debug', 'shell', '--image=host', '--container=look', '--attach', '--', 'sh', '-c', 'echo looked; exit 4',
                     check=False)
    assert (result.stdout, result.returncode) == ('looked\n', 4), result


def check_proxy(kubectl, port):
    base = '/api/v1/namespaces/default/'
    assert kubectl('get', '--raw', base + 'pods/web:%d/proxy/a%%20b?c=d' % port).startswith('hello from /a%20b?c=d host=False')
    assert kubectl('get', '--raw', base + 'pods/web/proxy/x').startswith('hello from /x')
    wait_until('the service has an endpoint',
               lambda: kubectl('get', '--raw', base + 'services/web:http/proxy/s').startswith('hello from /s'))
    assert kubectl('get', '--raw', base + 'services/web:80/proxy/s').startswith('hello from /s')
    assert kubectl('get', '--raw', base + 'services/http:web:http/proxy/moved').startswith('hello from /there')
    result = kubectl.run('get', '--raw', base + 'services/web:81/proxy/', check=False)
    assert 'no service port 81 found for service "web"' in result.stderr, result.stderr
    for target in 'web:%d' % free_port(), 'shell:1':
        result = kubectl.run('get', '--raw', base + 'pods/%s/proxy/' % target, check=False)
        assert why_not(kubectl) in result.stderr, result.stderr
    node = kubectl('get', 'pod', 'web', '-o', 'jsonpath={.spec.nodeName}')
    assert kubectl('get', '--raw', '/api/v1/nodes/%s/proxy/healthz' % node) == 'ok'


def check_local_proxy(kubectl, port):
    base = '/api/v1/namespaces/default/'
    process = subprocess.Popen([*kubectl.command, 'proxy', '--port', '0'], stdout=subprocess.PIPE, text=True)
    try:
        local = int(re.search(r':(\d+)', process.stdout.readline()).group(1))
        assert fetch(local, base + 'pods/web:%d/proxy/p' % port, b'posted') == 'posted'
        assert json.loads(fetch(local, base + 'pods/shell'))['metadata']['name'] == 'shell'
        for path, host in ((base + 'pods/shell/exec?command=ls', 'localhost'), (base + 'pods', 'evil.example')):
            request = urllib.request.Request('http://127.0.0.1:%d%s' % (local, path), headers={'Host': host})
            try:
                urllib.request.urlopen(request, timeout=30)
                raise AssertionError('not refused: ' + path)
            except urllib.error.HTTPError as e:
                assert e.code == 403, e
    finally:
        process.terminate()
        process.wait(30)


def check_logs(kubectl):
    process = subprocess.run([*kubectl.command, 'logs', '-f', 'ticker'], capture_output=True, text=True, timeout=60)
    assert process.stdout == ''.join('tick %d\n' % n for n in range(5)), process


def check_log_messages(kubectl):
    """A log that is asked for as a WebSocket, as Go's clients without a page ask."""
    config = json.loads(kubectl('config', 'view', '--raw', '-o', 'json'))
    server = urllib.parse.urlsplit(config['clusters'][0]['cluster']['server'])
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with tempfile.NamedTemporaryFile() as f:
        for part in 'client-certificate-data', 'client-key-data':
            f.write(base64.b64decode(config['users'][0]['user'][part]))
        f.flush()
        context.load_cert_chain(f.name)
    for protocol, opcode, decode in (('binary.k8s.io', 2, bytes), ('base64.binary.k8s.io', 1, base64.b64decode)):
        with context.wrap_socket(socket.create_connection((server.hostname, server.port), timeout=30)) as s:
            s.sendall(('GET /api/v1/namespaces/default/pods/ticker/log HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
                       'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://localhost\r\n'
                       'Sec-WebSocket-Protocol: %s\r\n\r\n' % (server.netloc, protocol)).encode())
            stream = s.makefile('rb')
            head = b''.join(iter(stream.readline, b'\r\n')).decode()
            assert ' 101 ' in head and protocol in head, head
            text = b''
            while True:
                first, size = stream.read(2)
                if first & 15 == 8:
                    break
                size = int.from_bytes(stream.read(2), 'big') if size == 126 else size
                assert first == 0x80 | opcode, first
                text += decode(stream.read(size))
        assert text.decode() == ''.join('tick %d\n' % n for n in range(5)), text


PYTHON = '''
import sys, time, urllib.request
from kubernetes import client, config
from kubernetes.stream import stream, portforward
config.load_kube_config(sys.argv[1])
port = int(sys.argv[2])
core = client.CoreV1Api()
def run(command, **options):
    given = dict(command=command, stderr=True, stdin=False, stdout=True, tty=False)
    given.update(options)
    return stream(core.connect_get_namespaced_pod_exec, 'shell', 'default', **given)
assert run(['echo', 'hi']) == 'hi\\n'
assert core.connect_get_namespaced_pod_exec.__name__
opened = run(['sh', '-c', 'read x; echo "<$x>"; echo oops >&2; exit 3'], stdin=True, _preload_content=False)
opened.write_stdin('given\\n')
opened.run_forever(timeout=60)
assert opened.read_stdout() == '<given>\\n', opened
assert opened.read_stderr() == 'oops\\n'
assert opened.returncode == 3, opened.returncode
many = run(['sh', '-c', 'n=0; while [ $n -lt 200 ]; do echo line $n; n=$((n+1)); done'])
assert many == ''.join('line %d\\n' % n for n in range(200)), many[-100:]
for _ in range(10):
    assert run(['sh', '-c', 'echo a; echo b >&2; echo c']).replace('b\\n', '') == 'a\\nc\\n'
tty = run(['sh', '-c', 'test -t 1 && echo terminal'], tty=True, stdin=True)
assert 'terminal' in tty, tty
try:
    stream(core.connect_get_namespaced_pod_exec, 'nobody', 'default', command='ls', stdout=True)
    raise SystemExit('there is no such pod')
except client.exceptions.ApiException as e:
    assert '404' in str(e), e
forwarded = portforward(core.connect_get_namespaced_pod_portforward, 'web', 'default', ports=str(port))
socket = forwarded.socket(port)
socket.setblocking(True)
socket.sendall(b'GET /python HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')
answer = b''
while b'hello from /python' not in answer:
    piece = socket.recv(4096)
    assert piece, answer
    answer += piece
socket.close()
assert 'hello' in core.connect_get_namespaced_pod_proxy_with_path('web', 'default', path='x')
print('python client: ok')
'''


def check_python(program, port):
    probe = subprocess.run([PYTHON_CLIENT, '-c', 'import kubernetes'], capture_output=True)
    if probe.returncode != 0:
        print('python3-kubernetes is not installed: its part is skipped')
        return
    result = subprocess.run([PYTHON_CLIENT, '-c', PYTHON, program.kubeconfig, str(port)], capture_output=True, text=True,
                            timeout=180)
    assert 'python client: ok' in result.stdout, result.stdout + result.stderr


def check_all(program):
    kubectl = Kubectl(program.kubeconfig)
    port = free_port()
    wait_until('the default service account is there',
               lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
    make_pods(kubectl, port)
    check_logs(kubectl)
    check_log_messages(kubectl)
    for speaker in (kubectl, Spdy(program.kubeconfig)):
        check_exec(speaker)
    check_first_words(kubectl)
    check_terminal(kubectl)
    check_attach(kubectl)
    check_port_forward(kubectl, port, {})
    check_port_forward(kubectl, port, {'KUBECTL_PORT_FORWARD_WEBSOCKETS': 'false'})
    own = Kubectl(program.kubeconfig, command=(program.binary,))
    for client in (kubectl, own):
        check_cp(client)
        check_run(client)
    check_debug(own)
    check_proxy(kubectl, port)
    for client in (kubectl, own):
        check_local_proxy(client, port)
    check_errors(kubectl)
    check_python(program, port)
    print('one process: ok')


def check_apart(program):
    """Enough to know that nothing depends on being in one process."""
    kubectl = Kubectl(program.kubeconfig)
    port = free_port()
    wait_until('the default service account is there',
               lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
    make_pods(kubectl, port)
    check_exec(kubectl)
    check_port_forward(kubectl, port, {})
    check_proxy(kubectl, port)
    print('processes apart: ok')


def check_sim(binary):
    """Nothing pretends to run."""
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(binary, 'up', '--data-dir', folder, '--port', '0', '--runtime', 'sim', data_dir=folder)
    try:
        kubectl = Kubectl(program.kubeconfig)
        wait_until('the default service account is there',
                   lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
        kubectl('run', 'p', '--image=x')
        kubectl('wait', '--for=condition=Ready', 'pod/p', '--timeout=60s', timeout=90)
        result = kubectl.run('exec', 'p', '--', 'ls', check=False)
        assert result.returncode != 0 and 'only simulates' in result.stderr, result.stderr
        program.stop()
        print('sim: ok')
    finally:
        program.kill()
        program.remove()


def main():
    binary = sys.argv[1]
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(binary, 'up', '--data-dir', folder, '--port', '0', '--host-image', 'on', data_dir=folder)
    try:
        check_all(program)
        program.stop()
    finally:
        program.kill()
        program.remove()
    check_sim(binary)
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    programs = [Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)]
    try:
        for arguments in (['controllers'], ['scheduler'], ['node', '--name', 'n1', '--data-dir', os.path.join(folder, 'node'), '--host-image', 'on']):
            programs.append(Program(binary, *arguments, '--kubeconfig', programs[0].kubeconfig, ready='running'))
        check_apart(programs[0])
        for one in reversed(programs):
            one.stop()
    finally:
        for one in programs:
            one.kill()
        for one in programs:
            one.remove()


main()
