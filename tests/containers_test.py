"""Containers on one machine with no daemon: an image built from a folder, a Deployment with volumes, logs, exec, exit
reasons, and an agent that is killed and finds its containers again."""
import base64
import glob
import json
import os
import socket
import sys
import tempfile
from concurrent import futures

from containers import IMAGE, apply, build_image, check_machine, clean, container_status, ended, pod, waiting
from program import SANITIZED, Kubectl, Program, skip, wait_until

try:
    import grpc
except ImportError:
    grpc = None


def what_a_container_sees(kubectl):
    apply(kubectl, pod('defaults'), pod('named', 'id -u; id -g; hostname; pwd; echo $FROM_IMAGE', securityContext={'runAsUser': 1000}))
    assert ended(kubectl, 'defaults')['exitCode'] == 0
    assert kubectl('logs', 'defaults') == 'from the image'
    ended(kubectl, 'named')
    assert kubectl('logs', 'named').split() == ['1000', '2000', 'named', '/srv', 'yes']


def how_a_container_ends(kubectl):
    apply(kubectl, pod('fails', 'echo sorry > /dev/termination-log; exit 3'), pod('absent', imagePullPolicy='Never', image='not/here:1'),
          pod('typo', command=None, args=['/no/such/program']), pod('ill-named', image='UPPER:case'),
          pod('not-root', securityContext={'runAsNonRoot': True}),
          pod('hungry', 'tail /dev/zero', resources={'limits': {'memory': '24Mi'}}))
    state = ended(kubectl, 'fails')
    assert (state['exitCode'], state['reason'], state['message']) == (3, 'Error', 'sorry\n'), state
    waiting(kubectl, 'absent', 'ErrImageNeverPull')
    waiting(kubectl, 'ill-named', 'InvalidImageName')
    waiting(kubectl, 'not-root', 'CreateContainerConfigError')
    state = ended(kubectl, 'typo')
    assert (state['exitCode'], state['reason']) == (128, 'StartError') and '/no/such/program' in state['message'], state
    state = ended(kubectl, 'hungry')
    assert (state['exitCode'], state['reason']) == (137, 'OOMKilled'), state


def more_that_a_spec_says(kubectl):
    """An image as a volume, every right, the own cgroup as another user, rules of restarts, readiness gates."""
    gate = {'readinessGates': [{'conditionType': 'example.com/ready'}]}
    cgroup = 'cat /sys/fs/cgroup/cpu/cpu.shares 2>/dev/null || cat /sys/fs/cgroup/cpu.weight'
    rule = [{'action': 'Restart', 'exitCodes': {'operator': 'In', 'values': [7]}}]
    apply(kubectl, with_volumes(pod('imaged', 'ls /image/bin/busybox && ! touch /image/x 2>/dev/null', volumeMounts=[at('i', '/image')]),
                                ('i', {'image': {'reference': IMAGE, 'pullPolicy': 'IfNotPresent'}})),
          pod('privileged', 'mount -t tmpfs x /srv', securityContext={'privileged': True}),
          pod('other-user', cgroup, securityContext={'runAsUser': 1000}, resources={'requests': {'cpu': '500m'}}),
          with_volumes(pod('tries-twice', '[ -e /e/x ] || { touch /e/x; exit 7; }; exit 3', volumeMounts=[at('e', '/e')],
                           restartPolicy='Never', restartPolicyRules=rule), ('e', {'emptyDir': {}})),
          with_volumes(pod('gated', 'sleep 1000'), **gate))
    for name in ('imaged', 'privileged', 'other-user'):
        assert ended(kubectl, name)['exitCode'] == 0, kubectl('logs', name)
    assert kubectl('logs', 'other-user') in ('512', '20'), kubectl('logs', 'other-user')
    wait_until('its second end is its last', lambda: ended(kubectl, 'tries-twice')['exitCode'] == 3)
    assert container_status(kubectl, 'tries-twice')['restartCount'] == 1

    def ready():
        conditions = json.loads(kubectl('get', 'pod', 'gated', '-o', 'json'))['status']['conditions']
        return [(c['status'], c.get('reason')) for c in conditions if c['type'] == 'Ready'][0]
    wait_until('the gate is closed', lambda: ready() == ('False', 'ReadinessGatesNotReady'))
    kubectl('patch', 'pod', 'gated', '--subresource', 'status', '--patch',
            json.dumps({'status': {'conditions': [{'type': 'example.com/ready', 'status': 'True'}]}}))
    wait_until('the gate is open', lambda: ready()[0] == 'True')


def what_is_not_there(kubectl):
    """Pods that ask for more isolation than there is do not run with less."""
    apply(kubectl, with_volumes(pod('own-users'), hostUsers=False),
          with_volumes(pod('confined'), securityContext={'appArmorProfile': {'type': 'RuntimeDefault'}}))
    said = wait_until('it says why it waits', lambda: events(kubectl, 'own-users', 'FailedCreatePodSandBox'))
    assert said[0] == "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces", said
    assert 'waiting' in container_status(kubectl, 'own-users')['state']
    kubectl('delete', 'pod', 'own-users')
    if not os.path.exists('/sys/module/apparmor/parameters/enabled'):
        status = wait_until('it is refused', lambda: json.loads(kubectl('get', 'pod', 'confined', '-o', 'json'))['status'].get('reason') and
                            json.loads(kubectl('get', 'pod', 'confined', '-o', 'json'))['status'])
        assert (status['phase'], status['reason']) == ('Failed', 'AppArmor'), status
        assert status['message'] == 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host', status
    kubectl('delete', 'pod', 'confined')


def events(kubectl, name, reason):
    items = json.loads(kubectl('get', 'events', '--field-selector', 'involvedObject.name=%s,reason=%s' % (name, reason), '-o', 'json'))['items']
    return [event['message'] for event in items]


def with_volumes(manifest, *volumes, **spec):
    manifest['spec'].update(spec, volumes=[{'name': name, **source} for name, source in volumes])
    return manifest


def at(name, path, **more):
    return {'name': name, 'mountPath': path, **more}


def what_volumes_show(kubectl):
    apply(kubectl, {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'login'}, 'stringData': {'password': 'hunter2', 'other': 'x'}})
    script = ('cat /s/pass; echo; ls /s; busybox stat -L -c "%g %a" /s/pass; touch /e/new; busybox stat -c "%u %g" /e/new; id -G; '
              'cat /t/token')
    apply(kubectl, with_volumes(
        pod('mounted', script, volumeMounts=[at('s', '/s'), at('e', '/e'), at('t', '/t')]),
        ('s', {'secret': {'secretName': 'login', 'defaultMode': 0o440, 'items': [{'key': 'password', 'path': 'pass'}]}}),
        ('e', {'emptyDir': {}}),
        ('t', {'projected': {'sources': [{'serviceAccountToken': {'path': 'token', 'audience': 'vault', 'expirationSeconds': 600}}]}}),
        securityContext={'runAsUser': 1000, 'runAsGroup': 2000, 'fsGroup': 3000}))
    assert ended(kubectl, 'mounted')['exitCode'] == 0, kubectl('logs', 'mounted')
    lines = kubectl('logs', 'mounted').split('\n')
    assert lines[:4] == ['hunter2', 'pass', '3000 440', '1000 3000'] and '3000' in lines[4].split(), lines
    claims = lines[5].split('.')[1]
    claims = json.loads(base64.urlsafe_b64decode(claims + '=' * (-len(claims) % 4)))
    assert claims['aud'] == ['vault'] and claims['exp'] - claims['iat'] == 600, claims


def host_path(name, path, kind, script='true'):
    return with_volumes(pod(name, script, volumeMounts=[at('h', '/h')]), ('h', {'hostPath': {'path': path, 'type': kind}}))


def what_the_machine_shows(kubectl, folder):
    os.makedirs(folder)
    with open(folder + '/file', 'w') as f:
        f.write('from the machine')
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(folder + '/socket')
    apply(kubectl, host_path('is-folder', folder, 'Directory', 'cat /h/file'), host_path('is-file', folder + '/file', 'File', 'cat /h'),
          host_path('is-socket', folder + '/socket', 'Socket'), host_path('is-device', '/dev/null', 'CharDevice'),
          host_path('new-folder', folder + '/new/folder', 'DirectoryOrCreate', 'touch /h/x'),
          host_path('new-file', folder + '/new-file', 'FileOrCreate', 'echo y > /h'),
          host_path('no-file', folder, 'File'), host_path('no-folder', folder + '/file', 'Directory'),
          host_path('no-device', folder + '/file', 'BlockDevice'))
    for name in ('is-folder', 'is-file', 'is-socket', 'is-device', 'new-folder', 'new-file'):
        assert ended(kubectl, name)['exitCode'] == 0, name
    assert kubectl('logs', 'is-folder') == kubectl('logs', 'is-file') == 'from the machine'
    assert os.path.exists(folder + '/new/folder/x') and open(folder + '/new-file').read() == 'y\n'
    for name, what in (('no-file', 'file'), ('no-folder', 'directory'), ('no-device', 'block device')):
        said = wait_until(name + ' is refused', lambda: events(kubectl, name, 'FailedMount'))
        assert said[0].endswith(' is not a ' + what) and 'hostPath type check failed: ' in said[0], said
        waiting(kubectl, name, 'ContainerCreating')


def no_way_out_of_a_volume(kubectl):
    """Symbolic links in a volume do not lead a subPath to the machine's files."""
    for name, link in (('absolute', '/etc'), ('upwards', '../../../../../../../../etc')):
        manifest = with_volumes(pod(name, 'ls /out', volumeMounts=[at('v', '/out', subPath='escape')]), ('v', {'emptyDir': {}}))
        manifest['spec']['initContainers'] = [{'name': 'evil', 'image': IMAGE, 'volumeMounts': [at('v', '/v')],
                                               'command': ['busybox', 'ln', '-s', link, '/v/escape']}]
        apply(kubectl, manifest)
    for name in ('absolute', 'upwards'):
        message = waiting(kubectl, name, 'CreateContainerConfigError')['message']
        assert message == 'failed to prepare subPath for volumeMount "v" of container "c"', message


def asked_for_health(name, grpc):
    """Its server is this test's, on the machine."""
    manifest = pod(name, 'sleep 1000', readinessProbe={'grpc': grpc, 'periodSeconds': 1})
    manifest['spec']['hostNetwork'] = True
    return manifest


def hooks_and_probes(kubectl, grpc_port):
    wait = 'while [ ! -e /started ]; do sleep 0.1; done'
    after = lambda command: {'postStart': {'exec': {'command': ['sh', '-c', command]}}}
    apply(kubectl, pod('hooked', wait, lifecycle=after('touch /started')), pod('ill-hooked', 'sleep 1000', lifecycle=after('exit 1')),
          asked_for_health('asked', {'port': grpc_port}), asked_for_health('asked-wrong', {'port': grpc_port, 'service': 'other'}))
    assert ended(kubectl, 'hooked')['exitCode'] == 0
    assert ended(kubectl, 'ill-hooked')['exitCode'] != 0
    wait_until('the event says so', lambda: events(kubectl, 'ill-hooked', 'FailedPostStartHook') == ['PostStartHook failed'])
    wait_until('it is ready', lambda: container_status(kubectl, 'asked')['ready'])
    said = wait_until('it is not ready', lambda: events(kubectl, 'asked-wrong', 'Unhealthy'))
    assert said[0] == 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")', said
    assert not container_status(kubectl, 'asked-wrong')['ready']


def health_server():
    """Serves grpc.health.v1: well for itself, not for the service `other`."""
    check = grpc.unary_unary_rpc_method_handler(lambda request, context: b'\x08\x02' if b'other' in request else b'\x08\x01')
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('grpc.health.v1.Health', {'Check': check}),))
    port = server.add_insecure_port('0.0.0.0:0')
    server.start()
    return server, port


def processes_of_a_pod(kubectl):
    manifest = pod('sharing', 'while ! ps | grep -q "sleep 12345"; do sleep 0.1; done; ps')
    manifest['spec']['shareProcessNamespace'] = True
    manifest['spec']['containers'].append({'name': 'other', 'image': IMAGE, 'command': ['sleep', '12345']})
    apply(kubectl, manifest)
    # The two share one namespace, whose first process is neither.
    wait_until('it sees the other', lambda: 'sleep 12345' in kubectl('logs', 'sharing', '-c', 'c'))
    first = [line for line in kubectl('logs', 'sharing', '-c', 'c').split('\n') if line.split()[0] == '1']
    assert first and 'sleep' not in first[0] and 'sh -c' not in first[0], first
    kubectl('delete', 'pod', 'sharing')


def the_machine_itself_is_off(kubectl):
    apply(kubectl, pod('host', 'true', image='host', imagePullPolicy='IfNotPresent'))
    assert '--host-image=on' in waiting(kubectl, 'host', 'ImagePullBackOff')['message']


def deployment():
    container = {'name': 'web', 'image': IMAGE,
                 'command': ['sh', '-c', 'cat /etc/app/greeting; i=0; while true; do i=$((i+1)); echo tick $i; sleep 1; done'],
                 'volumeMounts': [{'name': 'config', 'mountPath': '/etc/app'}, {'name': 'scratch', 'mountPath': '/scratch'},
                                  {'name': 'scratch', 'mountPath': '/part', 'subPath': 'a/b'}]}
    volumes = [{'name': 'config', 'configMap': {'name': 'app'}}, {'name': 'scratch', 'emptyDir': {}}]
    return {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'web'},
            'spec': {'replicas': 2, 'selector': {'matchLabels': {'app': 'web'}},
                     'template': {'metadata': {'labels': {'app': 'web'}},
                                  'spec': {'terminationGracePeriodSeconds': 1, 'containers': [container], 'volumes': volumes}}}}


def web_pods(kubectl):
    return json.loads(kubectl('get', 'pods', '-l', 'app=web', '-o', 'json'))['items']


def both_run(kubectl):
    pods = web_pods(kubectl)
    good = [p for p in pods if p['status'].get('containerStatuses') and p['status']['containerStatuses'][0]['ready']]
    return len(good) == 2 and [p['metadata']['name'] for p in good]


def pids(data):
    """The first process of each container that runs."""
    found = {}
    for path in glob.glob(data + '/node/oci/pods/*/*/pid'):
        if not os.path.exists(os.path.join(os.path.dirname(path), 'exit')):
            found[path] = int(open(path).read())
    return found


def a_deployment_with_volumes(kubectl):
    apply(kubectl, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'app'}, 'data': {'greeting': 'hello\n'}}, deployment())
    names = wait_until('both pods run', lambda: both_run(kubectl), 120)
    wait_until('the log has the config', lambda: 'hello\ntick 1' in kubectl('logs', names[0]))
    assert kubectl('exec', names[0], '--', 'cat', '/etc/app/greeting') == 'hello'
    kubectl('exec', names[0], '--', 'sh', '-c', 'echo x > /part/file; touch /scratch/here')
    assert kubectl('exec', names[0], '--', 'cat', '/scratch/a/b/file') == 'x'
    assert kubectl('exec', names[0], '--', 'hostname') == names[0]
    token = '/var/run/secrets/kubernetes.io/serviceaccount/token'
    assert kubectl('exec', names[0], '--', 'cat', token).count('.') == 2
    failed = kubectl.run('exec', names[0], '--', 'sh', '-c', 'exit 7', check=False)
    assert failed.returncode == 7, failed
    return names


def a_stateful_set(kubectl):
    container = {'name': 'db', 'image': IMAGE, 'command': ['sleep', '100000'], 'volumeMounts': [at('data', '/data')]}
    apply(kubectl, {'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'metadata': {'name': 'db'},
                    'spec': {'replicas': 1, 'serviceName': 'db', 'selector': {'matchLabels': {'app': 'db'}},
                             'template': {'metadata': {'labels': {'app': 'db'}},
                                          'spec': {'terminationGracePeriodSeconds': 0, 'containers': [container]}},
                             'volumeClaimTemplates': [{'metadata': {'name': 'data'},
                                                       'spec': {'accessModes': ['ReadWriteOnce'],
                                                                'resources': {'requests': {'storage': '1Gi'}}}}]}})
    wait_until('the database runs', lambda: container_status(kubectl, 'db-0')['ready'], 120)
    kubectl('exec', 'db-0', '--', 'sh', '-c', 'echo precious > /data/row')
    claim = json.loads(kubectl('get', 'pvc', 'data-db-0', '-o', 'json'))
    assert (claim['status']['phase'], claim['spec']['storageClassName']) == ('Bound', 'local-path'), claim
    kubectl('patch', 'pvc', 'data-db-0', '--patch', json.dumps({'spec': {'resources': {'requests': {'storage': '2Gi'}}}}))
    wait_until('it has grown', lambda: kubectl('get', 'pvc', 'data-db-0', '-o', 'jsonpath={.status.capacity.storage}') == '2Gi')


def its_data_outlives_the_pod(kubectl, data):
    before = json.loads(kubectl('get', 'pod', 'db-0', '-o', 'json'))['metadata']['uid']
    kubectl('delete', 'pod', 'db-0')
    wait_until('there is another pod', lambda: json.loads(kubectl('get', 'pod', 'db-0', '-o', 'json'))['metadata']['uid'] != before)
    wait_until('it runs', lambda: container_status(kubectl, 'db-0')['ready'], 120)
    assert kubectl('exec', 'db-0', '--', 'cat', '/data/row') == 'precious'
    volumes = data + '/node/local-path'
    assert len(os.listdir(volumes)) == 1
    kubectl('delete', 'statefulset', 'db')
    kubectl('delete', 'pvc', 'data-db-0')
    wait_until('the data goes with the claim', lambda: not os.listdir(volumes) and not json.loads(kubectl('get', 'pv', '-o', 'json'))['items'])


def leave_volumes(data, node, uid):
    """What an agent leaves whose pod goes while it is away."""
    os.makedirs('%s/node/volumes/%s/v' % (data, uid))
    with open('%s/node/volumes/%s/.node' % (data, uid), 'w') as f:
        f.write(node)


def the_agent_finds_them_again(kubectl, restart, data, names):
    before = pids(data)
    assert len(before) == 3, before
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]['metadata']['name']
    leave_volumes(data, node, 'gone')
    leave_volumes(data, 'another-node', 'kept')
    restart()
    wait_until('what is gone has no volumes', lambda: not os.path.exists(data + '/node/volumes/gone'))
    assert os.path.exists(data + '/node/volumes/kept/v')
    wait_until('both pods run', lambda: both_run(kubectl), 120)
    assert pids(data) == before, (pids(data), before)
    for status in (p['status']['containerStatuses'][0] for p in web_pods(kubectl)):
        assert status['restartCount'] == 0 and 'running' in status['state'], status
    lines = kubectl('logs', names[0]).split('\n')
    assert lines[:2] == ['hello', 'tick 1'], lines
    numbers = [int(line.split()[1]) for line in lines[1:]]
    assert numbers == list(range(1, len(numbers) + 1)), 'a line was lost: %s' % numbers
    wait_until('it goes on', lambda: len(kubectl('logs', names[0]).split('\n')) > len(lines))
    assert kubectl('exec', names[0], '--', 'cat', '/scratch/a/b/file') == 'x'


def it_goes_without_a_trace(kubectl, data):
    before = list(pids(data).values())
    kubectl('delete', 'deployment', 'web')
    wait_until('the processes are gone', lambda: not any(os.path.exists('/proc/%d' % pid) for pid in before))
    kubectl('delete', 'pods', '--all')
    wait_until('nothing is left', lambda: not os.listdir(data + '/node/oci/pods'))
    assert data not in open('/proc/self/mounts').read()


def main():
    busybox = check_machine()
    if not grpc:
        skip('there is no gRPC for Python')
    binary = sys.argv[1]
    data = os.path.realpath(tempfile.mkdtemp(prefix='flyball-test-'))
    programs = []
    server, port = health_server()

    def start():
        programs.append(Program(binary, 'up', '--data-dir', data, '--port', '0', data_dir=data))

    def restart():
        programs[-1].kill()
        start()

    try:
        build_image(binary, data, busybox)
        start()
        kubectl = Kubectl(programs[0].kubeconfig)
        what_a_container_sees(kubectl)
        how_a_container_ends(kubectl)
        more_that_a_spec_says(kubectl)
        what_is_not_there(kubectl)
        what_volumes_show(kubectl)
        what_the_machine_shows(kubectl, data + '/shown')
        no_way_out_of_a_volume(kubectl)
        hooks_and_probes(kubectl, port)
        processes_of_a_pod(kubectl)
        the_machine_itself_is_off(kubectl)
        kubectl('delete', 'pods', '--all', timeout=120)
        names = a_deployment_with_volumes(kubectl)
        a_stateful_set(kubectl)
        if not SANITIZED:
            the_agent_finds_them_again(kubectl, restart, data, names)
        its_data_outlives_the_pod(kubectl, data)
        it_goes_without_a_trace(kubectl, data)
        programs[-1].stop()
    finally:
        server.stop(None)
        for program in programs:
            program.kill()
        clean(data)
        programs and programs[-1].remove()


main()
