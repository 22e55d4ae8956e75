"""A registry that has what a node has loaded, for pods that ask a registry each time (imagePullPolicy Always)."""
import http.server
import json
import os
import re
import threading


class ImageServer:
    """Serves the images of a node's data folder by the OCI distribution API, read-only, on a port of its own until close()."""

    def __init__(self, data_dir):
        self.folder = os.path.join(data_dir, 'node', 'images')
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                owner.answer(self, True)

            def do_HEAD(self):
                owner.answer(self, False)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return 'http://127.0.0.1:%d' % self.server.server_port

    def manifest_digest(self, host, repository, reference):
        if reference.startswith('sha256:'):
            return reference
        with open(os.path.join(self.folder, 'images.json')) as f:
            found = json.load(f)['images'].get('%s/%s:%s' % (host, repository, reference))
        return found and found['manifest']

    def blob(self, digest):
        path = os.path.join(self.folder, 'blobs', digest.replace(':', '/')) if digest else ''
        if not re.match(r'sha256:[0-9a-f]{64}$', digest or '') or not os.path.exists(path):
            return None
        with open(path, 'rb') as f:
            return f.read()

    def answer(self, request, with_body):
        path, _, query = request.path.partition('?')
        found = re.match(r'/v2/(.+)/(manifests|blobs)/([^/]+)$', path)
        digest, body = None, b'{}' if path == '/v2/' else None
        if found:
            repository, kind, reference = found.groups()
            host = re.sub(r'^ns=', '', query)
            digest = self.manifest_digest(host, repository, reference) if kind == 'manifests' else reference
            body = self.blob(digest)
        request.send_response(200 if body is not None else 404)
        if body is None:
            body = b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'
        media_type = 'application/octet-stream'
        if found and found.group(2) == 'manifests':
            media_type = json.loads(body).get('mediaType', 'application/vnd.oci.image.manifest.v1+json')
        request.send_header('Content-Type', media_type)
        request.send_header('Content-Length', str(len(body)))
        if digest:
            request.send_header('Docker-Content-Digest', digest)
        request.end_headers()
        if with_body:
            request.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
