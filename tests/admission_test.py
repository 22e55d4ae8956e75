"""Admission plugins with the real program: --admission-control-config-file with inline configuration, a path and an image
policy webhook; what is refused at start."""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

from program import Kubectl, Program

CONFIG = """apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
- name: PodNodeSelector
  path: selectors.yaml
- name: ImagePolicyWebhook
  configuration:
    imagePolicy: {kubeConfigFile: %s, allowTTL: 50, denyTTL: 50, retryBackoff: 1}
"""

SELECTORS = """podNodeSelectorPluginConfig:
  clusterDefaultNodeSelector: pool=general
"""

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d/review'}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


class Reviewer(http.server.BaseHTTPRequestHandler):
    """Allows images of example.com."""
    reviews = []

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers['content-length'])))
        Reviewer.reviews.append(review)
        allowed = all(c['image'].startswith('example.com/') for c in review['spec']['containers'])
        review['status'] = {'allowed': allowed} if allowed else {'allowed': False, 'reason': 'not of example.com'}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def pod(name, image, **spec):
    return json.dumps({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'annotations': {
        'team.image-policy.k8s.io/ticket': '7', 'other': 'x'}},
        'spec': {'containers': [{'name': 'c', 'image': image}], **spec}})


def refused(binary, folder, *flags):
    result = subprocess.run([binary, 'apiserver', '--data-dir', os.path.join(folder, 'refused'), '--secure-port', '0', *flags],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 1, '%s: exit status %d' % (flags, result.returncode)
    return result.stderr


def main():
    binary = sys.argv[1]
    webhook = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Reviewer)
    threading.Thread(target=webhook.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), 'w') as f:
                f.write(text)
            return os.path.join(folder, name)

        text = refused(binary, folder, '--enable-admission-plugins=Nonsense')
        assert 'enable-admission-plugins plugin "Nonsense" is unknown' in text, text
        text = refused(binary, folder, '--enable-admission-plugins=ImagePolicyWebhook')
        assert 'couldn\'t init admission plugin "ImagePolicyWebhook": no config specified' in text, text
        text = refused(binary, folder, '--admission-control-config-file', write('bad.yaml', 'kind: Pod\napiVersion: v1\n'))
        assert 'no kind "Pod" is registered for version "v1"' in text, text

        write('selectors.yaml', SELECTORS)
        kubeconfig = write('webhook.yaml', KUBECONFIG % webhook.server_port)
        config = write('admission.yaml', CONFIG % kubeconfig)
        data = os.path.join(folder, 'data')
        os.makedirs(data, mode=0o700)
        server = Program(binary, 'apiserver', '--data-dir', data, '--secure-port', '0', '--admission-control-config-file', config,
                         '--enable-admission-plugins=ImagePolicyWebhook,PodNodeSelector',
                         '--disable-admission-plugins=ServiceAccount', data_dir=data)
        kubectl = Kubectl(server.kubeconfig)
        try:
            check(kubectl, webhook)
        finally:
            server.stop()
    print('admission: fine')


def check(kubectl, webhook):
    def create(text):
        return kubectl.run('create', '-f', '-', '-o', 'json', stdin=text, check=False)

    made = create(pod('good', 'example.com/a'))
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)['spec']['nodeSelector'] == {'pool': 'general'}, made.stdout
    review = Reviewer.reviews[-1]
    assert review['kind'] == 'ImageReview' and review['apiVersion'] == 'imagepolicy.k8s.io/v1alpha1', review
    assert review['spec'] == {'containers': [{'image': 'example.com/a'}], 'namespace': 'default',
                              'annotations': {'team.image-policy.k8s.io/ticket': '7'}}, review
    text = create(pod('bad', 'elsewhere/a')).stderr
    assert 'pods "bad" is forbidden: image policy webhook backend denied one or more images: not of example.com' in text, text
    asked = len(Reviewer.reviews)
    assert create(pod('again', 'example.com/a')).returncode == 0
    assert len(Reviewer.reviews) == asked, 'an answer is remembered'
    text = create(pod('host', 'example.com/a', hostPID=True)).stderr
    assert 'violates PodSecurity "baseline:latest"' in text, text
    text = create(pod('else', 'example.com/a', nodeSelector={'pool': 'x'})).stderr
    assert 'pod node label selector conflicts with its namespace node label selector' in text, text
    webhook.shutdown()
    webhook.server_close()
    text = create(pod('late', 'example.com/new')).stderr
    assert 'pods "late" is forbidden: ' in text, text


main()
