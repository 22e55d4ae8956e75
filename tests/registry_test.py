"""Images from a real registry (Debian's docker-registry) on this machine: open and with passwords, pulled by hand and for pods, with
kubelet's events and reasons."""
import base64
import crypt
import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

from containers import IMAGE, apply, build_image, check_machine, clean, container_status, ended, pod, waiting
from program import Kubectl, Program, skip, wait_until

USER, PASSWORD = 'alice', 'open sesame'
BASIC = 'Basic ' + base64.b64encode(('%s:%s' % (USER, PASSWORD)).encode()).decode()


class Registry:
    """One process, on a free port; with `password`, nobody enters without."""

    def __init__(self, folder, password=False):
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port = free.getsockname()[1]
        self.host = 'localhost:%d' % self.port
        self.basic = BASIC if password else None
        config = {'version': 0.1, 'log': {'level': 'error'}, 'storage': {'filesystem': {'rootdirectory': folder + '/content'}},
                  'http': {'addr': '127.0.0.1:%d' % self.port}}
        os.makedirs(folder)
        if password:
            with open(folder + '/htpasswd', 'w') as f:
                f.write('%s:%s\n' % (USER, crypt.crypt(PASSWORD, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=2 ** 5))))
            config['auth'] = {'htpasswd': {'realm': 'test', 'path': folder + '/htpasswd'}}
        with open(folder + '/config.yml', 'w') as f:
            json.dump(config, f)
        self.process = subprocess.Popen(['docker-registry', 'serve', folder + '/config.yml'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until('the registry answers', self.answers)

    def answers(self):
        try:
            return self.request('GET', '/v2/')[0] == 200
        except OSError:
            return False

    def request(self, method, path, body=None, kind='application/octet-stream'):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        headers = {'Content-Type': kind} if body is not None else {}
        if self.basic:
            headers['Authorization'] = self.basic
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status, response.headers

    def put_blob(self, repository, content):
        status, headers = self.request('POST', '/v2/%s/blobs/uploads/' % repository, b'')
        assert status == 202, status
        place = headers['Location']
        place = place[place.index('/v2/'):]
        digest = 'sha256:' + hashlib.sha256(content).hexdigest()
        status, _ = self.request('PUT', place + ('&' if '?' in place else '?') + 'digest=' + digest, content)
        assert status == 201, status

    def push(self, images, name, repository, tag):
        """An image of a node's store, as it is there."""
        def blob(digest):
            with open('%s/blobs/sha256/%s' % (images, digest.split(':')[1]), 'rb') as f:
                return f.read()
        with open(images + '/images.json') as f:
            text = blob(json.load(f)['images']['docker.io/' + name]['manifest'])
        manifest = json.loads(text)
        for part in [manifest['config']] + manifest['layers']:
            self.put_blob(repository, blob(part['digest']))
        status, _ = self.request('PUT', '/v2/%s/manifests/%s' % (repository, tag), text, manifest['mediaType'])
        assert status == 201, status
        return 'sha256:' + hashlib.sha256(text).hexdigest()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def events(kubectl, name):
    found = json.loads(kubectl('get', 'events', '--field-selector', 'involvedObject.name=' + name, '-o', 'json'))['items']
    return {(event['reason'], event['message']) for event in found}


def has_event(kubectl, name, reason, part):
    wait_until('%s has the event %s with %s' % (name, reason, part),
               lambda: any(kind == reason and part in text for kind, text in events(kubectl, name)))


def secret(name, host, password=PASSWORD):
    config = {'auths': {host: {'username': USER, 'password': password}}}
    return {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': name}, 'type': 'kubernetes.io/dockerconfigjson',
            'data': {'.dockerconfigjson': base64.b64encode(json.dumps(config).encode()).decode()}}


def with_secrets(manifest, *names):
    manifest['spec']['imagePullSecrets'] = [{'name': name} for name in names]
    return manifest


def by_hand(binary, registry, digest):
    data = tempfile.mkdtemp(prefix='flyball-test-')
    pull = lambda name: subprocess.run([binary, 'image', 'pull', name, '--data-dir', data], capture_output=True, text=True)
    done = pull(registry.host + '/team/app:1')
    assert done.returncode == 0 and 'pulled %s/team/app:1 %s' % (registry.host, digest) in done.stdout, (done.stdout, done.stderr)
    done = pull(registry.host + '/team/app@' + digest)
    assert done.returncode == 0, done.stderr
    done = pull(registry.host + '/team/app:2')
    assert done.returncode == 1 and '%s/team/app:2: not found' % registry.host in done.stderr, done.stderr
    shutil.rmtree(data)


def without_passwords(kubectl, registry, digest):
    image = registry.host + '/team/app:1'
    apply(kubectl, pod('open', 'echo it runs', image=image, imagePullPolicy='Always'),
          pod('absent', image=registry.host + '/team/absent:1'))
    assert ended(kubectl, 'open')['exitCode'] == 0
    assert kubectl('logs', 'open') == 'it runs'
    assert container_status(kubectl, 'open')['imageID'] == '%s/team/app@%s' % (registry.host, digest)
    has_event(kubectl, 'open', 'Pulling', 'Pulling image "%s"' % image)
    has_event(kubectl, 'open', 'Pulled', 'Successfully pulled image "%s" in ' % image)
    apply(kubectl, pod('again', 'echo it runs', image=image))
    ended(kubectl, 'again')
    has_event(kubectl, 'again', 'Pulled', 'Container image "%s" already present on machine and can be accessed by the pod' % image)
    message = waiting(kubectl, 'absent', 'ImagePullBackOff')['message']
    assert message.startswith('Back-off pulling image "%s/team/absent:1": ErrImagePull: ' % registry.host), message
    has_event(kubectl, 'absent', 'Failed', 'Error: ErrImagePull')
    has_event(kubectl, 'absent', 'BackOff', 'Back-off pulling image')
    has_event(kubectl, 'absent', 'Failed', 'Error: ImagePullBackOff')


def with_passwords(kubectl, registry):
    image = registry.host + '/team/app:1'
    apply(kubectl, secret('right', registry.host), secret('wrong', registry.host, 'guess'), secret('elsewhere', 'example.com'))
    apply(kubectl, pod('nobody', image=image), with_secrets(pod('stranger', image=image), 'elsewhere', 'no-such'),
          with_secrets(pod('guesser', image=image), 'wrong'))
    for name in ('nobody', 'stranger', 'guesser'):
        waiting(kubectl, name, 'ImagePullBackOff')
    has_event(kubectl, 'nobody', 'Failed', 'authorization failed: no basic auth credentials')
    has_event(kubectl, 'stranger', 'FailedToRetrieveImagePullSecret', 'Unable to retrieve some image pull secrets (default/no-such)')
    apply(kubectl, with_secrets(pod('alice', 'echo welcome', image=image), 'wrong', 'right'))
    assert ended(kubectl, 'alice')['exitCode'] == 0
    assert kubectl('logs', 'alice') == 'welcome'
    # What was pulled with a pod's own credentials is not for others, though it is on the machine now.
    apply(kubectl, pod('thief', image=image), pod('lazy-thief', image=image, imagePullPolicy='Never'),
          with_secrets(pod('friend', 'echo hello', image=image, imagePullPolicy='Never'), 'right'))
    assert ended(kubectl, 'friend')['exitCode'] == 0
    waiting(kubectl, 'thief', 'ImagePullBackOff')
    waiting(kubectl, 'lazy-thief', 'ErrImageNeverPull')


def main():
    busybox = check_machine()
    if not shutil.which('docker-registry'):
        skip('there is no docker-registry')
    binary = sys.argv[1]
    data = os.path.realpath(tempfile.mkdtemp(prefix='flyball-test-'))
    parts = []
    try:
        build_image(binary, data + '/source', busybox)
        images = data + '/source/node/images'
        registry = Registry(data + '/open')
        parts.append(registry)
        closed = Registry(data + '/closed', password=True)
        parts.append(closed)
        digest = registry.push(images, IMAGE, 'team/app', '1')
        closed.push(images, IMAGE, 'team/app', '1')
        by_hand(binary, registry, digest)
        program = Program(binary, 'up', '--data-dir', data, '--port', '0', data_dir=data)
        parts.append(program)
        kubectl = Kubectl(program.kubeconfig)
        without_passwords(kubectl, registry, digest)
        with_passwords(kubectl, closed)
        kubectl('delete', 'pods', '--all')
    finally:
        for part in reversed(parts):
            part.stop()
        clean(data)
        shutil.rmtree(data, ignore_errors=True)


main()
