"""A small API server to stand behind `flyball apiserver`: group shop.example.com/v1, resource orders, kept in memory.

    extension_server.py CERTIFICATE KEY FRONT_PROXY_CA

Serves TLS on a free port of the loopback address, prints the port, and believes X-Remote-User only with a client certificate of
the front-proxy CA. Answers discovery in the old form, OpenAPI v3, and
list, get, create, delete and watch.
"""
import http.server
import json
import ssl
import sys
import threading

GROUP, KIND = 'shop.example.com', 'Order'
RESOURCE = {'name': 'orders', 'singularName': 'order', 'namespaced': True, 'kind': KIND, 'shortNames': ['ord'],
            'verbs': ['create', 'delete', 'get', 'list', 'watch']}
GVK = {'group': GROUP, 'version': 'v1', 'kind': KIND}
OPEN_API = {
    'openapi': '3.0.0', 'info': {'title': 'shop', 'version': '1'},
    'paths': {'/apis/%s/v1/namespaces/{namespace}/orders/{name}' % GROUP: {'get': {
        'x-kubernetes-action': 'get', 'x-kubernetes-group-version-kind': GVK,
        'responses': {'200': {'description': 'OK', 'content': {'application/json': {'schema': {
            '$ref': '#/components/schemas/com.example.shop.v1.Order'}}}}}}}},
    'components': {'schemas': {'com.example.shop.v1.Order': {
        'type': 'object', 'description': 'What somebody wants to buy.', 'x-kubernetes-group-version-kind': [GVK],
        'properties': {'spec': {'type': 'object', 'properties': {
            'item': {'type': 'string', 'description': 'Which thing it is about.'}}}}}}}}


class Shop:
    """The orders, and those who watch them."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version, self.orders, self.events = 100, {}, []

    def change(self, kind, order):
        with self.changed:
            self.version += 1
            order['metadata']['resourceVersion'] = str(self.version)
            self.events.append((self.version, {'type': kind, 'object': order}))
            self.changed.notify_all()


SHOP = Shop()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, code, reason, message):
        self.answer(code, {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': reason, 'code': code, 'message': message})

    def user(self):
        """Who asks, as the front proxy says; None for anybody else."""
        subject = dict(pair[0] for pair in (self.connection.getpeercert() or {}).get('subject', ()))
        return self.headers.get('X-Remote-User') if subject.get('commonName') == 'front-proxy-client' else None

    def document(self, path):
        return {
            '/apis': {'kind': 'APIGroupList', 'apiVersion': 'v1', 'groups': []},
            '/apis/%s/v1' % GROUP: {'kind': 'APIResourceList', 'apiVersion': 'v1', 'groupVersion': GROUP + '/v1', 'resources': [RESOURCE]},
            '/openapi/v3': {'paths': {'apis/%s/v1' % GROUP: {'serverRelativeURL': '/openapi/v3/apis/%s/v1' % GROUP}}},
            '/openapi/v3/apis/%s/v1' % GROUP: OPEN_API,
        }.get(path)

    def do_GET(self):
        path, _, query = self.path.partition('?')
        if not self.user():
            return self.refuse(401, 'Unauthorized', 'who are you?')
        document = self.document(path)
        if document:
            return self.answer(200, document)
        parts = path.strip('/').split('/')
        if len(parts) < 4 or parts[-1] != 'orders' and parts[-2] != 'orders':
            return self.refuse(404, 'NotFound', 'no such path')
        if 'watch=' in query:
            return self.watch(query)
        if parts[-1] == 'orders':
            return self.answer(200, {'kind': 'OrderList', 'apiVersion': GROUP + '/v1', 'metadata': {'resourceVersion': str(SHOP.version)},
                                     'items': list(SHOP.orders.values())})
        order = SHOP.orders.get(parts[-1])
        return self.answer(200, order) if order else self.not_found(parts[-1])

    def not_found(self, name):
        self.refuse(404, 'NotFound', 'orders.%s "%s" not found' % (GROUP, name))

    def watch(self, query):
        after = next((int(part[16:]) for part in query.split('&') if part.startswith('resourceVersion=') and part[16:]), 0)
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        while True:
            with SHOP.changed:
                SHOP.changed.wait_for(lambda: any(version > after for version, _ in SHOP.events), timeout=20)
                new = [(version, event) for version, event in SHOP.events if version > after]
            for version, event in new:
                after, text = version, json.dumps(event).encode() + b'\n'
                self.wfile.write(b'%x\r\n%s\r\n' % (len(text), text))
            self.wfile.flush()

    def body(self):
        return self.rfile.read(int(self.headers.get('Content-Length') or 0)) if 'chunked' not in self.headers.get(
            'Transfer-Encoding', '') else self.chunks()

    def chunks(self):
        data = b''
        while size := int(self.rfile.readline().strip(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_POST(self):
        order = json.loads(self.body())
        if not self.user():
            return self.refuse(401, 'Unauthorized', 'who are you?')
        name = order['metadata']['name']
        order['metadata'].update(namespace=self.path.split('/')[5], uid='uid-' + name, creationTimestamp='2026-01-01T00:00:00Z')
        order['status'] = {'orderedBy': self.user(), 'groups': self.headers.get_all('X-Remote-Group')}
        SHOP.orders[name] = order
        SHOP.change('ADDED', order)
        return self.answer(201, order)

    def do_DELETE(self):
        self.body()
        name = self.path.partition('?')[0].rsplit('/', 1)[1]
        order = SHOP.orders.pop(name, None)
        if not order:
            return self.not_found(name)
        SHOP.change('DELETED', order)
        return self.answer(200, order)


def main():
    certificate, key, authority = sys.argv[1:4]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_port, flush=True)
    server.serve_forever()


main()
