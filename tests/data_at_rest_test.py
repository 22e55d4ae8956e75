"""What lies on the disk: Secrets encrypted, keys and folders private, snapshots whole, nothing lost without a word."""
import base64
import glob
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile

from program import Kubectl, Program, wait_until

SECRET = 'tr0ub4dor-and-3'
CONFIG = """apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, configmaps]
  providers:
%s  - identity: {}
"""


def provider(name, key, letter):
    secret = base64.b64encode(letter * 32).decode()
    return '  - %s: {keys: [{name: %s, secret: %s}]}\n' % (name, key, secret)


class Home:
    """A folder for data folders."""

    def __init__(self, binary, path):
        self.binary, self.path = binary, path

    def file(self, *names):
        return os.path.join(self.path, *names)

    def write(self, name, text):
        with open(self.file(name), 'w') as f:
            f.write(text)
        return self.file(name)

    def start(self, data, *flags, command='apiserver'):
        port = {'apiserver': '--secure-port', 'up': '--port'}[command]
        output = self.file('output-' + data)
        os.makedirs(output, exist_ok=True)
        return Program(self.binary, command, '--data-dir', self.file(data), port, '0', *flags, data_dir=output)

    def kubectl(self, data):
        return Kubectl(self.file(data, 'kubeconfig'))

    def run(self, *arguments, status=0):
        result = subprocess.run([self.binary, *arguments], capture_output=True, text=True, timeout=60)
        assert result.returncode == status, '%s: exit status %d: %s%s' % (arguments, result.returncode, result.stdout, result.stderr)
        return result.stdout + result.stderr

    def refused(self, data, *flags):
        return self.run('apiserver', '--data-dir', self.file(data), '--secure-port', '0', *flags, status=1)


def occurs(path, text):
    """Whether the text, or its base64, is anywhere in the file."""
    with open(path, 'rb') as f:
        content = f.read()
    return text.encode() in content or base64.b64encode(text.encode()) in content


def assert_sealed(folder, what):
    found = [path for path in glob.glob(os.path.join(folder, '**', '*'), recursive=True)
             if os.path.isfile(path) and occurs(path, SECRET)]
    assert not found, '%s: the secret is readable in %s' % (what, found)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def stored_value(data, key):
    with sqlite3.connect('file:%s/flyball.db?mode=ro' % data, uri=True) as db:
        return db.execute('SELECT value FROM log WHERE key = ? ORDER BY id DESC LIMIT 1', (key,)).fetchone()[0]


def up_encrypts_secrets(home):
    cluster = home.start('up', '--runtime', 'sim', command='up')
    kubectl = home.kubectl('up')
    kubectl('create', 'secret', 'generic', 'db', '--from-literal=password=' + SECRET)
    assert_sealed(home.file('up'), 'while it runs')
    assert mode_of(home.file('up')) == 0o700, oct(mode_of(home.file('up')))
    for name in os.listdir(home.file('up', 'pki')):
        assert mode_of(home.file('up', 'pki', name)) == 0o600, name
    assert mode_of(home.file('up', 'flyball.db')) == 0o600
    assert mode_of(home.file('up', 'kubeconfig')) == 0o600
    home.run('snapshot', 'save', home.file('up.snapshot'), '--data-dir', home.file('up'))
    assert not occurs(home.file('up.snapshot'), SECRET), 'the secret is readable in the snapshot'
    assert mode_of(home.file('up.snapshot')) == 0o600
    cluster.process.kill()
    cluster.process.wait()
    assert os.path.getsize(home.file('up', 'flyball.db-wal')) > 0
    assert_sealed(home.file('up'), 'after a crash')

    cluster = home.start('up', '--runtime', 'sim', command='up')
    got = json.loads(home.kubectl('up')('get', 'secret', 'db', '-o', 'json'))
    assert base64.b64decode(got['data']['password']).decode() == SECRET
    cluster.stop()
    assert_sealed(home.file('up'), 'stopped')


def a_lost_key_is_not_a_lost_secret_in_silence(home):
    os.rename(home.file('up', 'pki', 'encryption-config.yaml'), home.file('kept.yaml'))
    said = home.refused('up')
    assert 'unable to transform key "/registry/secrets/' in said and 'put that key back' in said, said
    os.rename(home.file('kept.yaml'), home.file('up', 'pki', 'encryption-config.yaml'))


def snapshots_bring_the_whole_cluster_back(home):
    ca = open(home.file('up', 'pki', 'ca.crt')).read()
    said = home.run('snapshot', 'status', home.file('up.snapshot'))
    assert 'checksum ok' in said, said
    home.run('snapshot', 'restore', home.file('up.snapshot'), '--data-dir', home.file('restored'))
    assert open(home.file('restored', 'pki', 'ca.crt')).read() == ca
    server = home.start('restored')
    # The old administrator's kubeconfig: same CA, same key; only the port is another.
    kubectl = Kubectl(home.file('up', 'kubeconfig'))
    got = json.loads(kubectl('--server', server.url, 'get', 'secret', 'db', '-o', 'json'))
    assert base64.b64decode(got['data']['password']).decode() == SECRET
    server.stop()

    passphrase = home.write('passphrase', 'correct horse battery staple\n')
    home.run('snapshot', 'save', home.file('sealed.snapshot'), '--data-dir', home.file('up'), '--passphrase-file', passphrase)
    assert not occurs(home.file('sealed.snapshot'), 'PRIVATE KEY'), 'a private key is readable in the sealed snapshot'
    assert occurs(home.file('up.snapshot'), 'PRIVATE KEY'), 'the test looks for the wrong thing'
    said = home.run('snapshot', 'restore', home.file('sealed.snapshot'), '--data-dir', home.file('nothing'), status=1)
    assert '--passphrase-file' in said and not os.path.exists(home.file('nothing', 'flyball.db')), said
    home.run('snapshot', 'restore', home.file('sealed.snapshot'), '--data-dir', home.file('unsealed'), '--passphrase-file', passphrase)
    assert open(home.file('unsealed', 'pki', 'ca.crt')).read() == ca

    with open(home.file('up.snapshot'), 'r+b') as f:
        content = f.read()
        f.seek(content.index(b'PRIVATE KEY'))
        f.write(b'p')
    said = home.run('snapshot', 'restore', home.file('up.snapshot'), '--data-dir', home.file('damaged'), status=1)
    assert 'does not match its checksum' in said, said


def keys_rotate_and_old_objects_are_rewritten(home):
    plain = home.start('rotate')
    kubectl = home.kubectl('rotate')
    kubectl('create', 'secret', 'generic', 'db', '--from-literal=password=' + SECRET)
    kubectl('create', 'configmap', 'settings', '--from-literal=colour=green')
    plain.stop()
    assert occurs(home.file('rotate', 'flyball.db'), SECRET), 'the test looks for the wrong thing'

    first = home.write('first.yaml', CONFIG % provider('aescbc', 'old', b'a'))
    server = home.start('rotate', '--encryption-provider-config', first)
    assert json.loads(kubectl('get', 'secret', 'db', '-o', 'json'))['data']
    before = json.loads(kubectl('get', 'configmap', 'settings', '-o', 'json'))['metadata']['resourceVersion']
    # Upstream's way: write everything again as it is.
    kubectl('replace', '-f', '-', stdin=kubectl('get', 'configmap', 'settings', '-o', 'json'))
    after = json.loads(kubectl('get', 'configmap', 'settings', '-o', 'json'))['metadata']['resourceVersion']
    assert before != after, 'a write that changes only the encryption did not happen'
    kubectl('replace', '-f', '-', stdin=kubectl('get', 'configmap', 'settings', '-o', 'json'))
    again = json.loads(kubectl('get', 'configmap', 'settings', '-o', 'json'))['metadata']['resourceVersion']
    assert after == again, 'a write that changes nothing happened'
    metrics = kubectl('get', '--raw', '/metrics')
    assert 'apiserver_storage_transformation_operations_total{resource="configmaps"' in metrics
    server.stop()
    assert stored_value(home.file('rotate'), '/registry/configmaps/default/settings').startswith(b'k8s:enc:aescbc:v1:old:')

    second = home.write('second.yaml', CONFIG % (provider('aesgcm', 'new', b'b') + provider('aescbc', 'old', b'a')))
    said = home.run('store', 'encrypt', '--data-dir', home.file('rotate'), '--encryption-provider-config', second)
    assert 'rewritten' in said, said
    assert_sealed(home.file('rotate'), 'rewritten')
    for key in ('secrets/default/db', 'configmaps/default/settings'):
        assert stored_value(home.file('rotate'), '/registry/' + key).startswith(b'k8s:enc:aesgcm:v1:new:'), key
    said = home.run('store', 'encrypt', '--data-dir', home.file('rotate'), '--encryption-provider-config', second)
    assert 'rewritten 0' in said, said

    third = home.write('third.yaml', CONFIG % provider('aesgcm', 'new', b'b'))
    server = home.start('rotate', '--encryption-provider-config', third)
    got = json.loads(kubectl('get', 'secret', 'db', '-o', 'json'))
    assert base64.b64decode(got['data']['password']).decode() == SECRET
    server.stop()


def wrong_configurations_are_refused(home):
    said = home.refused('refused', '--encryption-provider-config', home.file('absent.yaml'))
    assert 'No such file' in said, said
    kms = home.write('kms.yaml', CONFIG % '  - kms: {apiVersion: v2, name: k, endpoint: "unix:///k.sock"}\n')
    said = home.refused('refused', '--encryption-provider-config', kms)
    assert 'KMS Provider k' in said and 'no such file or directory' in said, said


def what_is_missing_is_said(home):
    server = home.start('missing')
    home.kubectl('missing')('create', 'configmap', 'x')
    server.process.kill()
    server.process.wait()
    data = home.file('missing')
    os.rename(os.path.join(data, 'flyball.db-wal'), home.file('wal'))
    said = home.refused('missing')
    assert 'write-ahead log' in said and 'flyball snapshot restore' in said, said
    os.rename(home.file('wal'), os.path.join(data, 'flyball.db-wal'))
    server = home.start('missing')
    home.kubectl('missing')('get', 'configmap', 'x')
    server.stop()

    os.rename(os.path.join(data, 'flyball.db'), home.file('db'))
    said = home.refused('missing')
    assert 'is missing or empty' in said and 'flyball store init' in said, said
    assert not os.path.exists(os.path.join(data, 'flyball.db')), 'the refusal left a database behind'
    home.run('store', 'init', '--data-dir', data)
    home.start('missing').stop()

    for name, message in (('ca.key', 'is empty'), ('sa.key', 'is empty')):
        path = os.path.join(data, 'pki', name)
        shutil.copy(path, home.file('copy'))
        open(path, 'w').close()
        said = home.refused('missing')
        assert name in said and message in said, said
        shutil.copy(home.file('copy'), path)
    os.rename(os.path.join(data, 'pki', 'ca.key'), home.file('ca.key'))
    said = home.refused('missing')
    assert 'ca.key is missing' in said, said


def big_configmap(name, size):
    return json.dumps({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': {'x': 'x' * size}})


def a_full_store_takes_deletions_only(home):
    quota = 1 << 20
    server = home.start('full', '--quota-backend-bytes', str(quota))
    kubectl = home.kubectl('full')
    refusal = None
    for i in range(40):
        result = kubectl.run('create', '-f', '-', stdin=big_configmap('c%d' % i, 100000), check=False)
        if result.returncode:
            refusal = result.stderr
            break
    assert refusal and 'etcdserver: mvcc: database space exceeded' in refusal, refusal
    assert 'flyball_store_alarm{alarm="NOSPACE"} 1' in kubectl('get', '--raw', '/metrics')
    assert kubectl('get', 'configmap', 'c0', '-o', 'name') == 'configmap/c0'
    assert kubectl('get', '--raw', '/readyz') == 'ok'
    kubectl('delete', 'configmap', 'c0')
    server.stop()
    # It comes up again, says the same, and a larger quota or less history helps.
    server = home.start('full', '--quota-backend-bytes', str(quota))
    assert kubectl.run('create', '-f', '-', stdin=big_configmap('more', 900000), check=False).returncode != 0
    server.stop()
    said = home.run('store', 'defrag', '--data-dir', home.file('full'))
    assert 'bytes after' in said, said
    server = home.start('full')
    kubectl('create', '-f', '-', stdin=big_configmap('more', 900000))
    server.stop()


def snapshots_are_taken_on_schedule(home):
    folder = home.file('scheduled')
    server = home.start('scheduled-data', '--snapshot-interval', '1s', '--snapshot-count', '2', '--snapshot-dir', folder)
    seen = set()

    def enough():
        seen.update(name for name in os.listdir(folder) if name.endswith('.db'))
        return len(seen) >= 4
    wait_until('four snapshots were taken', enough)
    server.stop()
    left = sorted(name for name in os.listdir(folder))
    assert len(left) == 2 and left == sorted(seen | set(left))[-2:], left
    said = home.run('snapshot', 'status', os.path.join(folder, left[-1]))
    assert 'checksum ok' in said and 'files' in said, said


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as path:
        home = Home(sys.argv[1], path)
        for step in (up_encrypts_secrets, a_lost_key_is_not_a_lost_secret_in_silence, snapshots_bring_the_whole_cluster_back,
                     keys_rotate_and_old_objects_are_rewritten, wrong_configurations_are_refused, what_is_missing_is_said,
                     a_full_store_takes_deletions_only, snapshots_are_taken_on_schedule):
            step(home)
            print('ok', step.__name__, flush=True)


if __name__ == '__main__':
    main()
