"""A small CSI driver on grpcio: its volumes are folders, which it binds to where they are wanted.

    driver.py NAME FOLDER ROOT

Its socket is FOLDER/csi.sock, and it registers in ROOT/plugins_registry. FOLDER/state.json is read with every call:
{"capabilities": [...], "fail": {"NodePublishVolume": ["INTERNAL", "why"]}}. Every call is appended to FOLDER/calls.log, as JSON.
"""
import json
import os
import subprocess
import sys
import threading

import grpc
from google.protobuf import json_format

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from grpc_service import add_service, message_classes, serve  # noqa: E402

REGISTRATION = {
    'InfoRequest': [],
    'PluginInfo': [('type', 'string'), ('name', 'string'), ('endpoint', 'string'), ('supported_versions', '*string')],
    'RegistrationStatus': [('plugin_registered', 'bool'), ('error', 'string')],
    'RegistrationStatusResponse': [],
}
NODE = {
    'Empty': [],
    'AccessMode': [('mode', 'int32')],
    'MountVolume': [('fs_type', 'string'), ('mount_flags', '*string'), ('volume_mount_group', 'string')],
    'VolumeCapability': [('mount', 'MountVolume', 2), ('access_mode', 'AccessMode', 3)],
    'Topology': [('segments', 'map')],
    'CapacityRange': [('required_bytes', 'int64'), ('limit_bytes', 'int64')],
    'NodeGetInfoResponse': [('node_id', 'string'), ('max_volumes_per_node', 'int64'), ('accessible_topology', 'Topology')],
    'RPC': [('type', 'int32')],
    'NodeServiceCapability': [('rpc', 'RPC')],
    'NodeGetCapabilitiesResponse': [('capabilities', '*NodeServiceCapability')],
    'NodeStageVolumeRequest': [('volume_id', 'string'), ('publish_context', 'map'), ('staging_target_path', 'string'),
                               ('volume_capability', 'VolumeCapability'), ('secrets', 'map'), ('volume_context', 'map')],
    'NodeUnstageVolumeRequest': [('volume_id', 'string'), ('staging_target_path', 'string')],
    'NodePublishVolumeRequest': [('volume_id', 'string'), ('publish_context', 'map'), ('staging_target_path', 'string'),
                                 ('target_path', 'string'), ('volume_capability', 'VolumeCapability'), ('readonly', 'bool'),
                                 ('secrets', 'map'), ('volume_context', 'map')],
    'NodeUnpublishVolumeRequest': [('volume_id', 'string'), ('target_path', 'string')],
    'NodeExpandVolumeRequest': [('volume_id', 'string'), ('volume_path', 'string'), ('capacity_range', 'CapacityRange'),
                                ('staging_target_path', 'string'), ('volume_capability', 'VolumeCapability'), ('secrets', 'map')],
    'NodeExpandVolumeResponse': [('capacity_bytes', 'int64')],
}
CAPABILITIES = {'STAGE_UNSTAGE_VOLUME': 1, 'GET_VOLUME_STATS': 2, 'EXPAND_VOLUME': 3, 'SINGLE_NODE_MULTI_WRITER': 5, 'VOLUME_MOUNT_GROUP': 6}


def is_mounted(path):
    """os.path.ismount does not see binds of the same file system."""
    with open('/proc/self/mountinfo') as f:
        return any(line.split()[4] == path for line in f)


def bind(source, target, read_only=False):
    os.makedirs(target, exist_ok=True)
    if is_mounted(target):
        return
    subprocess.run(['mount', '--bind', source, target], check=True)
    if read_only:
        subprocess.run(['mount', '-o', 'remount,bind,ro', target], check=True)


def unbind(target):
    while is_mounted(target):
        subprocess.run(['umount', target], check=True)


class Driver:
    def __init__(self, name, folder, root):
        self.name, self.folder, self.root = name, folder, root
        self.types, self.registration = message_classes('csi.v1', NODE), message_classes('pluginregistration', REGISTRATION)
        self.lock = threading.Lock()
        self.empty = self.types['Empty']()

    def state(self):
        with open(self.folder + '/state.json') as f:
            return json.load(f)

    def folder_of(self, volume_id):
        path = os.path.join(self.folder, 'volumes', volume_id)
        os.makedirs(path, exist_ok=True)
        return path

    def call(self, name, method):
        """The method, noted, unless the state says that it fails."""
        def run(request, context):
            with self.lock, open(self.folder + '/calls.log', 'a') as f:
                f.write(json.dumps({'call': name, **json_format.MessageToDict(request, preserving_proto_field_name=True)}) + '\n')
            code, why = self.state().get('fail', {}).get(name, (None, None))
            if code:
                context.abort(grpc.StatusCode[code], why)
            return method(request)
        return run

    def info(self, _):
        answer = self.types['NodeGetInfoResponse'](node_id='id-of-' + self.name, max_volumes_per_node=7)
        answer.accessible_topology.segments['topology.' + self.name + '/rack'] = 'r1'
        return answer

    def capabilities(self, _):
        answer = self.types['NodeGetCapabilitiesResponse']()
        for capability in self.state().get('capabilities', []):
            answer.capabilities.add().rpc.type = CAPABILITIES[capability]
        return answer

    def stage(self, request):
        bind(self.folder_of(request.volume_id), request.staging_target_path)
        return self.empty

    def unstage(self, request):
        unbind(request.staging_target_path)
        return self.empty

    def publish(self, request):
        source = request.staging_target_path or self.folder_of(request.volume_id)
        if request.volume_context.get('csi.storage.k8s.io/ephemeral') == 'true':
            for key, value in request.volume_context.items():
                with open(os.path.join(source, key.replace('/', '_')), 'w') as f:
                    f.write(value)
        bind(source, request.target_path, request.readonly)
        return self.empty

    def unpublish(self, request):
        unbind(request.target_path)
        if os.path.isdir(request.target_path):
            os.rmdir(request.target_path)
        return self.empty

    def expand(self, request):
        return self.types['NodeExpandVolumeResponse'](capacity_bytes=request.capacity_range.required_bytes)

    def node_service(self, server):
        methods = {'NodeGetInfo': (self.info, 'Empty'), 'NodeGetCapabilities': (self.capabilities, 'Empty'),
                   'NodeStageVolume': (self.stage, 'NodeStageVolumeRequest'), 'NodeUnstageVolume': (self.unstage, 'NodeUnstageVolumeRequest'),
                   'NodePublishVolume': (self.publish, 'NodePublishVolumeRequest'),
                   'NodeUnpublishVolume': (self.unpublish, 'NodeUnpublishVolumeRequest'),
                   'NodeExpandVolume': (self.expand, 'NodeExpandVolumeRequest')}
        add_service(server, 'csi.v1.Node',
                    {name: (self.call(name, method), self.types[request]) for name, (method, request) in methods.items()})

    def registration_service(self, server):
        types = self.registration
        info = types['PluginInfo'](type='CSIPlugin', name=self.name, endpoint=self.folder + '/csi.sock', supported_versions=['1.0.0'])
        methods = {'GetInfo': (lambda _: info, 'InfoRequest'),
                   'NotifyRegistrationStatus': (lambda _: types['RegistrationStatusResponse'](), 'RegistrationStatus')}
        add_service(server, 'pluginregistration.Registration',
                    {name: (self.call(name, method), types[request]) for name, (method, request) in methods.items()})


def main():
    driver = Driver(*sys.argv[1:])
    servers = [serve(driver.folder + '/csi.sock', driver.node_service)]
    registry = os.path.join(driver.root, 'plugins_registry')
    os.makedirs(registry, exist_ok=True)
    servers.append(serve(os.path.join(registry, driver.name + '-reg.sock'), driver.registration_service))
    print('listening', flush=True)
    servers[0].wait_for_termination()


if __name__ == '__main__':
    main()
