"""What people do to workloads with kubectl, against `flyball up` with simulated nodes: rollouts, their history and undoing
them, pause and resume, restart, scale, the three ways of deleting, expose, a Job from a CronJob, a node drained against a
budget; and the large circle of the control loop: a Deployment's pod is made, placed, started, lost and replaced."""
import json
import sys
import tempfile

from program import Kubectl, Program, wait_until


def get(kubectl, *what):
    return json.loads(kubectl('get', *what, '-o', 'json'))


def items(kubectl, *what):
    return [o for o in get(kubectl, *what)['items'] if 'deletionTimestamp' not in o['metadata']]


def images(kubectl, app):
    return sorted(p['spec']['containers'][0]['image'] for p in items(kubectl, 'pods', '-l', 'app=' + app))


def revisions(kubectl, name):
    lines = kubectl('rollout', 'history', 'deployment/' + name).splitlines()
    assert lines[0] == 'deployment.apps/%s ' % name and lines[1].split() == ['REVISION', 'CHANGE-CAUSE'], lines
    return [line.split(None, 1) for line in lines[2:] if line]


def rolled_out(kubectl, name):
    said = kubectl('rollout', 'status', 'deployment/' + name, '--timeout=90s', timeout=120)
    assert said.endswith('deployment "%s" successfully rolled out' % name), said


def the_large_circle(kubectl):
    assert kubectl('create', 'deployment', 'web', '--image=i:1', '--replicas=2') == 'deployment.apps/web created'
    rolled_out(kubectl, 'web')
    replica_sets, pods = items(kubectl, 'rs', '-l', 'app=web'), items(kubectl, 'pods', '-l', 'app=web')
    assert len(replica_sets) == 1 and len(pods) == 2
    assert replica_sets[0]['metadata']['ownerReferences'][0]['name'] == 'web'
    for pod in pods:
        assert pod['metadata']['ownerReferences'][0]['name'] == replica_sets[0]['metadata']['name']
        assert pod['spec']['nodeName'] and pod['status']['phase'] == 'Running' and pod['status']['podIP']
    assert 'Successfully assigned' in kubectl('get', 'events', '--field-selector', 'reason=Scheduled')
    kubectl('delete', 'pod', pods[0]['metadata']['name'], '--wait=false')

    def replaced():
        now = [p for p in items(kubectl, 'pods', '-l', 'app=web') if p['status']['phase'] == 'Running']
        return len(now) == 2 and pods[0]['metadata']['uid'] not in [p['metadata']['uid'] for p in now]
    wait_until('the lost pod is replaced', replaced)


def rollouts_and_their_history(kubectl):
    assert kubectl('set', 'image', 'deployment/web', '*=i:2') == 'deployment.apps/web image updated'
    rolled_out(kubectl, 'web')
    kubectl('annotate', 'deployment/web', 'kubernetes.io/change-cause=third')
    kubectl('set', 'image', 'deployment/web', '*=i:3')
    rolled_out(kubectl, 'web')
    wait_until('only new pods', lambda: images(kubectl, 'web') == ['i:3', 'i:3'])
    assert [r[0] for r in revisions(kubectl, 'web')] == ['1', '2', '3']
    assert revisions(kubectl, 'web')[2][1].strip() == 'third'
    assert 'i:1' in kubectl('rollout', 'history', 'deployment/web', '--revision=1')

    assert kubectl('rollout', 'undo', 'deployment/web') == 'deployment.apps/web rolled back'
    rolled_out(kubectl, 'web')
    wait_until('back at the one before', lambda: images(kubectl, 'web') == ['i:2', 'i:2'])
    assert [r[0] for r in revisions(kubectl, 'web')] == ['1', '3', '4']
    kubectl('rollout', 'undo', 'deployment/web', '--to-revision=1')
    rolled_out(kubectl, 'web')
    wait_until('back at the first', lambda: images(kubectl, 'web') == ['i:1', 'i:1'])
    assert [r[0] for r in revisions(kubectl, 'web')] == ['3', '4', '5']
    failed = kubectl.run('rollout', 'undo', 'deployment/web', '--to-revision=77', check=False)
    assert failed.returncode == 1 and 'unable to find specified revision 77' in failed.stderr, failed.stderr
    assert len(items(kubectl, 'rs', '-l', 'app=web')) == 3


def paused_and_resumed(kubectl):
    assert kubectl('rollout', 'pause', 'deployment/web') == 'deployment.apps/web paused'
    kubectl('set', 'image', 'deployment/web', '*=i:9')
    kubectl('scale', 'deployment/web', '--replicas=3')
    wait_until('it grows while paused, of the old template', lambda: images(kubectl, 'web') == ['i:1'] * 3)

    def paused():
        conditions = get(kubectl, 'deployment', 'web')['status']['conditions']
        return any(c['type'] == 'Progressing' and c['reason'] == 'DeploymentPaused' for c in conditions)
    wait_until('the condition says so', paused)
    refused = kubectl.run('rollout', 'undo', 'deployment/web', check=False)
    assert refused.returncode == 1 and 'paused' in refused.stderr, refused.stderr
    assert kubectl('rollout', 'resume', 'deployment/web') == 'deployment.apps/web resumed'
    rolled_out(kubectl, 'web')
    wait_until('now it rolls', lambda: images(kubectl, 'web') == ['i:9'] * 3)
    before = {p['metadata']['uid'] for p in items(kubectl, 'pods', '-l', 'app=web')}
    assert kubectl('rollout', 'restart', 'deployment/web') == 'deployment.apps/web restarted'
    rolled_out(kubectl, 'web')
    wait_until('all pods are new', lambda: len(images(kubectl, 'web')) == 3 and
               not before & {p['metadata']['uid'] for p in items(kubectl, 'pods', '-l', 'app=web')})


def exposed(kubectl):
    assert kubectl('expose', 'deployment/web', '--port=80', '--target-port=8080') == 'service/web exposed'

    def addresses():
        slices = items(kubectl, 'endpointslices', '-l', 'kubernetes.io/service-name=web')
        return sorted(a for s in slices for e in s['endpoints'] or [] if e['conditions']['ready'] for a in e['addresses'])
    ips = sorted(p['status']['podIP'] for p in items(kubectl, 'pods', '-l', 'app=web'))
    wait_until('its slices hold the addresses of the pods', lambda: addresses() == ips)
    described = kubectl('describe', 'service', 'web')
    assert ':8080' in [l for l in described.splitlines() if l.startswith('Endpoints:')][0], described


def deleted_in_three_ways(kubectl):
    def left(app):
        return len(items(kubectl, 'rs', '-l', 'app=' + app)), len(items(kubectl, 'pods', '-l', 'app=' + app))
    for app in ('background', 'foreground', 'orphan'):
        kubectl('create', 'deployment', app, '--image=i', '--replicas=2')
        rolled_out(kubectl, app)
        kubectl('delete', 'deployment', app, '--cascade=' + app)
        if app == 'foreground':
            assert left(app) == (0, 0), 'everything was gone before the Deployment was'
        if app != 'orphan':
            wait_until('what it owned goes', lambda: left(app) == (0, 0))
    replica_set = items(kubectl, 'rs', '-l', 'app=orphan')
    assert len(replica_set) == 1 and 'ownerReferences' not in replica_set[0]['metadata']
    kubectl('delete', 'rs', replica_set[0]['metadata']['name'], '--cascade=orphan')
    assert left('orphan') == (0, 2)
    kubectl('create', 'deployment', 'orphan', '--image=i', '--replicas=2')
    rolled_out(kubectl, 'orphan')
    kubectl('delete', 'pods', '-l', 'app=orphan', '--wait=false')
    kubectl('delete', 'deployment', 'orphan')


def a_job_from_a_cronjob(kubectl):
    kubectl('create', 'cronjob', 'nightly', '--image=i', '--schedule=0 3 * * *')
    assert kubectl('create', 'job', 'now', '--from=cronjob/nightly') == 'job.batch/now created'
    job = get(kubectl, 'job', 'now')
    assert job['metadata']['annotations']['cronjob.kubernetes.io/instantiate'] == 'manual'
    assert job['metadata']['ownerReferences'][0]['name'] == 'nightly'
    wait_until('its pod is there', lambda: len(items(kubectl, 'pods', '-l', 'job-name=now')) == 1)
    kubectl('delete', 'cronjob', 'nightly')
    wait_until('the Job goes with the CronJob', lambda: not items(kubectl, 'jobs'))


def a_node_is_drained(kubectl):
    kubectl('create', 'deployment', 'kept', '--image=i', '--replicas=2')
    rolled_out(kubectl, 'kept')
    kubectl('create', 'pdb', 'kept', '--selector=app=kept', '--min-available=2')
    wait_until('the budget counts them', lambda: get(kubectl, 'pdb', 'kept')['status'].get('currentHealthy') == 2)
    node = items(kubectl, 'pods', '-l', 'app=kept')[0]['spec']['nodeName']
    drain = ('drain', node, '--ignore-daemonsets', '--force', '--delete-emptydir-data')
    refused = kubectl.run(*drain, '--timeout=2s', check=False, timeout=60)
    assert refused.returncode == 1 and "would violate the pod's disruption budget" in refused.stderr, refused.stderr
    kubectl('delete', 'pdb', 'kept')
    said = kubectl(*drain, '--timeout=60s', timeout=90)
    assert said.endswith('node/%s drained' % node), said
    assert not [p for p in items(kubectl, 'pods', '-l', 'app=kept') if p['spec'].get('nodeName') == node]
    assert kubectl('uncordon', node) == 'node/%s uncordoned' % node
    rolled_out(kubectl, 'kept')


def main():
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(sys.argv[1], 'up', '--data-dir', folder, '--port', '0', '--runtime', 'sim', data_dir=folder)
    try:
        kubectl = Kubectl(program.kubeconfig)
        wait_until('the default service account is there',
                   lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
        for part in (the_large_circle, rollouts_and_their_history, paused_and_resumed, exposed, deleted_in_three_ways,
                     a_job_from_a_cronjob, a_node_is_drained):
            print(part.__name__, flush=True)
            part(kubectl)
        program.stop()
    finally:
        program.kill()
        program.remove()


main()
