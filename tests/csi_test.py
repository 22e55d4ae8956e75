"""CSI on one machine: a driver of the test's own registers, and pods have its volumes: persistent and inline ones, staged or not,
through crashes of the agent; nothing is left mounted in the end."""
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
    skip('the test\'s CSI driver needs python3-grpcio and python3-protobuf')

NAME = 'folders.csi.example'


class Driver:
    """The driver's process, and what it was asked."""

    def __init__(self, data):
        self.folder, self.root = data + '/driver', data + '/kubelet'
        os.makedirs(self.folder + '/volumes')
        self.process = None
        self.say()

    def say(self, **state):
        with open(self.folder + '/state.new', 'w') as f:
            json.dump(state, f)
        os.rename(self.folder + '/state.new', self.folder + '/state.json')

    def start(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'csi', 'driver.py')
        self.process = subprocess.Popen([sys.executable, script, NAME, self.folder, self.root], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == 'listening\n'

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def leave(self):
        """It goes in good order: registrars remove their socket."""
        self.stop()
        os.unlink(self.root + '/plugins_registry/%s-reg.sock' % NAME)

    def calls(self, name, volume=None):
        if not os.path.exists(self.folder + '/calls.log'):
            return []
        with open(self.folder + '/calls.log') as f:
            calls = [json.loads(line) for line in f]
        return [call for call in calls if call['call'] == name and (volume is None or call.get('volume_id') == volume)]


def csi_driver(**spec):
    return {'apiVersion': 'storage.k8s.io/v1', 'kind': 'CSIDriver', 'metadata': {'name': NAME}, 'spec': spec}


def volume_and_claim(name, **csi):
    """A persistent volume by hand, and the claim that it is for."""
    common = {'accessModes': ['ReadWriteOnce'], 'storageClassName': ''}
    return [{'apiVersion': 'v1', 'kind': 'PersistentVolume', 'metadata': {'name': 'pv-' + name},
             'spec': {**common, 'capacity': {'storage': '1Gi'}, 'claimRef': {'namespace': 'default', 'name': name},
                      'csi': {'driver': NAME, 'volumeHandle': 'handle-' + name, **csi}}},
            {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': name},
             'spec': {**common, 'volumeName': 'pv-' + name, 'resources': {'requests': {'storage': '1Gi'}}}}]


def mounts_claim(name, claim, command, **spec):
    manifest = pod(name, command, volumeMounts=[{'name': 'v', 'mountPath': '/v'}])
    manifest['spec'].update(volumes=[{'name': 'v', 'persistentVolumeClaim': {'claimName': claim}}], **spec)
    return manifest


def mounts_inline(name, command, **csi):
    manifest = pod(name, command, volumeMounts=[{'name': 'v', 'mountPath': '/v'}])
    manifest['spec']['volumes'] = [{'name': 'v', 'csi': {'driver': NAME, **csi}}]
    return manifest


def get(kubectl, *what):
    return json.loads(kubectl('get', *what, '-o', 'json'))


def node_of(kubectl):
    return get(kubectl, 'nodes')['items'][0]


def events(kubectl, name, reason):
    selector = 'involvedObject.name=%s,reason=%s' % (name, reason)
    return [event['message'] for event in get(kubectl, 'events', '--field-selector', selector)['items']]


def mounted(data):
    return [line for line in open('/proc/self/mounts') if data in line and '/csi' in line]


def it_registers(kubectl, driver):
    wait_until('there is a node', lambda: get(kubectl, 'nodes')['items'])
    node = node_of(kubectl)['metadata']['name']
    wait_until('the node has a CSINode', lambda: get(kubectl, 'csinode', node))
    csi_node = get(kubectl, 'csinode', node)
    assert csi_node['spec'] == {'drivers': None} or not csi_node['spec']['drivers'], csi_node
    assert csi_node['metadata']['ownerReferences'][0]['kind'] == 'Node', csi_node
    driver.start()
    wait_until('it is told that it is registered', lambda: driver.calls('NotifyRegistrationStatus'))
    assert driver.calls('NotifyRegistrationStatus')[0]['plugin_registered'] is True
    entry = get(kubectl, 'csinode', node)['spec']['drivers']
    rack = 'topology.%s/rack' % NAME
    assert entry == [{'name': NAME, 'nodeID': 'id-of-' + NAME, 'topologyKeys': [rack], 'allocatable': {'count': 7}}], entry
    metadata = node_of(kubectl)['metadata']
    assert metadata['labels'][rack] == 'r1', metadata
    assert json.loads(metadata['annotations']['csi.volume.kubernetes.io/nodeid']) == {NAME: 'id-of-' + NAME}, metadata


def a_volume_is_published(kubectl, driver, data):
    apply(kubectl, csi_driver(attachRequired=False), *volume_and_claim('plain'),
          mounts_claim('writer', 'plain', 'echo hello > /v/greeting; sleep 1000'))
    wait_until('it runs', lambda: container_status(kubectl, 'writer')['ready'])
    wait_until('it has written', lambda: os.path.exists(driver.folder + '/volumes/handle-plain/greeting'))
    uid = get(kubectl, 'pod', 'writer')['metadata']['uid']
    published = driver.calls('NodePublishVolume', 'handle-plain')
    assert len(published) == 1, published
    target = '%s/kubelet/pods/%s/volumes/kubernetes.io~csi/pv-plain/mount' % (data, uid)
    assert published[0]['target_path'] == target, published
    assert published[0]['volume_capability']['access_mode'] == {'mode': 1}, published
    assert not driver.calls('NodeStageVolume')
    assert json.load(open(os.path.dirname(target) + '/vol_data.json'))['volumeHandle'] == 'handle-plain'
    kubectl('delete', 'pod', 'writer')
    undone = driver.calls('NodeUnpublishVolume', 'handle-plain')
    assert len(undone) == 1, undone  # the object goes after that
    assert not os.path.exists('%s/kubelet/pods/%s' % (data, uid))
    assert not mounted(data)


def a_volume_is_staged_once(kubectl, driver, data):
    driver.say(capabilities=['STAGE_UNSTAGE_VOLUME', 'SINGLE_NODE_MULTI_WRITER'])
    apply(kubectl, {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'key'}, 'stringData': {'user': 'me'}},
          *volume_and_claim('staged', fsType='ext4', volumeAttributes={'size': 'small'},
                            nodeStageSecretRef={'namespace': 'default', 'name': 'key'},
                            nodePublishSecretRef={'namespace': 'default', 'name': 'key'}),
          mounts_claim('first', 'staged', 'id -G; ls -ldn /v; touch /v/file; ls -ln /v; sleep 1000',
                       securityContext={'runAsUser': 1000, 'fsGroup': 4000}),
          mounts_claim('second', 'staged', 'sleep 1000'))
    for name in ('first', 'second'):
        wait_until(name + ' runs', lambda: container_status(kubectl, name)['ready'])
    staged = driver.calls('NodeStageVolume', 'handle-staged')
    assert len(staged) == 1 and staged[0]['secrets'] == {'user': 'me'} and staged[0]['volume_context'] == {'size': 'small'}, staged
    assert staged[0]['volume_capability'] == {'mount': {'fs_type': 'ext4'}, 'access_mode': {'mode': 7}}, staged
    published = driver.calls('NodePublishVolume', 'handle-staged')
    assert len(published) == 2 and published[0]['secrets'] == {'user': 'me'}, published
    assert all(call['staging_target_path'] == staged[0]['staging_target_path'] for call in published), published
    log = kubectl('logs', 'first')
    assert '4000' in log.split('\n')[0].split() and 'drwxrws' in log and ' 4000 ' in log.split('\n')[-1], log
    kubectl('delete', 'pod', 'first')
    assert not driver.calls('NodeUnstageVolume')
    kubectl('delete', 'pod', 'second')
    wait_until('it is unstaged with the last one', lambda: len(driver.calls('NodeUnstageVolume', 'handle-staged')) == 1)
    wait_until('nothing is mounted', lambda: not mounted(data))
    wait_until('nothing is left of it', lambda: not os.listdir('%s/kubelet/plugins/kubernetes.io/csi/%s' % (data, NAME)))


def an_inline_volume(kubectl, driver, data):
    apply(kubectl, mounts_inline('not-inline', 'true', volumeAttributes={'size': 'small'}))
    said = wait_until('it is refused', lambda: events(kubectl, 'not-inline', 'FailedMount'))
    assert said[0] == ('MountVolume.SetUp failed for volume "v" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle '
                       'mode: volume mode "Ephemeral" not supported by driver %s (only supports ["Persistent"])' % NAME), said
    kubectl('delete', 'csidriver', NAME)
    apply(kubectl, csi_driver(attachRequired=False, podInfoOnMount=True, volumeLifecycleModes=['Persistent', 'Ephemeral'],
                              tokenRequests=[{'audience': 'vault', 'expirationSeconds': 600}]))
    apply(kubectl, mounts_inline('inline', 'cat /v/csi.storage.k8s.io_pod.name; ls /v', volumeAttributes={'size': 'small'}))
    assert ended(kubectl, 'inline')['exitCode'] == 0
    assert kubectl('logs', 'inline').startswith('inline'), kubectl('logs', 'inline')
    call = [c for c in driver.calls('NodePublishVolume') if c.get('volume_context', {}).get('csi.storage.k8s.io/pod.name') == 'inline'][0]
    context = call['volume_context']
    assert context['size'] == 'small' and context['csi.storage.k8s.io/ephemeral'] == 'true', context
    assert context['csi.storage.k8s.io/serviceAccount.name'] == 'default', context
    token = json.loads(context['csi.storage.k8s.io/serviceAccount.tokens'])['vault']
    assert token['token'].count('.') == 2 and token['expirationTimestamp'].endswith('Z'), token
    # The pod has ended: its volume goes, though its object stays.
    wait_until('it is unpublished', lambda: driver.calls('NodeUnpublishVolume', call['volume_id']))
    kubectl('delete', 'pod', 'inline', 'not-inline')


def a_driver_that_fails(kubectl, driver, data):
    driver.say(fail={'NodePublishVolume': ['INTERNAL', 'the disk is on fire']})
    apply(kubectl, mounts_claim('unlucky', 'plain', 'sleep 1000'))
    said = wait_until('it is said', lambda: events(kubectl, 'unlucky', 'FailedMount'))
    assert said[0] == ('MountVolume.SetUp failed for volume "pv-plain" : rpc error: code = Internal desc = the disk is on fire'), said
    driver.say()
    wait_until('it runs in the end', lambda: container_status(kubectl, 'unlucky')['ready'])
    driver.say(fail={'NodeUnpublishVolume': ['INTERNAL', 'busy']})
    kubectl('delete', 'pod', 'unlucky', '--wait=false')
    wait_until('it was asked', lambda: driver.calls('NodeUnpublishVolume', 'handle-plain')[1:])
    assert get(kubectl, 'pod', 'unlucky')  # until its volume is unmounted
    driver.say()
    wait_until('it is gone', lambda: kubectl.run('get', 'pod', 'unlucky', check=False).returncode != 0)
    assert not mounted(data)


def crashes_of_the_agent(kubectl, driver, data, restart):
    driver.say(capabilities=['STAGE_UNSTAGE_VOLUME'])
    for name in ('kept', 'lost'):
        apply(kubectl, *volume_and_claim(name), mounts_claim(name, name, 'echo one > /v/file; sleep 100000'))
    for name in ('kept', 'lost'):
        wait_until(name + ' runs', lambda: container_status(kubectl, name)['ready'])
    before = {name: len(driver.calls('NodePublishVolume', 'handle-' + name)) for name in ('kept', 'lost')}
    restart(lambda: kubectl('delete', 'pod', 'lost', '--force', '--grace-period=0'))
    wait_until('what is lost is undone', lambda: driver.calls('NodeUnstageVolume', 'handle-lost'))
    assert driver.calls('NodeUnpublishVolume', 'handle-lost')
    wait_until('the other one runs', lambda: container_status(kubectl, 'kept')['ready'])
    assert kubectl('exec', 'kept', '--', 'cat', '/v/file') == 'one'
    assert len(driver.calls('NodePublishVolume', 'handle-kept')) == before['kept'], 'it was published again'
    assert not driver.calls('NodeUnpublishVolume', 'handle-kept')
    kubectl('delete', 'pod', 'kept')
    wait_until('nothing is mounted', lambda: not mounted(data))


def a_volume_is_attached(kubectl, driver, data):
    """The test is the external-attacher."""
    kubectl('delete', 'csidriver', NAME)
    apply(kubectl, csi_driver(attachRequired=True), *volume_and_claim('far'), mounts_claim('waits', 'far', 'sleep 1000'))
    unique = 'kubernetes.io/csi/%s^handle-far' % NAME
    attachment = wait_until('attaching is asked for', lambda: get(kubectl, 'volumeattachments')['items'])[0]
    node = node_of(kubectl)['metadata']['name']
    assert attachment['spec'] == {'attacher': NAME, 'nodeName': node, 'source': {'persistentVolumeName': 'pv-far'}}, attachment
    wait_until('the node says that it uses it', lambda: node_of(kubectl)['status'].get('volumesInUse') == [unique])
    assert not driver.calls('NodePublishVolume', 'handle-far') and not events(kubectl, 'waits', 'FailedMount')
    kubectl('patch', 'volumeattachment', attachment['metadata']['name'], '--subresource', 'status', '--type', 'merge', '--patch',
            json.dumps({'status': {'attached': True, 'attachmentMetadata': {'device': 'sdz'}}}))
    wait_until('it runs', lambda: container_status(kubectl, 'waits')['ready'])
    assert node_of(kubectl)['status']['volumesAttached'] == [{'name': unique, 'devicePath': ''}], node_of(kubectl)['status']
    assert driver.calls('NodePublishVolume', 'handle-far')[0]['publish_context'] == {'device': 'sdz'}
    assert events(kubectl, 'waits', 'SuccessfulAttachVolume') == ['AttachVolume.Attach succeeded for volume "pv-far" ']
    kubectl('delete', 'pod', 'waits')
    wait_until('it is detached', lambda: not get(kubectl, 'volumeattachments')['items'])
    status = node_of(kubectl)['status']
    assert 'volumesInUse' not in status and 'volumesAttached' not in status, status


def a_claim_grows(kubectl, driver, data):
    """The test is the external-resizer."""
    driver.say(capabilities=['EXPAND_VOLUME'])
    kubectl('patch', 'pv', 'pv-plain', '--patch', json.dumps({'spec': {'capacity': {'storage': '2Gi'}}}))
    apply(kubectl, mounts_claim('grows', 'plain', 'sleep 1000'))
    wait_until('it runs', lambda: container_status(kubectl, 'grows')['ready'])
    assert driver.calls('NodeExpandVolume')[0]['capacity_range'] == {'required_bytes': str(2 << 30)}, driver.calls('NodeExpandVolume')
    assert get(kubectl, 'pvc', 'plain')['status']['capacity'] == {'storage': '2Gi'}
    said = wait_until('it is said', lambda: events(kubectl, 'grows', 'FileSystemResizeSuccessful'))
    assert said[0].startswith('MountVolume.NodeExpandVolume succeeded for volume "pv-plain" '), said
    kubectl('delete', 'pod', 'grows')


def it_leaves(kubectl, driver):
    node = node_of(kubectl)['metadata']['name']
    driver.leave()
    wait_until('the node does not have it', lambda: not get(kubectl, 'csinode', node)['spec']['drivers'])
    assert 'csi.volume.kubernetes.io/nodeid' not in node_of(kubectl)['metadata'].get('annotations', {})
    apply(kubectl, mounts_claim('alone', 'plain', 'true'))
    said = wait_until('it is missed', lambda: events(kubectl, 'alone', 'FailedMount'))
    assert said[0] == ('MountVolume.MountDevice failed for volume "pv-plain" : kubernetes.io/csi: attacher.MountDevice failed to create '
                       'newCsiDriverClient: driver name %s not found in the list of registered CSI drivers' % NAME), said
    driver.start()
    assert ended(kubectl, 'alone')['exitCode'] == 0
    kubectl('delete', 'pod', 'alone')


def main(binary):
    busybox = check_machine()
    data = os.path.realpath(tempfile.mkdtemp(prefix='flyball-csi-'))
    build_image(binary, data, busybox)
    driver = Driver(data)
    programs = []

    def start():
        programs.append(Program(binary, 'up', '--data-dir', data, '--port', '0', data_dir=data))

    # The server alone does what is done meanwhile: the agent is gone.
    def restart(meanwhile):
        programs[-1].kill()
        server = Program(binary, 'apiserver', '--data-dir', data, '--secure-port', '0', data_dir=data)
        try:
            meanwhile()
        finally:
            server.stop()
        start()

    try:
        start()
        kubectl = Kubectl(programs[0].kubeconfig)
        it_registers(kubectl, driver)
        a_volume_is_published(kubectl, driver, data)
        a_volume_is_staged_once(kubectl, driver, data)
        an_inline_volume(kubectl, driver, data)
        a_driver_that_fails(kubectl, driver, data)
        a_claim_grows(kubectl, driver, data)
        it_leaves(kubectl, driver)
        crashes_of_the_agent(kubectl, driver, data, restart)
        a_volume_is_attached(kubectl, driver, data)
        kubectl('delete', 'pods', '--all')
        wait_until('nothing is mounted', lambda: not mounted(data))
        programs[-1].stop()
    except BaseException:
        print(programs[-1].output()[-6000:] if programs else '')
        raise
    finally:
        driver.stop()
        for program in programs:
            program.kill()
        clean(data)
        programs and programs[-1].remove()
    print('csi: fine')


main(sys.argv[1])
