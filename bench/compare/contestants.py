"""What compare.py measures: how each control plane is started, told apart from the others and ended.

Each class has a title, start(folder) -> kubeconfig, processes() -> pids, and stop(). Programs run in sessions of their own.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def descendants(roots):
    """The processes and all that they started."""
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open('/proc/%s/stat' % name) as f:
                    parents.setdefault(int(f.read().rsplit(')', 1)[1].split()[1]), []).append(int(name))
            except OSError:
                pass
    found, waiting = set(), list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found and os.path.exists('/proc/%d' % pid):
            found.add(pid)
            waiting.extend(parents.get(pid, []))
    return found


class Programs:
    """Processes in the order of their start, each with its output in a file of the folder."""

    def __init__(self):
        self.running = []

    def run(self, folder, name, *command, environment=None):
        with open(os.path.join(folder, name + '.log'), 'ab') as log:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                       env={**os.environ, **(environment or {})})
        self.running.append(process)
        return process

    def pids(self):
        return descendants(process.pid for process in self.running)

    def dead(self):
        return [process.args[0] for process in self.running if process.poll() is not None]

    def stop(self):
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                pass
            try:  # what it started and left behind
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        self.running = []


class Contestant:
    title = ''
    serves = True      # requests are measured: creates, gets, lists, watches
    runs_pods = False  # it has controllers, a scheduler and nodes: the time until pods are ready is measured
    settle = 5         # seconds after which it counts as idle

    def __init__(self):
        self.programs = Programs()

    def start(self, folder):
        """Starts it on an empty folder; returns the path of a kubeconfig, which may appear a little later."""
        raise NotImplementedError

    def processes(self):
        return self.programs.pids()

    def dead(self):
        return self.programs.dead()

    def stop(self):
        self.programs.stop()


class Flyball(Contestant):
    title = 'flyball apiserver'

    def __init__(self, program):
        super().__init__()
        self.program = program

    def start(self, folder):
        data = os.path.join(folder, 'data')
        self.programs.run(folder, 'flyball', self.program, 'apiserver', '--data-dir', data, '--secure-port', str(free_port()))
        return os.path.join(data, 'kubeconfig')


class FlyballTest(Flyball):
    title = 'flyball testserver'
    serves = False

    def start(self, folder):
        self.programs.run(folder, 'flyball', self.program, 'testserver')
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:  # it says where its kubeconfig is
            with open(os.path.join(folder, 'flyball.log')) as f:
                found = re.search(r'^kubeconfig (\S+)\n', f.read(), re.M)
            if found:
                return found.group(1)
            time.sleep(0.002)
        raise RuntimeError('flyball testserver did not start')


class FlyballUp(Flyball):
    title = 'flyball up --runtime sim'
    serves, runs_pods = False, True

    def start(self, folder):
        data = os.path.join(folder, 'data')
        self.programs.run(folder, 'flyball', self.program, 'up', '--data-dir', data, '--port', str(free_port()), '--runtime', 'sim')
        return os.path.join(data, 'kubeconfig')


CERTIFICATES = r'''
set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.crt
for name in api:/CN=api admin:/O=system:masters/CN=admin; do
  openssl req -newkey rsa:2048 -nodes -subj "${name#*:}" -keyout ${name%%:*}.key -out ${name%%:*}.csr
  openssl x509 -req -in ${name%%:*}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out ${name%%:*}.crt \
    -extfile <(echo subjectAltName=IP:127.0.0.1)
done
openssl genrsa -out sa.key 2048
'''


class KubeApiserver(Contestant):
    title = 'kube-apiserver + etcd'
    etcd_flags = ['--log-level', 'error', '--quota-backend-bytes', str(8 << 30)]
    apiserver_flags = ['--authorization-mode=Node,RBAC']

    def __init__(self, apiserver, etcd):
        super().__init__()
        self.apiserver, self.etcd = apiserver, etcd

    def prepare(self, folder):
        """Keys and certificates: not a part of the start that is measured, as people have them already."""
        subprocess.run(['bash', '-c', CERTIFICATES], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = free_port()
        self.kubeconfig = os.path.join(folder, 'kubeconfig')
        at = lambda name: os.path.join(folder, name)  # noqa: E731
        with open(self.kubeconfig, 'w') as f:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'clusters': [{'name': 'c', 'cluster': {'server': 'https://127.0.0.1:%d' % self.port, 'certificate-authority': at('ca.crt')}}],
                       'users': [{'name': 'u', 'user': {'client-certificate': at('admin.crt'), 'client-key': at('admin.key')}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)

    def start(self, folder):
        client, peer = ('http://127.0.0.1:%d' % free_port() for _ in range(2))
        self.programs.run(folder, 'etcd', self.etcd, '--data-dir', os.path.join(folder, 'etcd'), '--listen-client-urls', client,
                          '--advertise-client-urls', client, '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer,
                          '--initial-cluster', 'default=' + peer, *self.etcd_flags)
        # kube-apiserver ends if it does not find etcd soon.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if b'true' in urllib.request.urlopen(client + '/health', timeout=5).read():
                    break
            except (OSError, urllib.error.URLError):
                time.sleep(0.01)
        self.programs.run(folder, 'kube-apiserver', self.apiserver, '--etcd-servers', client, '--secure-port', str(self.port),
                          '--bind-address', '127.0.0.1', '--cert-dir', folder, '--tls-cert-file', 'api.crt', '--tls-private-key-file', 'api.key',
                          '--client-ca-file', 'ca.crt', '--service-account-issuer', 'https://kubernetes.default.svc',
                          '--service-account-key-file', 'sa.key', '--service-account-signing-key-file', 'sa.key', *self.apiserver_flags)
        return self.kubeconfig


class Envtest(KubeApiserver):
    """What controller-runtime's envtest starts, with the flags that make it quick."""
    title = 'envtest'
    serves = False
    etcd_flags = ['--log-level', 'error', '--unsafe-no-fsync']
    apiserver_flags = ['--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount', '--service-cluster-ip-range=10.0.0.0/24',
                       '--allow-privileged=true']

    def __init__(self, assets):
        super().__init__(os.path.join(assets, 'kube-apiserver'), os.path.join(assets, 'etcd'))


class Kwok(KubeApiserver):
    """The whole control plane as programs of its own, with KWOK in place of kubelets; what `kwokctl create cluster` sets up."""
    title = 'Kubernetes + KWOK'
    serves, runs_pods = False, True

    def __init__(self, apiserver, etcd, controllers, scheduler, kwok, stages):
        super().__init__(apiserver, etcd)
        self.controllers, self.scheduler, self.kwok, self.stages = controllers, scheduler, kwok, stages

    def start(self, folder):
        path = super().start(folder)
        rates = ['--kube-api-qps=5000', '--kube-api-burst=10000', '--kubeconfig', path, '--leader-elect=false']
        self.programs.run(folder, 'controllers', self.controllers, '--service-account-private-key-file', 'sa.key', '--root-ca-file', 'ca.crt',
                          '--controllers=*,bootstrap-signer-controller,token-cleaner-controller', *rates)
        self.programs.run(folder, 'scheduler', self.scheduler, *rates)
        self.programs.run(folder, 'kwok', self.kwok, '--kubeconfig', path, '--config', self.stages, '--manage-all-nodes=true', '--cidr=10.244.0.0/16',
                          '--node-ip=127.0.0.1', '--node-lease-duration-seconds=40', '--server-address=127.0.0.1:%d' % free_port())
        return path

    def node(self):
        """The node that KWOK looks after. Other control planes have one of their own."""
        room = {'cpu': '100000', 'memory': '100Ti', 'pods': '100000'}
        return {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'kwok-1', 'annotations': {'kwok.x-k8s.io/node': 'fake'}},
                'status': {'allocatable': room, 'capacity': room}}


class K3s(Contestant):
    title = 'k3s'
    settle = 30

    def __init__(self, program):
        super().__init__()
        self.program = program

    def start(self, folder):
        path = os.path.join(folder, 'kubeconfig')
        self.programs.run(folder, 'k3s', self.program, 'server', '--data-dir', os.path.join(folder, 'data'), '--write-kubeconfig', path,
                          '--https-listen-port', str(free_port()), '--disable=traefik,servicelb,metrics-server,local-storage,coredns')
        return path


class Kind(Contestant):
    title = 'kind'
    settle = 30
    name = 'flyball-compare'

    def __init__(self, program):
        super().__init__()
        self.program = program

    def start(self, folder):
        path = os.path.join(folder, 'kubeconfig')
        self.programs.run(folder, 'kind', self.program, 'create', 'cluster', '--name', self.name, '--kubeconfig', path)
        return path

    def processes(self):
        """Those of the container, as the machine sees them."""
        docker = shutil.which('docker') or shutil.which('podman')
        answer = subprocess.run([docker, 'inspect', '-f', '{{.State.Pid}}', self.name + '-control-plane'], capture_output=True, text=True, check=True)
        return descendants([int(answer.stdout)])

    def dead(self):
        return []  # `kind create` ends when the cluster is there

    def stop(self):
        subprocess.run([self.program, 'delete', 'cluster', '--name', self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        super().stop()
