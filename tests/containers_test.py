"""Containers on one machine with no daemon: an image built from a folder, a Deployment with volumes, logs, exec, exit
reasons, and an agent that is killed and finds its containers again."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from program import SANITIZED, Kubectl, Program, skip, wait_until

IMAGE = 'test/busybox:1'
APPLETS = 'sh cat echo sleep id hostname ls tail ps mount touch wget'.split()


def check_machine():
    """One clear line for whoever cannot run this."""
    if os.geteuid() != 0:
        skip('containers need root')
    if not shutil.which('runc'):
        skip('containers need runc')
    busybox = shutil.which('busybox')
    if not busybox:
        skip('the image is made of busybox, which is not installed (busybox-static)')
    if subprocess.run(['ldd', busybox], capture_output=True).returncode == 0:
        skip('busybox is not static (install busybox-static)')
    return busybox


def build_image(binary, data, busybox):
    folder = tempfile.mkdtemp(prefix='flyball-image-')
    os.makedirs(os.path.join(folder, 'root/bin'))
    os.makedirs(os.path.join(folder, 'root/etc'))
    shutil.copy(busybox, os.path.join(folder, 'root/bin/busybox'))
    for applet in APPLETS:
        os.symlink('busybox', os.path.join(folder, 'root/bin', applet))
    with open(os.path.join(folder, 'root/etc/passwd'), 'w') as f:
        f.write('root:x:0:0::/:/bin/sh\nweb:x:1000:2000::/:/bin/sh\n')
    with open(os.path.join(folder, 'Dockerfile'), 'w') as f:
        f.write('FROM scratch\nCOPY root /\nENV FROM_IMAGE=yes\nWORKDIR /srv\nCMD ["/bin/sh", "-c", "echo from the image"]\n')
    built = subprocess.run([binary, 'image', 'build', '-t', IMAGE, folder, '--data-dir', data], capture_output=True, text=True)
    shutil.rmtree(folder)
    assert built.returncode == 0, built.stderr
    listed = subprocess.run([binary, 'image', 'list', '--data-dir', data], capture_output=True, text=True).stdout
    assert 'docker.io/' + IMAGE in listed, listed


def pod(name, command=None, restart='Never', **container):
    spec = {'name': 'c', 'image': IMAGE, **container}
    if command:
        spec['command'] = ['sh', '-c', command]
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name},
            'spec': {'restartPolicy': restart, 'terminationGracePeriodSeconds': 1, 'containers': [spec]}}


def apply(kubectl, *objects):
    kubectl('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}))


def container_status(kubectl, name):
    status = json.loads(kubectl('get', 'pod', name, '-o', 'json'))['status']
    return status['containerStatuses'][0]


def ended(kubectl, name):
    return wait_until(name + ' has ended', lambda: container_status(kubectl, name)['state'].get('terminated'), 120)


def waiting(kubectl, name, reason):
    wait_until('%s waits because of %s' % (name, reason),
               lambda: container_status(kubectl, name)['state'].get('waiting', {}).get('reason') == reason)


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


def the_agent_finds_them_again(kubectl, restart, data, names):
    before = pids(data)
    assert len(before) == 2, before
    restart()
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


def clean(data):
    """Whatever a failed test has left."""
    for path in glob.glob(data + '/node/oci/pods/*/*/pid') + glob.glob(data + '/node/oci/pods/*/monitor.pid'):
        try:
            os.kill(int(open(path).read()), signal.SIGKILL)
        except (OSError, ValueError):
            pass
    for line in reversed(open('/proc/self/mounts').read().split('\n')):
        if data in line:
            subprocess.run(['umount', '-l', line.split()[1]])


def main():
    busybox = check_machine()
    binary = sys.argv[1]
    data = os.path.realpath(tempfile.mkdtemp(prefix='flyball-test-'))
    programs = []

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
        names = a_deployment_with_volumes(kubectl)
        if not SANITIZED:
            the_agent_finds_them_again(kubectl, restart, data, names)
        it_goes_without_a_trace(kubectl, data)
        programs[-1].stop()
    finally:
        for program in programs:
            program.kill()
        clean(data)
        programs and programs[-1].remove()


main()
