"""A small device plugin on grpcio, for tests.

    plugin.py RESOURCE FOLDER ROOT

Its socket is ROOT/device-plugins/test.sock, and it registers at kubelet.sock there, again whenever its own socket is removed.
FOLDER/state.json says what it has, and is read every 100 ms: {"devices": {"id": "Healthy"}, "pre_start": false, "preferred": null,
"fail": null}. Every call is appended to FOLDER/calls.log, as JSON.
"""
import json
import os
import sys
import threading
import time

import grpc
from google.protobuf import json_format

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from grpc_service import add_service, message_classes, serve  # noqa: E402

MESSAGES = {
    'Empty': [],
    'DevicePluginOptions': [('pre_start_required', 'bool'), ('get_preferred_allocation_available', 'bool')],
    'RegisterRequest': [('version', 'string'), ('endpoint', 'string'), ('resource_name', 'string'), ('options', 'DevicePluginOptions')],
    'Device': [('ID', 'string'), ('health', 'string')],
    'ListAndWatchResponse': [('devices', '*Device')],
    'PreStartContainerRequest': [('devices_ids', '*string')],
    'ContainerPreferredAllocationRequest': [('available', '*string'), ('must_include', '*string'), ('size', 'int32')],
    'PreferredAllocationRequest': [('container_requests', '*ContainerPreferredAllocationRequest')],
    'ContainerPreferredAllocationResponse': [('devices', '*string')],
    'PreferredAllocationResponse': [('container_responses', '*ContainerPreferredAllocationResponse')],
    'ContainerAllocateRequest': [('devices_ids', '*string')],
    'AllocateRequest': [('container_requests', '*ContainerAllocateRequest')],
    'Mount': [('container_path', 'string'), ('host_path', 'string'), ('read_only', 'bool')],
    'DeviceSpec': [('container_path', 'string'), ('host_path', 'string'), ('permissions', 'string')],
    'CDIDevice': [('name', 'string')],
    'ContainerAllocateResponse': [('envs', 'map'), ('mounts', '*Mount'), ('devices', '*DeviceSpec'), ('annotations', 'map'),
                                  ('cdi_devices', '*CDIDevice')],
    'AllocateResponse': [('container_responses', '*ContainerAllocateResponse')],
}


class Plugin:
    def __init__(self, resource, folder, root):
        self.resource, self.folder, self.root = resource, folder, root + '/device-plugins'
        self.types = message_classes('v1beta1', MESSAGES)
        self.lock = threading.Lock()
        self.server = None

    def state(self):
        with open(self.folder + '/state.json') as f:
            return {'devices': {}, 'pre_start': False, 'preferred': None, 'fail': None, **json.load(f)}

    def note(self, name, message):
        with self.lock, open(self.folder + '/calls.log', 'a') as f:
            f.write(json.dumps({'call': name, **json_format.MessageToDict(message, preserving_proto_field_name=True)}) + '\n')

    def options(self, request=None, context=None):
        state = self.state()
        return self.types['DevicePluginOptions'](pre_start_required=state['pre_start'],
                                                 get_preferred_allocation_available=bool(state['preferred']))

    def list_and_watch(self, request, context):
        known = None
        while context.is_active():
            devices = self.state()['devices']
            if devices != known:
                known = devices
                yield self.types['ListAndWatchResponse'](
                    devices=[self.types['Device'](ID=name, health=health) for name, health in devices.items()])
            time.sleep(0.1)

    def preferred(self, request, context):
        self.note('GetPreferredAllocation', request)
        answer = self.types['PreferredAllocationResponse']()
        answer.container_responses.add(devices=self.state()['preferred'])
        return answer

    def allocate(self, request, context):
        self.note('Allocate', request)
        state = self.state()
        if state['fail']:
            context.abort(grpc.StatusCode.INTERNAL, state['fail'])
        answer = self.types['AllocateResponse']()
        container = answer.container_responses.add()
        ids = list(request.container_requests[0].devices_ids)
        container.envs['TEST_DEVICES'] = ','.join(sorted(ids))
        container.annotations['devices.example/ids'] = ','.join(sorted(ids))
        container.mounts.add(container_path='/lib/of-device', host_path=self.folder, read_only=True)
        container.devices.add(container_path='/dev/of-test', host_path='/dev/autofs', permissions='r')
        if state.get('cdi'):
            container.cdi_devices.add(name=state['cdi'])
        return answer

    def pre_start(self, request, context):
        self.note('PreStartContainer', request)
        return self.types['Empty']()

    def add_services(self, server):
        add_service(server, 'v1beta1.DevicePlugin', {
            'GetDevicePluginOptions': (self.options, self.types['Empty']),
            'ListAndWatch': (self.list_and_watch, self.types['Empty'], True),
            'GetPreferredAllocation': (self.preferred, self.types['PreferredAllocationRequest']),
            'Allocate': (self.allocate, self.types['AllocateRequest']),
            'PreStartContainer': (self.pre_start, self.types['PreStartContainerRequest'])})

    def register(self):
        with grpc.insecure_channel('unix:' + self.root + '/kubelet.sock') as channel:
            call = channel.unary_unary('/v1beta1.Registration/Register', request_serializer=lambda m: m.SerializeToString(),
                                       response_deserializer=self.types['Empty'].FromString)
            request = self.types['RegisterRequest'](version='v1beta1', endpoint='test.sock', resource_name=self.resource)
            call(request, timeout=20)

    def run(self):
        """As plugins do: when the kubelet removes their socket, they begin again."""
        socket = self.root + '/test.sock'
        while True:
            if not os.path.exists(socket) and os.path.exists(self.root + '/kubelet.sock'):
                if self.server:
                    self.server.stop(None)
                try:
                    self.server = serve(socket, self.add_services)
                    self.register()
                    self.note('registered', self.types['Empty']())
                except grpc.RpcError as error:
                    print('not registered: %s: %s' % (error.code(), error.details()), flush=True)
                    os.path.exists(socket) and os.unlink(socket)
            time.sleep(0.1)


if __name__ == '__main__':
    Plugin(*sys.argv[1:]).run()
