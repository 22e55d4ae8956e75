"""Containers on one machine with no daemon: an image built from a folder, a Deployment with volumes, logs, exec, exit
reasons, and an agent that is killed and finds its containers again."""
import glob
import json
import os
import sys
import tempfile

from containers import IMAGE, apply, build_image, check_machine, clean, ended, pod, waiting
from program import SANITIZED, Kubectl, Program, wait_until

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
