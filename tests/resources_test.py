"""What containers may use: limits on the disk that the node enforces, resources that change while a container runs, a seccomp
profile of the machine, a volume of a pod's own; and a node that is short of memory."""
import glob
import json
import os
import sys
import tempfile

from containers import apply, build_image, check_machine, clean, container_status, ended, pod
from program import Kubectl, Program, wait_until


def status(kubectl, name):
    return json.loads(kubectl('get', 'pod', name, '-o', 'json'))['status']


def evicted(kubectl, name):
    def gone():
        found = status(kubectl, name)
        return found if found.get('reason') == 'Evicted' and found['phase'] == 'Failed' else None
    return wait_until(name + ' is evicted', gone, 90)['message']


def what_outgrows_its_limit_goes(kubectl):
    fill = 'busybox dd if=/dev/zero of=%s bs=1024k count=%d 2>/dev/null; sleep 1000'
    volume = pod('hoarder', fill % ('/e/x', 12), volumeMounts=[{'name': 'x', 'mountPath': '/e'}])
    volume['spec']['volumes'] = [{'name': 'x', 'emptyDir': {'sizeLimit': '10Mi'}}]
    modest = pod('modest', fill % ('/e/x', 2), volumeMounts=[{'name': 'x', 'mountPath': '/e'}])
    modest['spec']['volumes'] = [{'name': 'x', 'emptyDir': {'sizeLimit': '10Mi'}}]
    apply(kubectl, volume, modest, pod('writer', fill % ('/x', 12), resources={'limits': {'ephemeral-storage': '8Mi'}}))
    assert evicted(kubectl, 'hoarder') == 'Usage of EmptyDir volume "x" exceeds the limit "10Mi". '
    assert evicted(kubectl, 'writer') == 'Pod ephemeral local storage usage exceeds the total limit of containers 8Mi. '
    assert status(kubectl, 'modest')['phase'] == 'Running'
    assert container_status(kubectl, 'hoarder')['state']['terminated']['exitCode'] == 137


def the_log_says_why(kubectl):
    apply(kubectl, pod('silent', 'echo first; echo the end >&2; exit 3', terminationMessagePolicy='FallbackToLogsOnError'))
    apply(kubectl, pod('breaks-off', 'busybox printf DONE; exit 1', terminationMessagePolicy='FallbackToLogsOnError'))
    message = ended(kubectl, 'silent')['message']
    assert message.split('\n')[-2:] == ['the end', ''] and 'first' in message, message
    assert ended(kubectl, 'breaks-off')['message'] == 'DONE'


def cgroup_value(data, number, *files, of_pod=False):
    """What stands in the first of the files that exists, in the cgroup of the only running container of that start, or of its pod."""
    for path in glob.glob(data + '/node/oci/pods/*/%s/record.json' % number):
        cgroup = json.load(open(path))['cgroupPath']
        for file in files:
            file = '/sys/fs/cgroup/' + file % (os.path.dirname(cgroup) if of_pod else cgroup)
            if os.path.exists(file):
                return int(open(file).read().split()[0])
    raise AssertionError('no cgroup for ' + number)


def cpu_limit(data, number, of_pod=False):
    return cgroup_value(data, number, 'cpu%s/cpu.cfs_quota_us', '%s/cpu.max', of_pod=of_pod)


def resources_change_in_place(kubectl, data):
    limits = {'cpu': '100m', 'memory': '32Mi'}
    manifest = pod('grows', 'sleep 1000', resources={'limits': limits, 'requests': {'cpu': '50m'}})
    manifest['spec']['containers'][0]['name'] = 'grows'
    apply(kubectl, manifest)
    wait_until('it runs', lambda: container_status(kubectl, 'grows')['ready'])
    assert cpu_limit(data, 'grows-0') == cpu_limit(data, 'grows-0', of_pod=True) == 10000
    assert cgroup_value(data, 'grows-0', 'memory%s/memory.limit_in_bytes', '%s/memory.max', of_pod=True) == 32 << 20
    assert cgroup_value(data, 'grows-0', 'pids%s/pids.max', '%s/pids.max', of_pod=True) == 200
    more = {'cpu': '250m', 'memory': '48Mi'}
    kubectl('patch', 'pod', 'grows', '--subresource', 'resize', '--patch',
            json.dumps({'spec': {'containers': [{'name': 'grows', 'resources': {'limits': more}}]}}))
    wait_until('the node says so', lambda: container_status(kubectl, 'grows').get('resources', {}).get('limits') == more)
    assert cpu_limit(data, 'grows-0') == cpu_limit(data, 'grows-0', of_pod=True) == 25000
    assert container_status(kubectl, 'grows')['restartCount'] == 0


def a_profile_of_the_machine(kubectl, data):
    os.makedirs(data + '/node/seccomp')
    with open(data + '/node/seccomp/no-chmod.json', 'w') as f:
        json.dump({'defaultAction': 'SCMP_ACT_ALLOW',
                   'syscalls': [{'names': ['chmod', 'fchmodat', 'fchmodat2'], 'action': 'SCMP_ACT_ERRNO', 'errnoRet': 1}]}, f)
    def profiled(name, profile):
        return pod(name, 'busybox chmod 700 /bin || exit 7', securityContext={
            'seccompProfile': {'type': 'Localhost', 'localhostProfile': profile}})
    apply(kubectl, profiled('confined', 'no-chmod.json'), profiled('unknown', 'absent.json'))
    assert ended(kubectl, 'confined')['exitCode'] == 7
    wait_until('what is not there is said', lambda: 'cannot load seccomp profile' in container_status(kubectl, 'unknown')['state']['waiting']['message'])


def a_volume_of_its_own(kubectl):
    """Of a class that waits for the first pod: the scheduler says on which node the volume is to be made."""
    apply(kubectl, {'apiVersion': 'storage.k8s.io/v1', 'kind': 'StorageClass', 'metadata': {'name': 'waits'},
                    'provisioner': 'flyball.dev/local-path', 'volumeBindingMode': 'WaitForFirstConsumer'})
    manifest = pod('scratch', 'echo x > /s/file && cat /s/file', volumeMounts=[{'name': 's', 'mountPath': '/s'}])
    claim = {'spec': {'storageClassName': 'waits', 'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Mi'}}}}
    manifest['spec']['volumes'] = [{'name': 's', 'ephemeral': {'volumeClaimTemplate': claim}}]
    apply(kubectl, manifest)
    assert ended(kubectl, 'scratch')['exitCode'] == 0
    assert 'Bound' in kubectl('get', 'pvc', 'scratch-s')
    kubectl('delete', 'pod', 'scratch')
    wait_until('the claim goes with the pod', lambda: not json.loads(kubectl('get', 'pvc', '-o', 'json'))['items'])


def a_node_that_is_short(kubectl):
    requests = {'requests': {'memory': '1Mi'}}
    apply(kubectl, pod('victim', 'sleep 1000', resources=requests))
    assert evicted(kubectl, 'victim').startswith('The node was low on resource: memory. Threshold quantity: ')
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]
    conditions = {c['type']: (c['status'], c['reason']) for c in node['status']['conditions']}
    assert conditions['MemoryPressure'] == ('True', 'KubeletHasInsufficientMemory'), conditions
    assert conditions['Ready'][0] == 'True' and conditions['DiskPressure'][0] == 'False', conditions
    wait_until('it is tainted', lambda: 'memory-pressure' in kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].spec.taints[*].key}'))
    capacity, allocatable = node['status']['capacity'], node['status']['allocatable']
    assert capacity['cpu'] != allocatable['cpu'] and capacity['memory'] != allocatable['memory'], node['status']


def run(binary, busybox, arguments, check):
    data = tempfile.mkdtemp(prefix='flyball-resources-')
    build_image(binary, data, busybox)
    program = Program(binary, 'up', '--data-dir', data, '--port', '0', *arguments, data_dir=data)
    try:
        kubectl = Kubectl(program.kubeconfig)
        check(kubectl, data)
        program.stop()
    except BaseException:
        print(program.output()[-4000:])
        raise
    finally:
        program.kill()
        clean(data)
        program.remove()


def limits(kubectl, data):
    the_log_says_why(kubectl)
    resources_change_in_place(kubectl, data)
    a_profile_of_the_machine(kubectl, data)
    a_volume_of_its_own(kubectl)
    what_outgrows_its_limit_goes(kubectl)


def main(binary):
    busybox = check_machine()
    run(binary, busybox, ['--pod-max-pids', '200'], limits)
    run(binary, busybox, ['--eviction-hard', 'memory.available<99%', '--system-reserved', 'cpu=100m'],
        lambda kubectl, data: a_node_that_is_short(kubectl))
    print('resources: fine')


if __name__ == '__main__':
    main(sys.argv[1])
