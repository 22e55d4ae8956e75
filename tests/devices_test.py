"""Device plugins: one of the test's own registers, its devices are a resource of the node, and containers get them: variables, mounts
and device nodes. They keep them through restarts of the agent; what is not healthy is not given away."""
import json
import os
import subprocess
import sys
import tempfile

from containers import apply, build_image, check_machine, clean, container_status, ended, pod
from program import Kubectl, Program, skip, wait_until

try:
    import grpc  # noqa: F401
except ImportError:
    skip('the test\'s device plugin needs python3-grpcio and python3-protobuf')

RESOURCE = 'example.com/thing'


class Plugin:
    def __init__(self, data):
        self.folder, self.root = data + '/plugin', data + '/kubelet'
        os.makedirs(self.folder)
        self.process = None

    def say(self, **state):
        with open(self.folder + '/state.new', 'w') as f:
            json.dump(state, f)
        os.rename(self.folder + '/state.new', self.folder + '/state.json')

    def start(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'devices', 'plugin.py')
        self.process = subprocess.Popen([sys.executable, script, RESOURCE, self.folder, self.root])

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def calls(self, name):
        if not os.path.exists(self.folder + '/calls.log'):
            return []
        with open(self.folder + '/calls.log') as f:
            return [call for call in map(json.loads, f) if call['call'] == name]


def wants(name, count, command, **spec):
    manifest = pod(name, command, resources={'limits': {RESOURCE: count}})
    manifest['spec'].update(spec)
    return manifest


def amounts(kubectl):
    nodes = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items']
    status = nodes[0]['status'] if nodes else {}
    return status.get('capacity', {}).get(RESOURCE), status.get('allocatable', {}).get(RESOURCE)


def node_has(kubectl, capacity, allocatable):
    wait_until('the node has %s, and %s to give' % (capacity, allocatable), lambda: amounts(kubectl) == (capacity, allocatable))


def devices_are_given(kubectl, plugin):
    plugin.say(devices={'a': 'Healthy', 'b': 'Healthy', 'c': 'Healthy'}, pre_start=True, preferred=['c', 'b'])
    plugin.start()
    node_has(kubectl, '3', '3')
    script = ('echo $TEST_DEVICES; ls -l /dev/of-test; cat /lib/of-device/state.json > /dev/null && echo mounted; '
              '(: < /dev/of-test) && echo readable; (: > /dev/of-test) 2> /dev/null || echo "not writable"')
    apply(kubectl, wants('has-two', 2, script))
    assert ended(kubectl, 'has-two')['exitCode'] == 0, kubectl('logs', 'has-two')
    lines = kubectl('logs', 'has-two').split('\n')
    assert lines[0] == 'b,c' and lines[1].startswith('cr') and lines[2:] == ['mounted', 'readable', 'not writable'], lines
    assert plugin.calls('PreStartContainer')[0]['devices_ids'] == ['b', 'c'], plugin.calls('PreStartContainer')
    preferred = plugin.calls('GetPreferredAllocation')[0]['container_requests'][0]
    assert sorted(preferred['available']) == ['a', 'b', 'c'] and preferred['size'] == 2, preferred


def who_has_none_left(kubectl, plugin):
    plugin.say(devices={'a': 'Healthy', 'b': 'Healthy', 'c': 'Unhealthy'})
    node_has(kubectl, '3', '2')
    apply(kubectl, wants('first', 1, 'sleep 1000'), wants('second', 1, 'sleep 1000'))
    for name in ('first', 'second'):
        wait_until(name + ' runs', lambda: container_status(kubectl, name)['ready'])
    devices = sorted(kubectl('exec', name, '--', 'sh', '-c', 'echo $TEST_DEVICES') for name in ('first', 'second'))
    assert devices == ['a', 'b'], devices
    # Past the scheduler, which would keep it waiting.
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]['metadata']['name']
    apply(kubectl, wants('third', 1, 'true', nodeName=node))
    status = wait_until('it is refused', lambda: (lambda s: s if s.get('phase') == 'Failed' else None)(
        json.loads(kubectl('get', 'pod', 'third', '-o', 'json'))['status']))
    assert status['reason'] == 'UnexpectedAdmissionError', status
    assert ('Pod was rejected: Allocate failed due to requested number of devices unavailable for %s. Requested: 1, Available: 0, '
            'which is unexpected' % RESOURCE) in status['message'], status
    kubectl('delete', 'pod', 'third')


def a_plugin_that_refuses(kubectl, plugin):
    kubectl('delete', 'pod', 'second')
    for state, why in (({'fail': 'it is broken'}, 'rpc error: code = Internal desc = it is broken'),
                       ({'cdi': 'example.com/thing=1'}, 'the CDI device "example.com/thing=1", which this node does not support')):
        plugin.say(devices={'a': 'Healthy', 'b': 'Healthy'}, **state)
        apply(kubectl, wants('refused', 1, 'true'))
        status = wait_until('it is refused', lambda: (lambda s: s if s.get('phase') == 'Failed' else None)(
            json.loads(kubectl('get', 'pod', 'refused', '-o', 'json'))['status']))
        assert status['reason'] == 'UnexpectedAdmissionError', status
        assert status['message'] == 'Pod was rejected: Allocate failed due to %s, which is unexpected' % why, status
        kubectl('delete', 'pod', 'refused')
    plugin.say(devices={'a': 'Healthy', 'b': 'Healthy'})


def through_a_restart(kubectl, plugin, restart):
    before = kubectl('exec', 'first', '--', 'sh', '-c', 'echo $TEST_DEVICES')
    registered = len(plugin.calls('registered'))
    restart()
    wait_until('the plugin registers again', lambda: len(plugin.calls('registered')) > registered)
    node_has(kubectl, '2', '2')
    wait_until('it runs', lambda: container_status(kubectl, 'first')['ready'])
    allocated = len(plugin.calls('Allocate'))
    apply(kubectl, wants('after', 1, 'echo $TEST_DEVICES'))
    assert ended(kubectl, 'after')['exitCode'] == 0
    other = {'a': 'b', 'b': 'a'}[before]
    assert kubectl('logs', 'after') == other, (before, kubectl('logs', 'after'))
    assert len(plugin.calls('Allocate')) == allocated + 1
    plugin.stop()
    node_has(kubectl, '2', '0')


def main(binary):
    busybox = check_machine()
    data = os.path.realpath(tempfile.mkdtemp(prefix='flyball-devices-'))
    build_image(binary, data, busybox)
    plugin = Plugin(data)
    programs = []

    def start():
        programs.append(Program(binary, 'up', '--data-dir', data, '--port', '0', data_dir=data))

    def restart():
        programs[-1].kill()
        start()

    try:
        start()
        kubectl = Kubectl(programs[0].kubeconfig)
        devices_are_given(kubectl, plugin)
        who_has_none_left(kubectl, plugin)
        a_plugin_that_refuses(kubectl, plugin)
        through_a_restart(kubectl, plugin, restart)
        kubectl('delete', 'pods', '--all')
        programs[-1].stop()
    except BaseException:
        print(programs[-1].output()[-6000:] if programs else '')
        raise
    finally:
        plugin.stop()
        for program in programs:
            program.kill()
        clean(data)
        programs and programs[-1].remove()
    print('devices: fine')


main(sys.argv[1])
