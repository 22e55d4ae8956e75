"""A KMS v2 plugin on grpcio: keeps keys, encrypts and decrypts what the API server gives it.

    plugin.py SOCKET STATE

STATE is a JSON file, read with every call: {"keyID": ..., "healthz": ...}. Each key ID has a key of its own. Every call
is appended to STATE.log.
"""
import hashlib
import hmac
import json
import os
import sys
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

MESSAGES = {
    'StatusRequest': [],
    'StatusResponse': [('version', 'string'), ('healthz', 'string'), ('key_id', 'string')],
    'DecryptRequest': [('ciphertext', 'bytes'), ('uid', 'string'), ('key_id', 'string'), ('annotations', 'map')],
    'DecryptResponse': [('plaintext', 'bytes')],
    'EncryptRequest': [('plaintext', 'bytes'), ('uid', 'string')],
    'EncryptResponse': [('ciphertext', 'bytes'), ('key_id', 'string'), ('annotations', 'map')],
}


def messages():
    """The classes of k8s.io/kms/apis/v2/api.proto, made without a compiler."""
    field = descriptor_pb2.FieldDescriptorProto
    types = {'string': field.TYPE_STRING, 'bytes': field.TYPE_BYTES}
    file = descriptor_pb2.FileDescriptorProto(name='kms.proto', package='v2', syntax='proto3')
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field_name, kind) in enumerate(fields, 1):
            if kind != 'map':
                message.field.add(name=field_name, number=number, type=types[kind], label=field.LABEL_OPTIONAL)
                continue
            entry = message.nested_type.add(name='AnnotationsEntry')
            entry.options.map_entry = True
            entry.field.add(name='key', number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
            entry.field.add(name='value', number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
            message.field.add(name=field_name, number=number, type=field.TYPE_MESSAGE, label=field.LABEL_REPEATED,
                              type_name='.v2.%s.AnnotationsEntry' % name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    get = getattr(message_factory, 'GetMessageClass', None) or message_factory.MessageFactory(pool).GetPrototype
    return {name: get(pool.FindMessageTypeByName('v2.' + name)) for name in MESSAGES}


class Plugin:
    def __init__(self, state):
        self.state, self.types = state, messages()

    def read(self):
        with open(self.state) as f:
            return json.load(f)

    def note(self, call):
        with open(self.state + '.log', 'a') as f:
            f.write(call + '\n')

    def stream(self, key_id, nonce, size):
        out = b''
        while len(out) < size:
            out += hmac.new(key_id.encode(), nonce + len(out).to_bytes(4, 'big'), hashlib.sha256).digest()
        return out[:size]

    def status(self, request, context):
        state = self.read()
        self.note('Status')
        return self.types['StatusResponse'](version='v2', healthz=state.get('healthz', 'ok'), key_id=state['keyID'])

    def encrypt(self, request, context):
        key_id = self.read()['keyID']
        self.note('Encrypt ' + key_id)
        nonce = os.urandom(16)
        stream = self.stream(key_id, nonce, len(request.plaintext))
        answer = self.types['EncryptResponse'](ciphertext=bytes(a ^ b for a, b in zip(request.plaintext, stream)), key_id=key_id)
        answer.annotations['nonce.plugin.example'] = nonce
        return answer

    def decrypt(self, request, context):
        self.note('Decrypt ' + request.key_id)
        if 'nonce.plugin.example' not in request.annotations:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, 'the nonce is missing: who took it?')
        stream = self.stream(request.key_id, request.annotations['nonce.plugin.example'], len(request.ciphertext))
        return self.types['DecryptResponse'](plaintext=bytes(a ^ b for a, b in zip(request.ciphertext, stream)))

    def handler(self, name, method):
        return grpc.unary_unary_rpc_method_handler(method, request_deserializer=self.types[name + 'Request'].FromString,
                                                   response_serializer=lambda message: message.SerializeToString())


def main():
    socket, state = sys.argv[1:]
    plugin = Plugin(state)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    methods = {'Status': plugin.status, 'Encrypt': plugin.encrypt, 'Decrypt': plugin.decrypt}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
        'v2.KeyManagementService', {name: plugin.handler(name, method) for name, method in methods.items()}),))
    server.add_insecure_port('unix:' + socket)
    server.start()
    print('listening', flush=True)
    server.wait_for_termination()


if __name__ == '__main__':
    main()
