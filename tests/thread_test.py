"""The whole thread with `flyball up` on a fresh folder: a Deployment becomes running processes, is scaled, healed, rolled
over and removed; and a rollout survives kill -9."""
import json
import sys
import tempfile

from program import Kubectl, Program, wait_until

COMMAND = ['sh', '-c', 'echo started; trap "exit 0" TERM; while true; do sleep 1; done']


def deployment(name, replicas, version):
    container = {'name': 'c', 'image': 'host', 'command': COMMAND, 'env': [{'name': 'VERSION', 'value': version}]}
    return json.dumps({
        'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
        'spec': {'replicas': replicas, 'selector': {'matchLabels': {'app': name}},
                 'template': {'metadata': {'labels': {'app': name}},
                              'spec': {'terminationGracePeriodSeconds': 5, 'containers': [container]}}}})


def pods(kubectl, app):
    return json.loads(kubectl('get', 'pods', '-l', 'app=' + app, '-o', 'json'))['items']


def ready(kubectl, app, count):
    items = [p for p in pods(kubectl, app) if 'deletionTimestamp' not in p['metadata']]
    good = [p for p in items if any(c['type'] == 'Ready' and c['status'] == 'True' for c in p['status'].get('conditions', []))]
    return len(items) == count and len(good) == count and good


def start(binary, folder):
    return Program(binary, 'up', '--data-dir', folder, '--port', '0', data_dir=folder)


def life_of_a_deployment(kubectl):
    assert kubectl('apply', '-f', '-', stdin=deployment('web', 2, '1')) == 'deployment.apps/web created'
    kubectl('rollout', 'status', 'deployment/web', '--timeout=90s', timeout=120)
    wait_until('two pods are ready', lambda: ready(kubectl, 'web', 2))
    wait_until('its output is served', lambda: 'started' in kubectl('logs', 'deployment/web', '--tail=5'))
    events = kubectl('get', 'events', '-o', 'custom-columns=R:.reason')
    for reason in ('ScalingReplicaSet', 'SuccessfulCreate', 'Scheduled', 'Started'):
        assert reason in events, '%s in %s' % (reason, events)
    assert kubectl('scale', 'deployment/web', '--replicas=3') == 'deployment.apps/web scaled'
    three = wait_until('three pods are ready', lambda: ready(kubectl, 'web', 3))
    kubectl('delete', 'pod', three[0]['metadata']['name'], '--wait=false')
    wait_until('the deleted pod is replaced',
               lambda: (now := ready(kubectl, 'web', 3)) and three[0]['metadata']['uid'] not in [p['metadata']['uid'] for p in now])


def rolls_over(kubectl):
    assert kubectl('apply', '-f', '-', stdin=deployment('web', 3, '2')) == 'deployment.apps/web configured'
    kubectl('rollout', 'status', 'deployment/web', '--timeout=90s', timeout=120)
    for pod in wait_until('three new pods', lambda: ready(kubectl, 'web', 3)):
        assert pod['spec']['containers'][0]['env'][0]['value'] == '2'


def unknown_image(kubectl):
    kubectl('create', 'deployment', 'nope', '--image=registry.example/nope:1')
    wait_until('the pod says that the image is not here',
               lambda: any(r in kubectl('get', 'pods', '-l', 'app=nope') for r in ('ErrImagePull', 'ImagePullBackOff')))
    kubectl('delete', 'deployment', 'nope')


def removes(kubectl):
    kubectl('delete', 'deployment', 'web')
    wait_until('everything it owned is gone',
               lambda: 'No resources' in kubectl.run('get', 'rs,pods', '-l', 'app=web').stderr)


def survives_a_crash(binary, program, kubectl):
    kubectl('apply', '-f', '-', stdin=deployment('crash', 3, '1'))
    wait_until('three pods are ready', lambda: ready(kubectl, 'crash', 3))
    kubectl('apply', '-f', '-', stdin=deployment('crash', 3, '2'))
    program.kill()
    again = start(binary, program.data_dir)
    kubectl = Kubectl(again.kubeconfig)
    kubectl('rollout', 'status', 'deployment/crash', '--timeout=120s', timeout=150)
    for pod in wait_until('three new pods and no more', lambda: ready(kubectl, 'crash', 3)):
        assert pod['spec']['containers'][0]['env'][0]['value'] == '2'
    return again


def main():
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = start(sys.argv[1], folder)
    try:
        kubectl = Kubectl(program.kubeconfig)
        wait_until('the default service account is there', lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
        for part in (life_of_a_deployment, rolls_over, unknown_image, removes):
            part(kubectl)
            print('ok   ' + part.__name__, flush=True)
        program = survives_a_crash(sys.argv[1], program, kubectl)
        print('ok   survives_a_crash', flush=True)
        program.stop()
    except AssertionError:
        print(program.output()[-6000:])
        raise
    finally:
        program.kill()
        program.remove()


main()
