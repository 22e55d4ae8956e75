"""`flyball envtest` and `flyball testserver`: what envtest does with kube-apiserver and etcd, step by step, without Go."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from program import Kubectl, wait_until

# Starts both programs as envtest does, says their ids, and waits to be killed.
PARENT = '''
import json, subprocess, sys, time
commands = json.loads(sys.argv[1])
print(*[subprocess.Popen(c, start_new_session=True).pid for c in commands], flush=True)
time.sleep(600)
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def get(url, token=None):
    request = urllib.request.Request(url, headers={'Authorization': 'Bearer ' + token} if token else {})
    with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=10) as answer:
        return answer.read().decode()


def answers(url, wanted):
    try:
        return wanted in get(url)
    except (urllib.error.URLError, OSError):
        return False


def alive(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


class Envtest:
    """A folder of assets, and what envtest makes before it starts them."""

    def __init__(self, binary, path):
        self.assets, self.path = os.path.join(path, 'assets'), path
        subprocess.run([binary, 'envtest', self.assets], check=True, stdout=subprocess.DEVNULL)
        self.processes = []

    def prepare(self):
        self.data, self.certificates = (tempfile.mkdtemp(prefix='k8s_test_framework_', dir=self.path) for _ in range(2))
        run = lambda *arguments: subprocess.run(['openssl', *arguments], cwd=self.certificates, check=True, capture_output=True)
        run('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'client-ca.key', '-out', 'client-ca.crt', '-days', '2', '-subj', '/CN=envtest')
        run('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'admin.key', '-out', 'admin.csr', '-subj', '/O=system:masters/CN=admin')
        run('x509', '-req', '-in', 'admin.csr', '-CA', 'client-ca.crt', '-CAkey', 'client-ca.key', '-CAcreateserial', '-out', 'admin.crt', '-days', '2')
        run('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'sa-signer.key', '-out', 'sa-signer.crt', '-days', '2', '-subj', '/CN=sa')
        self.etcd_url, self.port = 'http://127.0.0.1:%d' % free_port(), free_port()
        self.url = 'https://127.0.0.1:%d' % self.port

    def asset(self, name):
        return os.path.join(self.assets, name)

    def etcd(self):
        return [self.asset('etcd'), '--listen-peer-urls=http://127.0.0.1:%d' % free_port(), '--data-dir=' + self.data,
                '--advertise-client-urls=' + self.etcd_url, '--listen-client-urls=' + self.etcd_url, '--unsafe-no-fsync=true']

    def apiserver(self, *more):
        file = lambda name: os.path.join(self.certificates, name)
        return [self.asset('kube-apiserver'), '--service-cluster-ip-range=10.0.0.0/24', '--allow-privileged=true',
                '--disable-admission-plugins=ServiceAccount', '--cert-dir=' + self.certificates, '--authorization-mode=RBAC',
                '--secure-port=%d' % self.port, '--bind-address=127.0.0.1', '--service-account-issuer=' + self.url + '/',
                '--service-account-key-file=' + file('sa-signer.crt'), '--service-account-signing-key-file=' + file('sa-signer.key'),
                '--client-ca-file=' + file('client-ca.crt'), '--etcd-servers=' + self.etcd_url, *more]

    def start(self, command, url, wanted, environment=None):
        with open(os.path.join(self.path, 'output.log'), 'ab') as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **(environment or {})}, start_new_session=True)
        self.processes.append(process)
        wait_until('%s is up' % command[0], lambda: answers(url, wanted), 120)
        return process

    def up(self, *more, environment=None):
        self.start(self.etcd(), self.etcd_url + '/health', '"health":"true"')
        return self.start(self.apiserver(*more), self.url + '/healthz', 'ok', environment)

    def kubectl(self, command=('kubectl',)):
        empty = os.path.join(self.path, 'empty')
        open(empty, 'a').close()
        kubectl = Kubectl(empty, command=command)
        kubectl.command += ['--server', self.url, '--insecure-skip-tls-verify', '--client-certificate', os.path.join(self.certificates, 'admin.crt'),
                            '--client-key', os.path.join(self.certificates, 'admin.key')]
        return kubectl

    def log(self):
        with open(os.path.join(self.path, 'output.log'), errors='replace') as f:
            return f.read()

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                process.wait(20)
        self.processes = []
        for folder in (self.data, self.certificates):
            shutil.rmtree(folder, ignore_errors=True)


def assets(envtest, binary):
    for name in ('kube-apiserver', 'etcd', 'kubectl'):
        assert os.path.islink(envtest.asset(name)), name
    subprocess.run([binary, 'envtest', envtest.assets], check=True, stdout=subprocess.DEVNULL)  # again
    real = os.path.join(envtest.path, 'real')
    os.makedirs(real)
    with open(os.path.join(real, 'etcd'), 'w') as f:
        f.write('a real one')
    refused = subprocess.run([binary, 'envtest', real], capture_output=True, text=True)
    assert refused.returncode == 1 and 'exists and is not a link' in refused.stderr, refused


def flags(envtest, binary):
    run = lambda *command: subprocess.run(command, capture_output=True, text=True, timeout=30)
    shown = run(envtest.asset('kube-apiserver'), '--help')
    named = {line.split()[0] for line in shown.stdout.splitlines() if line.lstrip().startswith('--')}
    assert shown.returncode == 0 and {'--etcd-servers', '--tls-sni-cert-key', '--secure-port'} <= named, shown.stdout
    assert '--insecure-port' not in named
    assert run(envtest.asset('kube-apiserver'), '--version').stdout == 'Kubernetes v1.37.1\n'
    assert '--unsafe-no-fsync' in run(envtest.asset('etcd'), '--help').stdout
    for command, status, wanted in (
            (('kube-apiserver', '--insecure-port=0'), 1, 'Error: unknown flag: --insecure-port\n'),
            (('kube-apiserver', '--secure-port=x'), 1, 'Error: invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax\n'),
            (('kube-apiserver', 'word'), 1, 'Error: "kube-apiserver" does not take any arguments, got ["word"]\n'),
            (('kube-apiserver',), 1, '--etcd-servers must be specified, service-account-issuer is a required flag'),
            (('etcd', '--insecure'), 2, 'flag provided but not defined: -insecure\n'),
            (('etcd', 'word'), 1, '"word" is not a valid flag')):
        refused = run(envtest.asset(command[0]), *command[1:])
        assert refused.returncode == status and wanted in refused.stderr, (command, refused)
    # The same flags are known to `flyball apiserver`.
    refused = run(binary, 'apiserver', '--data-dir', envtest.path + '/x', '--delete-collection-workers=2', '--profiling', '--secure-prot=1')
    assert 'unknown flag: --secure-prot' in refused.stderr, refused


def life(envtest, _):
    envtest.prepare()
    server = envtest.up('--v=2', '--delete-collection-workers', '1', '--delete-collection-workers=2', '--feature-gates=kube:AllAlpha=false')
    try:
        assert answers(envtest.url + '/readyz', 'ok')
        log = envtest.log()
        assert log.count('--delete-collection-workers') == 1 and log.count('flag="--v"') + log.count('flag=--v') >= 1, log
        assert '--allow-privileged' not in log, log
        kubectl = envtest.kubectl()
        kubectl('create', 'configmap', 'kept', '--from-literal=a=b')
        assert envtest.kubectl(command=(envtest.asset('kubectl'),)).command, 'our kubectl'
        start = time.monotonic()
        server.terminate()
        assert server.wait(20) == 0
        print('     SIGTERM to gone: %.0f ms' % ((time.monotonic() - start) * 1000))
        envtest.start(envtest.apiserver(), envtest.url + '/healthz', 'ok')
        assert kubectl('get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}') == 'b', 'a restart loses nothing'
        second = subprocess.run([*envtest.etcd()[:-2], '--listen-client-urls=http://127.0.0.1:%d' % free_port()], capture_output=True, text=True, timeout=30)
        assert second.returncode == 1, 'one etcd per data folder'
        other = subprocess.run(envtest.apiserver('--etcd-servers=' + envtest.url, '--secure-port=%d' % free_port()), capture_output=True, text=True, timeout=60)
        assert other.returncode == 1 and 'Error: ' in other.stderr, other
    finally:
        envtest.stop()


def controllers(envtest, _):
    envtest.prepare()
    envtest.up(environment={'FLYBALL_ENVTEST': 'controllers'})
    try:
        kubectl = envtest.kubectl()
        kubectl('create', 'namespace', 'goes')
        kubectl('create', 'deployment', 'web', '--image=nginx', '-n', 'goes')
        kubectl('rollout', 'status', 'deployment/web', '-n', 'goes', '--timeout=60s', timeout=90)
        kubectl('delete', 'namespace', 'goes', timeout=90)
        assert kubectl.run('get', 'namespace', 'goes', check=False).returncode == 1
    finally:
        envtest.stop()
    envtest.prepare()
    refused = subprocess.run(envtest.etcd(), capture_output=True, text=True, timeout=30, env={**os.environ, 'FLYBALL_ENVTEST': 'controler'})
    assert refused.returncode == 1 and 'controler' in refused.stderr, refused


def orphans(envtest, _):
    """Nothing stays behind when the test process is killed: no process, and none of envtest's folders."""
    envtest.prepare()
    parent = subprocess.Popen([sys.executable, '-c', PARENT, json.dumps([envtest.etcd(), ['sh', '-c', 'sleep 0']])], stdout=subprocess.PIPE, text=True)
    etcd = int(parent.stdout.readline().split()[0])
    wait_until('etcd is up', lambda: answers(envtest.etcd_url + '/health', 'true'), 120)
    parent.kill()
    parent.wait()
    wait_until('etcd has ended', lambda: not alive(etcd))
    assert not os.path.exists(envtest.data), 'its folder is gone'
    envtest.prepare()
    envtest.start(envtest.etcd(), envtest.etcd_url + '/health', 'true')
    parent = subprocess.Popen([sys.executable, '-c', PARENT, json.dumps([envtest.apiserver()])], stdout=subprocess.PIPE, text=True)
    server = int(parent.stdout.readline())
    wait_until('kube-apiserver is up', lambda: answers(envtest.url + '/healthz', 'ok'), 120)
    parent.kill()
    parent.wait()
    wait_until('kube-apiserver has ended', lambda: not alive(server))
    assert not os.path.exists(envtest.certificates) and not os.path.exists(envtest.data), 'its folders are gone'
    envtest.stop()


def testserver(_, binary):
    run = lambda *more: subprocess.Popen([binary, 'testserver', '--print', 'json', *more], stdout=subprocess.PIPE, text=True)
    process = run()
    about = json.loads(process.stdout.readline())
    assert '"gitVersion"' in get(about['url'] + '/version', about['token'])
    context = ssl.create_default_context(cadata=about['ca'])
    request = urllib.request.Request(about['url'] + '/api/v1/namespaces/default/configmaps', data=b'{"metadata": {"name": "first"}}',
                                     headers={'Authorization': 'Bearer ' + about['token'], 'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, context=context) as answer:
        assert answer.status == 201
    assert Kubectl(about['kubeconfig'])('get', 'configmap', 'first', '-o', 'name') == 'configmap/first'
    process.terminate()
    assert process.wait(20) == 0 and not os.path.exists(os.path.dirname(about['kubeconfig']))
    process = run('--controllers', '--nodes', '2')
    kubectl = Kubectl(json.loads(process.stdout.readline())['kubeconfig'])
    wait_until('two nodes are ready', lambda: kubectl('get', 'nodes').count(' Ready ') == 2)
    process.terminate()
    assert process.wait(20) == 0
    # It ends with its parent, however that ends.
    parent = subprocess.Popen([sys.executable, '-c', PARENT, json.dumps([[binary, 'testserver', '--print', 'json']])], stdout=subprocess.PIPE, text=True)
    lines = [parent.stdout.readline(), parent.stdout.readline()]
    pid = int(next(line for line in lines if not line.startswith('{')))
    folder = os.path.dirname(json.loads(next(line for line in lines if line.startswith('{')))['kubeconfig'])
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until('the test server has ended', lambda: not alive(pid) and not os.path.exists(folder))


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as path:
        envtest = Envtest(sys.argv[1], path)
        try:
            for step in (assets, flags, life, controllers, orphans, testserver):
                step(envtest, sys.argv[1])
                print('ok   ' + step.__name__, flush=True)
        finally:
            for process in envtest.processes:
                process.kill()


main()
