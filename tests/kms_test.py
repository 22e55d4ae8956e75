"""Encryption at rest with keys that a KMS v2 plugin keeps: a real gRPC server on a Unix socket."""
import json
import os
import subprocess
import sys
import tempfile

from program import Kubectl, Program, skip, wait_until

try:
    import grpc  # noqa: F401
    import google.protobuf  # noqa: F401
except ImportError:
    skip('the test\'s KMS plugin needs python3-grpcio and python3-protobuf')

SECRET = 'tr0ub4dor-and-3'
CONFIG = """apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: cloud, endpoint: 'unix://%s', timeout: 2s}
  - identity: {}
"""


class Plugin:
    def __init__(self, folder):
        self.socket, self.state = os.path.join(folder, 'kms.sock'), os.path.join(folder, 'kms.json')
        self.process = None
        self.say(keyID='key-1')

    def say(self, **state):
        with open(self.state + '.new', 'w') as f:
            json.dump(state, f)
        os.rename(self.state + '.new', self.state)

    def start(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kms', 'plugin.py')
        self.process = subprocess.Popen([sys.executable, script, self.socket, self.state], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == 'listening\n'

    def stop(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.socket):
            os.unlink(self.socket)

    def calls(self):
        with open(self.state + '.log') as f:
            return f.read().split('\n')[:-1]


class Home:
    def __init__(self, binary, path):
        self.binary, self.path = binary, path
        self.plugin = Plugin(path)
        self.config = os.path.join(path, 'enc.yaml')
        with open(self.config, 'w') as f:
            f.write(CONFIG % self.plugin.socket)

    def serve(self, data='data', **kwargs):
        output = os.path.join(self.path, 'output-' + data)
        os.makedirs(output, exist_ok=True)
        folder = os.path.join(self.path, data)
        program = Program(self.binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', '--encryption-provider-config',
                          self.config, data_dir=output, **kwargs)
        return program, Kubectl(os.path.join(folder, 'kubeconfig'))

    def stored(self, data='data'):
        database = os.path.join(self.path, data, 'flyball.db')
        path = database if os.path.exists(database) else next(
            os.path.join(self.path, data, n) for n in os.listdir(os.path.join(self.path, data)) if n.endswith('.db'))
        text = b''
        for name in (path, path + '-wal'):
            if os.path.exists(name):
                with open(name, 'rb') as f:
                    text += f.read()
        return text


def secrets_are_sealed_and_come_back(home):
    home.plugin.start()
    server, kubectl = home.serve()
    kubectl('create', 'secret', 'generic', 'db', '--from-literal=word=' + SECRET)
    kubectl('create', 'configmap', 'open', '--from-literal=word=visible-word')
    stored = home.stored()
    assert b'k8s:enc:kms:v2:cloud:' in stored and b'visible-word' in stored
    assert SECRET.encode() not in stored and b'dHIwdWI0ZG9y' not in stored, 'the Secret lies in the store'
    assert '[+]kms-providers ok' in kubectl('get', '--raw', '/readyz?verbose')
    server.stop()
    before = home.plugin.calls()
    assert before.count('Encrypt key-1') == 1, before
    server, kubectl = home.serve()
    assert kubectl('get', 'secret', 'db', '-o', 'jsonpath={.data.word}') == 'dHIwdWI0ZG9yLWFuZC0z'
    assert home.plugin.calls()[len(before):].count('Decrypt key-1') == 1, home.plugin.calls()
    server.stop()


def a_new_key_is_written_with_and_old_ones_are_read(home):
    home.plugin.say(keyID='key-2')
    server, kubectl = home.serve()
    kubectl('create', 'secret', 'generic', 'newer', '--from-literal=word=' + SECRET)
    assert 'Encrypt key-2' in home.plugin.calls()
    assert kubectl('get', 'secret', 'db', '-o', 'jsonpath={.data.word}') == 'dHIwdWI0ZG9yLWFuZC0z'
    server.stop()
    subprocess.run([home.binary, 'store', 'encrypt', '--data-dir', os.path.join(home.path, 'data'), '--encryption-provider-config',
                    home.config], check=True, capture_output=True)
    count = len(home.plugin.calls())
    server, kubectl = home.serve()
    assert kubectl('get', 'secret', 'db', '-o', 'jsonpath={.data.word}') == 'dHIwdWI0ZG9yLWFuZC0z'
    assert 'Decrypt key-1' not in home.plugin.calls()[count:], 'rewritten, nothing needs the old key any more'
    server.stop()


def without_the_plugin_nothing_is_written(home):
    home.plugin.stop()
    server, kubectl = home.serve('other')
    refused = kubectl.run('create', 'secret', 'generic', 'lost', '--from-literal=word=x', check=False)
    assert refused.returncode != 0 and 'KMS Provider cloud' in refused.stderr, refused
    assert SECRET.encode() not in home.stored('other')
    kubectl('create', 'configmap', 'fine')
    ready = kubectl.run('get', '--raw', '/readyz?verbose', check=False)
    assert '[-]kms-providers failed' in ready.stdout + ready.stderr, ready
    home.plugin.start()
    wait_until('the plugin is found again', lambda: kubectl.run('create', 'secret', 'generic', 'kept', '--from-literal=word=x',
                                                                check=False).returncode == 0)
    home.plugin.say(keyID='key-3', healthz='sick')
    server.stop()
    home.plugin.stop()


def without_the_plugin_a_server_starts_and_is_not_ready(home):
    """What the plugin has the key to cannot be read or written; all else is served. That changes when the plugin is back."""
    server, kubectl = home.serve()
    try:
        ready = kubectl.run('get', '--raw', '/readyz?verbose', check=False)
        assert '[-]kms-providers failed' in ready.stdout + ready.stderr, ready
        kubectl('create', 'configmap', 'served')
        for verb in (('get', 'secret', 'db'), ('get', 'secrets'), ('delete', 'secret', 'db')):
            refused = kubectl.run(*verb, check=False)
            assert refused.returncode != 0 and 'unable to transform key' in refused.stderr, refused
        home.plugin.say(keyID='key-2')
        home.plugin.start()
        wait_until('Secrets can be read', lambda: kubectl.run('get', 'secret', 'db', check=False).returncode == 0)
        assert kubectl('get', 'secret', 'db', '-o', 'jsonpath={.data.word}') == 'dHIwdWI0ZG9yLWFuZC0z'
        wait_until('the server is ready', lambda: kubectl.run('get', '--raw', '/readyz', check=False).returncode == 0)
    finally:
        server.stop()
        home.plugin.stop()


def mistakes_are_refused(home):
    for provider, said in (('{name: cloud, endpoint: "unix:///x"}', 'KMSv1 is deprecated'),
                           ('{apiVersion: v2, name: "a:b", endpoint: "unix:///x"}', "must not contain ':'"),
                           ('{apiVersion: v2, name: a, endpoint: "tcp://x"}', 'unsupported scheme \\"tcp\\" for KMS provider, only unix is supported'),
                           ('{apiVersion: v2, name: a, endpoint: "unix:///x", cachesize: 5}', 'cachesize is not supported in v2'),
                           ('{apiVersion: v2, name: a, endpoint: "unix:///x", timeout: 0s}', 'timeout should be a positive value'),
                           ('{apiVersion: v2, name: a}', 'endpoint is a mandatory field for a kms')):
        path = os.path.join(home.path, 'bad.yaml')
        with open(path, 'w') as f:
            f.write('apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n'
                    '- resources: [secrets]\n  providers: [{kms: %s}]\n' % provider)
        result = subprocess.run([home.binary, 'apiserver', '--data-dir', os.path.join(home.path, 'never'), '--secure-port', '0',
                                 '--encryption-provider-config', path], capture_output=True, text=True, timeout=60)
        text = result.stdout + result.stderr
        assert result.returncode == 1 and said.replace('\\"', '"') in text.replace('\\"', '"'), (provider, text)


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as path:
        home = Home(sys.argv[1], path)
        try:
            for step in (secrets_are_sealed_and_come_back, a_new_key_is_written_with_and_old_ones_are_read,
                         without_the_plugin_nothing_is_written, without_the_plugin_a_server_starts_and_is_not_ready,
                         mistakes_are_refused):
                step(home)
                print('ok', step.__name__, flush=True)
        finally:
            if home.plugin.process and home.plugin.process.poll() is None:
                home.plugin.stop()


if __name__ == '__main__':
    main()
