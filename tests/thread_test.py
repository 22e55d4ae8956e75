"""The thread through the whole house, told once for every client and every form of the cluster:

    thread_test.py FLYBALL NETWORK_CONTROLLER kubectl|flyball up|processes

A Deployment becomes running processes, is scaled, healed, rolled over and removed; two writers meet; a custom resource
gets its controller; and a rollout survives kill -9."""
import json
import os
import signal
import subprocess
import sys
import threading
import uuid

from cluster import Cluster, processes_with
from program import Kubectl, Program, wait_until

# The last word is sh's $0: it makes the processes of this run findable.
MARKER = 'flyball-test-' + uuid.uuid4().hex
COMMAND = ['sh', '-c', 'echo started; trap "exit 0" TERM; while true; do sleep 0.2; done', MARKER]


def expect(got, *wanted):
    for want in wanted:
        assert want in got, 'want %r in:\n%s' % (want, got)


def deployment(name, replicas, version='1'):
    container = {'name': 'c', 'image': 'host', 'command': COMMAND, 'env': [{'name': 'VERSION', 'value': version}]}
    return json.dumps({
        'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
        'spec': {'replicas': replicas, 'minReadySeconds': 1, 'selector': {'matchLabels': {'app': name}},
                 'strategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': 1, 'maxUnavailable': 1}},
                 'template': {'metadata': {'labels': {'app': name}},
                              'spec': {'terminationGracePeriodSeconds': 5, 'containers': [container]}}}})


def get(kubectl, *arguments):
    return json.loads(kubectl('get', *arguments, '-o', 'json'))


def pods(kubectl, app):
    return get(kubectl, 'pods', '-l', 'app=' + app)['items']


def is_ready(pod):
    return any(c['type'] == 'Ready' and c['status'] == 'True' for c in pod['status'].get('conditions', []))


def ready(kubectl, app, count):
    """The pods of the app if they are this many and all ready, those on their way out left aside."""
    alive = [p for p in pods(kubectl, app) if 'deletionTimestamp' not in p['metadata']]
    return len(alive) == count and all(map(is_ready, alive)) and alive


def version_of(pod):
    return pod['spec']['containers'][0]['env'][0]['value']


class Watch:
    """`get -w` beside everything else, and the lines it has printed."""

    def __init__(self, kubectl, *arguments):
        self.lines = []
        self.process = subprocess.Popen([*kubectl.command, 'get', *arguments, '-w'], stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def later(self, *words):
        """Whether a line beyond the first table has these words."""
        return any(all(w in line for w in words) for line in self.lines[3:])

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def a_deployment_becomes_pods(kubectl):
    assert kubectl('apply', '-f', '-', stdin=deployment('web', 2)) == 'deployment.apps/web created'
    expect(kubectl('rollout', 'status', 'deployment/web', '--timeout=90s', timeout=120), 'successfully rolled out')
    expect(kubectl('wait', '--for=condition=Available', 'deploy/web', '--timeout=60s'), 'deployment.apps/web condition met')
    wait_until('two pods are ready', lambda: ready(kubectl, 'web', 2))
    assert kubectl('apply', '-f', '-', stdin=deployment('web', 2)) == 'deployment.apps/web unchanged'
    wait_until('its output is served', lambda: 'started' in kubectl('logs', 'deployment/web', '--tail=5'))
    events = kubectl('get', 'events', '-o', 'custom-columns=R:.reason')
    expect(events, 'ScalingReplicaSet', 'SuccessfulCreate', 'Scheduled', 'Pulled', 'Created', 'Started')


def they_are_shown(kubectl):
    tables = [t.splitlines() for t in kubectl('get', 'deploy,rs,pods', '-o', 'wide').split('\n\n')]
    assert [t[0].split()[:2] for t in tables] == [['NAME', 'READY'], ['NAME', 'DESIRED'], ['NAME', 'READY']], tables
    expect(tables[0][0], 'UP-TO-DATE', 'AVAILABLE', 'CONTAINERS', 'IMAGES', 'SELECTOR')
    assert tables[0][1].split()[:4] == ['deployment.apps/web', '2/2', '2', '2'], tables[0]
    assert tables[1][1].startswith('replicaset.apps/web-') and tables[1][1].split()[1:4] == ['2', '2', '2'], tables[1]
    expect(tables[2][0], 'STATUS', 'RESTARTS', 'IP', 'NODE', 'NOMINATED NODE', 'READINESS GATES')
    assert len(tables[2]) == 3 and all(r.startswith('pod/web-') and 'Running' in r for r in tables[2][1:]), tables[2]
    described = kubectl('describe', 'deployment', 'web')
    expect(described, 'RollingUpdateStrategy:', '2 desired | 2 updated | 2 total | 2 available | 0 unavailable', 'VERSION:',
           'MinimumReplicasAvailable', 'ScalingReplicaSet', 'Scaled up replica set web-')
    pod = pods(kubectl, 'web')[0]['metadata']['name']
    expect(kubectl('describe', 'pod', pod), 'Controlled By:', 'ReplicaSet/web-', 'Successfully assigned default/' + pod, 'Started')


def it_is_scaled_and_healed(kubectl):
    watch = Watch(kubectl, 'pods', '-l', 'app=web')
    try:
        wait_until('get -w shows the pods there are', lambda: len(watch.lines) == 3)
        assert kubectl('scale', 'deployment/web', '--replicas=3') == 'deployment.apps/web scaled'
        three = wait_until('three pods are ready', lambda: ready(kubectl, 'web', 3))
        wait_until('get -w shows the third come', lambda: watch.later('0/1', 'Pending') and watch.later('1/1', 'Running'))
    finally:
        watch.stop()
    victim = three[0]['metadata']
    expect(kubectl('delete', 'pod', victim['name'], '--wait=false'), 'pod "%s" deleted' % victim['name'])
    wait_until('the deleted pod is replaced',
               lambda: victim['uid'] not in [p['metadata']['uid'] for p in ready(kubectl, 'web', 3) or [three[0]]])


def a_pod_that_exits_is_restarted(kubectl):
    os.kill(processes_with(MARKER)[0], signal.SIGKILL)
    def restarted():
        return [p for p in pods(kubectl, 'web') if p['status']['containerStatuses'][0]['restartCount'] == 1]
    pod = wait_until('its container was started again', restarted)[0]
    wait_until('all are ready again', lambda: ready(kubectl, 'web', 3))
    last = pod['status']['containerStatuses'][0]['lastState']['terminated']
    assert last['exitCode'] == 137, last
    wait_until('three processes and no more', lambda: len(processes_with(MARKER)) == 3)


def it_rolls_over(kubectl):
    before = {p['metadata']['uid'] for p in pods(kubectl, 'web')}
    assert kubectl('set', 'image', 'deployment/web', 'c=host:latest') == 'deployment.apps/web image updated'
    expect(kubectl('rollout', 'status', 'deployment/web', '--timeout=90s', timeout=120), 'successfully rolled out')
    for pod in wait_until('three new pods', lambda: ready(kubectl, 'web', 3)):
        assert pod['spec']['containers'][0]['image'] == 'host:latest' and pod['metadata']['uid'] not in before
    assert kubectl('apply', '-f', '-', stdin=deployment('web', 3, version='2')) == 'deployment.apps/web configured'
    expect(kubectl('rollout', 'status', 'deployment/web', '--timeout=90s', timeout=120), 'successfully rolled out')
    assert {version_of(p) for p in wait_until('three newer pods', lambda: ready(kubectl, 'web', 3))} == {'2'}


def an_unknown_image_does_not_run(kubectl):
    kubectl('create', 'deployment', 'nope', '--image=127.0.0.1:1/nope:1')
    wait_until('the pod says that the image is not here',
               lambda: any(r in kubectl('get', 'pods', '-l', 'app=nope') for r in ('ErrImagePull', 'ImagePullBackOff')))
    expect(kubectl('describe', 'pods', '-l', 'app=nope'), 'Failed to pull image "127.0.0.1:1/nope:1"')
    kubectl('delete', 'deployment', 'nope')


def it_goes_with_everything_it_owned(kubectl):
    assert kubectl('delete', 'deployment', 'web') == 'deployment.apps "web" deleted'
    wait_until('everything it owned is gone', lambda: 'No resources' in kubectl.run('get', 'rs,pods', '-l', 'app=web').stderr)
    wait_until('no process is left', lambda: not processes_with(MARKER))


def two_writers_meet(kubectl):
    kubectl('create', 'configmap', 'counter', '--from-literal=n=0')
    stale = get(kubectl, 'cm', 'counter')
    kubectl('patch', 'cm', 'counter', '-p', '{"data":{"other":"1"}}')
    refused = kubectl.run('replace', '-f', '-', stdin=json.dumps(stale), check=False)
    assert refused.returncode == 1, refused
    expect(refused.stderr, 'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on '
           'configmaps "counter": the object has been modified; please apply your changes to the latest version and try again')

    def count():
        """Reads, adds one, writes; again when another was faster."""
        for _ in range(5):
            while True:
                now = get(kubectl, 'cm', 'counter')
                now['data']['n'] = str(int(now['data']['n']) + 1)
                written = kubectl.run('replace', '-f', '-', stdin=json.dumps(now), check=False)
                if written.returncode == 0:
                    break
                expect(written.stderr, '(Conflict)')

    writers = [threading.Thread(target=count) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert get(kubectl, 'cm', 'counter')['data'] == {'n': '10', 'other': '1'}


def network(cidr):
    return json.dumps({'apiVersion': 'sample.k8s.io/v1', 'kind': 'Network', 'metadata': {'name': 'lan'},
                       'spec': {'cidr': cidr, 'gateway': '10.1.0.1'}})


def a_custom_resource_has_its_controller(kubectl, controller, kubeconfig):
    crd = subprocess.run([controller, '--print-crds'], capture_output=True, text=True, check=True).stdout
    name = 'customresourcedefinition.apiextensions.k8s.io/networks.sample.k8s.io'
    assert kubectl('apply', '-f', '-', stdin=crd) == name + ' created'
    expect(kubectl('wait', '--for=condition=Established', 'crd/networks.sample.k8s.io', '--timeout=30s'), 'condition met')
    folder = os.path.join(os.path.dirname(kubeconfig), 'networks')
    os.environ['NETWORK_DIR'] = folder
    files = lambda: [open(os.path.join(folder, f)).read() for f in os.listdir(folder)]
    program = Program(controller, '--kubeconfig', kubeconfig, ready=None)
    try:
        assert kubectl('create', '-f', '-', stdin=network('10.1.0.0/16')) == 'network.sample.k8s.io/lan created'
        wait_until('the controller made it', lambda: files() == ['cidr=10.1.0.0/16\ngateway=10.1.0.1\n'])
        expect(kubectl('wait', 'network/lan', '--for=jsonpath={.status.phase}=Ready', '--timeout=30s'), 'condition met')
        rows = kubectl('get', 'net').splitlines()
        assert rows[0].split() == ['NAME', 'CIDR', 'BRIDGE', 'AGE'] and rows[1].split()[:2] == ['lan', '10.1.0.0/16'], rows
        assert kubectl('apply', '-f', '-', stdin=network('10.1.0.0/24')) == 'network.sample.k8s.io/lan configured'
        wait_until('the controller changed it', lambda: files() == ['cidr=10.1.0.0/24\ngateway=10.1.0.1\n'])
        expect(kubectl('describe', 'network', 'lan'), '10.1.0.0/24', 'BridgeReady')
        assert kubectl('delete', 'network', 'lan') == 'network.sample.k8s.io "lan" deleted'
        assert files() == [], 'it is removed before the object goes'
        program.stop()
    except AssertionError:
        print(program.output())
        raise
    finally:
        program.kill()
        program.remove()
    kubectl('delete', 'crd', 'networks.sample.k8s.io')


def a_rollout_survives_kill_9(cluster, connect):
    kubectl = connect()
    kubectl('apply', '-f', '-', stdin=deployment('crash', 4))
    wait_until('four pods are ready', lambda: ready(kubectl, 'crash', 4))
    kubectl('apply', '-f', '-', stdin=deployment('crash', 4, version='2'))
    wait_until('both versions are there', lambda: {version_of(p) for p in pods(kubectl, 'crash')} == {'1', '2'})
    for i in range(3):
        kubectl('create', 'configmap', 'last-words-%d' % i, '--from-literal=n=%d' % i)
    cluster.kill()
    cluster.start()
    kubectl = connect()
    assert [get(kubectl, 'cm', 'last-words-%d' % i)['data']['n'] for i in range(3)] == ['0', '1', '2']

    def finished():
        now = pods(kubectl, 'crash')
        alive = [p for p in now if 'deletionTimestamp' not in p['metadata']]
        assert len(alive) <= 5, 'replicas and maxSurge are 5 at most'
        return len(now) == 4 and {version_of(p) for p in now} == {'2'} and all(map(is_ready, now))

    wait_until('the rollout finishes', finished, seconds=120)
    expect(kubectl('rollout', 'status', 'deployment/crash', '--timeout=60s', timeout=90), 'successfully rolled out')
    wait_until('four processes and no more', lambda: len(processes_with(MARKER)) == 4)


def stopping_leaves_nothing_behind(cluster):
    cluster.stop()
    assert not processes_with(MARKER), 'container processes are left'


def main():
    binary, controller, client, form = sys.argv[1:]
    cluster = Cluster(binary, form)

    def connect():
        return Kubectl(cluster.kubeconfig, command=('kubectl',) if client == 'kubectl' else (binary,))

    def run(part, *arguments):
        part(*arguments)
        print('ok   ' + part.__name__, flush=True)

    try:
        kubectl = connect()
        wait_until('the default service account is there', lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
        for part in (a_deployment_becomes_pods, they_are_shown, it_is_scaled_and_healed, a_pod_that_exits_is_restarted,
                     it_rolls_over, an_unknown_image_does_not_run, it_goes_with_everything_it_owned, two_writers_meet):
            run(part, kubectl)
        run(a_custom_resource_has_its_controller, kubectl, controller, cluster.kubeconfig)
        run(a_rollout_survives_kill_9, cluster, connect)
        run(stopping_leaves_nothing_behind, cluster)
    except AssertionError:
        print(cluster.output())
        raise
    finally:
        cluster.close()
        for pid in processes_with(MARKER):
            os.kill(pid, signal.SIGKILL)


main()
