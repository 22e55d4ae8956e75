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

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from grpc_service import add_service, message_classes, serve  # noqa: E402

MESSAGES = {
    'StatusRequest': [],
    'StatusResponse': [('version', 'string'), ('healthz', 'string'), ('key_id', 'string')],
    'DecryptRequest': [('ciphertext', 'bytes'), ('uid', 'string'), ('key_id', 'string'), ('annotations', 'map-of-bytes')],
    'DecryptResponse': [('plaintext', 'bytes')],
    'EncryptRequest': [('plaintext', 'bytes'), ('uid', 'string')],
    'EncryptResponse': [('ciphertext', 'bytes'), ('key_id', 'string'), ('annotations', 'map-of-bytes')],
}


class Plugin:
    def __init__(self, state):
        self.state, self.types = state, message_classes('v2', MESSAGES)

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


def main():
    socket, state = sys.argv[1:]
    plugin = Plugin(state)
    methods = {'Status': plugin.status, 'Encrypt': plugin.encrypt, 'Decrypt': plugin.decrypt}
    server = serve(socket, lambda made: add_service(made, 'v2.KeyManagementService', {
        name: (method, plugin.types[name + 'Request']) for name, method in methods.items()}), threads=4)
    print('listening', flush=True)
    server.wait_for_termination()


if __name__ == '__main__':
    main()
