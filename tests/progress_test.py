"""What people see while they wait: lines that are written over on a terminal, and nothing of them in pipes or under the name kubectl.

    progress_test.py build/flyball
"""
import contextlib
import fcntl
import hashlib
import http.server
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import threading
import time

ERASE = '\x1b[K'
OBJECTS = 300


class Terminal:
    """A program on a pseudo-terminal of 100 columns, and what it has written there."""

    def __init__(self, command, environment):
        self.main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
        self.text = ''
        self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env={**environment, 'TERM': 'xterm'},
                                        start_new_session=True)
        os.close(terminal)

    def read_until(self, pattern, seconds=120):
        """What the program wrote, as soon as the pattern is in it; everything, if there is no pattern."""
        deadline = time.monotonic() + seconds
        while not (pattern and re.search(pattern, self.text)):
            assert time.monotonic() < deadline, 'no %r in %r' % (pattern, self.text)
            if not select.select([self.main], [], [], 1)[0]:
                continue
            try:
                data = os.read(self.main, 65536)
            except OSError:  # the program has ended
                data = b''
            if not data:
                assert not pattern, 'no %r in %r' % (pattern, self.text)
                break
            self.text += data.decode(errors='replace')
        return self.text

    def end(self, status=0):
        """Everything it wrote."""
        text = self.read_until(None)
        assert self.process.wait(60) == status, text
        os.close(self.main)
        return text


def left_over(text):
    """What stands on the terminal in the end."""
    lines = []
    for line in text.replace('\r\n', '\n').split('\n'):
        shown, at = '', 0
        for part in re.split('(\r|\x1b\\[K)', line):
            if part == '\r':
                at = 0
            elif part == ERASE:
                shown = shown[:at]
            else:
                shown = shown[:at] + part + shown[at + len(part):]
                at += len(part)
        lines.append(shown.rstrip())
    return '\n'.join(lines)


def config_maps(folder, prefix):
    path = os.path.join(folder, prefix + '.yaml')
    with open(path, 'w') as f:
        for i in range(OBJECTS):
            f.write('---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\n' % (prefix, i))
    return path


def apply_counts(flyball, folder, environment):
    text = Terminal([flyball, 'apply', '-f', config_maps(folder, 'seen')], environment).end()
    assert re.search(r'\[#+\.+\] \d+ %  \d+ of 300 objects' + re.escape(ERASE), text), text
    assert left_over(text).splitlines() == ['configmap/seen-%d created' % i for i in range(OBJECTS)], left_over(text)
    print('ok   apply of %d objects counts them on a terminal, and leaves what it always printed' % OBJECTS)


def pipes_have_none(flyball, folder, environment):
    done = subprocess.run([flyball, 'apply', '-f', config_maps(folder, 'piped')], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.count(' created\n') == OBJECTS and '\x1b' not in done.stdout and done.stderr == '', done.stderr
    kubectl = os.path.join(folder, 'kubectl')
    os.symlink(flyball, kubectl)
    text = Terminal([kubectl, 'apply', '-f', config_maps(folder, 'named')], environment).end()
    assert ERASE not in text and text.count(' created') == OBJECTS, text
    print('ok   pipes and kubectl have none of it')


def up_says_how_the_cluster_is(flyball, environment):
    terminal = Terminal([flyball, 'up', '--ephemeral', '--runtime', 'sim', '--nodes', '2', '--port', '0'], environment)
    terminal.read_until(r'2 of 2 nodes ready, 0 pods, \d+\.\d MB, up \d+s')
    assert 'Ctrl-C stops it' in left_over(terminal.text)
    terminal.process.send_signal(signal.SIGINT)
    text = left_over(terminal.end())
    assert 'nodes ready, ' not in text and text.rstrip().endswith('stopping'), text
    done = subprocess.Popen([flyball, 'up', '--ephemeral', '--runtime', 'sim', '--port', '0'], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    seen = ''
    for line in done.stdout:
        seen += line
        if line == 'All nodes are ready.\n':
            done.send_signal(signal.SIGTERM)
    assert done.wait(60) == 0 and '\x1b' not in seen, seen
    print('ok   up has a live line on a terminal, and none in a pipe')


def detached_start_says_what_it_waits_for(flyball, environment):
    text = Terminal([flyball, 'up', 'one', '-d', '--runtime', 'sim'], environment).end()
    assert 'starting cluster "one": waiting for' in text, text
    assert left_over(text).startswith('cluster "one" is up'), left_over(text)
    Terminal([flyball, 'cluster', 'delete', 'one'], environment).end()
    print('ok   up -d says what it waits for')


class Registry(http.server.BaseHTTPRequestHandler):
    """One image, whose layer comes in pieces."""
    protocol_version = 'HTTP/1.1'
    documents = {}

    def do_GET(self):
        kind, data, pieces = self.documents.get(self.path, ('text/plain', b'', 0))
        self.send_response(200 if pieces else 404)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        for i in range(pieces):
            self.wfile.write(data[i * len(data) // pieces:(i + 1) * len(data) // pieces])
            if pieces > 1:
                time.sleep(0.05)  # the pace of a network

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def registry():
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode='w') as tar:
        info = tarfile.TarInfo('data')
        info.size = 2_000_000
        tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    layer = layer.getvalue()
    digest = lambda data: 'sha256:' + hashlib.sha256(data).hexdigest()  # noqa: E731
    config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {}, 'rootfs': {'type': 'layers', 'diff_ids': [digest(layer)]}}).encode()
    kind = 'application/vnd.oci.image.%s'
    manifest = json.dumps({'schemaVersion': 2, 'mediaType': kind % 'manifest.v1+json',
                           'config': {'mediaType': kind % 'config.v1+json', 'digest': digest(config), 'size': len(config)},
                           'layers': [{'mediaType': kind % 'layer.v1.tar', 'digest': digest(layer), 'size': len(layer)}]}).encode()
    Registry.documents = {'/v2/app/manifests/1': (kind % 'manifest.v1+json', manifest, 1),
                          '/v2/app/blobs/' + digest(config): ('application/json', config, 1),
                          '/v2/app/blobs/' + digest(layer): ('application/octet-stream', layer, 20)}
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield 'localhost:%d' % server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def pulls_say_how_far_they_are(flyball, folder, environment):
    if os.geteuid() != 0:
        return print('--   pulls: unpacking layers needs root')
    with registry() as host:
        command = [flyball, 'image', 'pull', host + '/app:1', '--data-dir']
        text = Terminal([*command, os.path.join(folder, 'a')], environment).end()
        assert re.search(r'\[#+\.+\] \d+ %  \d of 2 layers, \d\.\d MB of 2\.0 MB  ', text), text
        lines = left_over(text).splitlines()
        assert len(lines) == 3 and lines[-1].startswith('pulled ' + host), lines
        done = subprocess.run([*command, os.path.join(folder, 'b')], env=environment, capture_output=True, text=True, check=True)
        assert '\x1b' not in done.stdout and done.stderr == '' and len(done.stdout.splitlines()) == 3, done
    print('ok   image pull shows layers and bytes')


def main():
    flyball = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    environment = {k: v for k, v in os.environ.items() if k not in ('KUBECONFIG', 'XDG_DATA_HOME')} | {'HOME': folder}
    server = subprocess.Popen([flyball, 'testserver', '--print', 'json'], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        kubeconfig = json.loads(server.stdout.readline())['kubeconfig']
        apply_counts(flyball, folder, environment | {'KUBECONFIG': kubeconfig})
        pipes_have_none(flyball, folder, environment | {'KUBECONFIG': kubeconfig})
        up_says_how_the_cluster_is(flyball, environment)
        detached_start_says_what_it_waits_for(flyball, environment)
        pulls_say_how_far_they_are(flyball, folder, environment)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


main()
