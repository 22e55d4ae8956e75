"""A webhook server for tests: HTTPS with a certificate of its own authority; what it answers is set by path."""
import base64
import http.server
import json
import os
import ssl
import subprocess
import threading


def openssl(*arguments, folder):
    subprocess.run(['openssl', *arguments], cwd=folder, check=True, capture_output=True)


def make_certificate(folder, names):
    """ca.crt, and hook.crt with hook.key for these names."""
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key', '-out', 'ca.crt',
            '-days', '2', '-subj', '/CN=hook-ca', folder=folder)
    with open(os.path.join(folder, 'hook.ext'), 'w') as f:
        f.write('subjectAltName=' + names + '\nextendedKeyUsage=serverAuth\n')
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'hook.key', '-out', 'hook.csr', '-subj', '/CN=hook',
            folder=folder)
    openssl('x509', '-req', '-in', 'hook.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-out', 'hook.crt', '-days', '2',
            '-extfile', 'hook.ext', folder=folder)


def patch(*operations):
    return {'allowed': True, 'patchType': 'JSONPatch', 'patch': base64.b64encode(json.dumps(list(operations)).encode()).decode()}


class HookServer:
    """`answers[path]` is a function of the review's request that gives the response, or a (status, bytes) or (status, bytes, headers)
    as it is. A GET, which is what some redirects become, has no review."""

    def __init__(self, folder, names='IP:127.0.0.1,DNS:hook.default.svc'):
        make_certificate(folder, names)
        self.answers, self.reviews = {}, []
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers['content-length'])))
                path = self.path.split('?')[0]
                hooks.reviews.append((path, self.path, body))
                self.give(*hooks.answer(path, body))

            def do_GET(self):
                path = self.path.split('?')[0]
                hooks.reviews.append((path, self.path, None))
                self.give(*hooks.answers[path](None))

            def give(self, status, answer, headers=()):
                self.send_response(status)
                self.send_header('content-type', 'application/json')
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header('content-length', str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, 'hook.crt'), os.path.join(folder, 'hook.key'))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        with open(os.path.join(folder, 'ca.crt'), 'rb') as f:
            self.ca_bundle = base64.b64encode(f.read()).decode()
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, review):
        made = self.answers.get(path, lambda request: {'allowed': True})(review['request'])
        if isinstance(made, tuple):
            return made
        if 'whole' in made:
            answer = made['whole']
        elif review['kind'] == 'ConversionReview':
            answer = {'apiVersion': review['apiVersion'], 'kind': review['kind'], 'response': {'uid': review['request']['uid'], **made}}
        else:
            answer = {'apiVersion': review['apiVersion'], 'kind': 'AdmissionReview', 'response': {'uid': review['request']['uid'], **made}}
        return 200, json.dumps(answer).encode()

    def client_config(self, path):
        return {'url': 'https://127.0.0.1:%d%s' % (self.port, path), 'caBundle': self.ca_bundle}

    def last(self, path):
        return [review for at, _, review in self.reviews if at == path][-1]

    def count(self, path):
        return sum(at == path for at, _, _ in self.reviews)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
