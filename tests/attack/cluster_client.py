"""Requests to a Kubernetes API server with the credentials of a kubeconfig, as the administrator or, by impersonation, as
anybody else. Standard library only."""
import base64
import http.client
import json
import os
import ssl
import tempfile
import urllib.parse


def parse_yaml(text):
    """The part of YAML that kubeconfigs are written in: block maps and lists of plain or quoted scalars. JSON too."""
    if text.lstrip().startswith('{'):
        return json.loads(text)
    lines = []
    for raw in text.splitlines():
        stripped = raw.strip()
        if stripped and not stripped.startswith('#') and stripped != '---':
            lines.append((len(raw) - len(raw.lstrip()), stripped))
    value, _ = _parse_block(lines, 0, lines[0][0] if lines else 0)
    return value


def _scalar(text):
    if text in ('', 'null', '~'):
        return None
    if text in ('{}', '[]'):
        return json.loads(text)
    if text[0] == '"':
        return json.loads(text)
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return {'true': True, 'false': False}.get(text, text)


def _parse_block(lines, at, indent):
    if lines[at][1].startswith('- ') or lines[at][1] == '-':
        return _parse_list(lines, at, indent)
    result = {}
    while at < len(lines) and lines[at][0] == indent and not lines[at][1].startswith('- '):
        key, _, rest = lines[at][1].partition(':')
        key, rest = _scalar(key.strip()), rest.strip()
        at += 1
        nested = at < len(lines) and (lines[at][0] > indent or (lines[at][0] == indent and lines[at][1].startswith('-')))
        if rest == '' and nested:
            result[key], at = _parse_block(lines, at, lines[at][0])
        else:
            result[key] = _scalar(rest)
    return result, at


def _parse_list(lines, at, indent):
    result = []
    while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith('-'):
        inner = lines[at][1][1:].strip()
        inside = indent + len(lines[at][1]) - len(lines[at][1][1:].lstrip())
        if ':' in inner and not inner.startswith(('"', "'")):
            lines[at] = (inside, inner)
            value, at = _parse_block(lines, at, inside)
        else:
            value, at = _scalar(inner), at + 1
        result.append(value)
    return result, at


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    @property
    def message(self):
        return self.json.get('message', self.body.decode(errors='replace'))

    def __repr__(self):
        return '%d %s' % (self.status, self.message[:300])


def expect(reply, *statuses, message=None):
    """The reply has one of the statuses, and its message the text."""
    wanted = '/'.join(map(str, statuses)) + (' with %r' % message if message else '')
    assert reply.status in statuses, 'expected %s, got %r' % (wanted, reply)
    assert message is None or message in reply.message, 'expected %s, got %r' % (wanted, reply)
    return reply


class Identity:
    """Whom a request is from: the administrator, or somebody the administrator acts as."""

    def __init__(self, user=None, groups=(), headers=()):
        self.headers = []
        if user is not None:
            self.headers = [('Impersonate-User', user)] + [('Impersonate-Group', group) for group in groups]
        self.headers += list(headers)


ADMIN = Identity()
JSON = 'application/json'
MERGE = 'application/merge-patch+json'
APPLY = 'application/apply-patch+yaml'


def node(name):
    return Identity('system:node:' + name, ['system:nodes'])


class Cluster:
    def __init__(self, kubeconfig):
        with open(kubeconfig) as f:
            config = parse_yaml(f.read())
        folder = os.path.dirname(os.path.abspath(kubeconfig))

        def named(kind, name):
            return next(entry[kind] for entry in config[kind + 's'] if entry['name'] == name)
        context = named('context', config['current-context'])
        cluster, user = named('cluster', context['cluster']), named('user', context['user'])
        address = urllib.parse.urlsplit(cluster['server'])
        self.host, self.port = address.hostname, address.port or 443
        self.server = cluster['server']
        self.token = user.get('token')

        def data(holder, key):
            if holder.get(key + '-data'):
                return base64.b64decode(holder[key + '-data'])
            if holder.get(key):
                with open(os.path.join(folder, holder[key]), 'rb') as f:
                    return f.read()
            return None
        authority = data(cluster, 'certificate-authority')
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if cluster.get('insecure-skip-tls-verify') in (True, 'true') or authority is None:
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        else:
            self.context.load_verify_locations(cadata=authority.decode())
        self.anonymous_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.anonymous_context.check_hostname, self.anonymous_context.verify_mode = False, ssl.CERT_NONE
        certificate, key = data(user, 'client-certificate'), data(user, 'client-key')
        if certificate:
            self.load_certificate(self.context, certificate, key)

    @staticmethod
    def load_certificate(context, certificate, key):
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b'\n' + key)
            file.flush()
            context.load_cert_chain(file.name)

    def send(self, method, path, body=None, who=ADMIN, type=JSON, headers=(), credentials=True, context=None):
        """One request on a connection of its own. Without credentials: as nobody, with `headers` alone."""
        context = context or (self.context if credentials else self.anonymous_context)
        connection = http.client.HTTPSConnection(self.host, self.port, context=context, timeout=60)
        try:
            text = body if isinstance(body, (str, bytes)) or body is None else json.dumps(body)
            connection.putrequest(method, path, skip_accept_encoding=True)
            if credentials and self.token:
                connection.putheader('Authorization', 'Bearer ' + self.token)
            for name, value in (*(who.headers if credentials else ()), *headers):
                connection.putheader(name, value)
            if text is not None:
                text = text.encode() if isinstance(text, str) else text
                connection.putheader('Content-Type', type)
                connection.putheader('Content-Length', str(len(text)))
            connection.endheaders(text)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **options):
        return self.send('GET', path, **options)

    def post(self, path, body, **options):
        return self.send('POST', path, body, **options)

    def put(self, path, body, **options):
        return self.send('PUT', path, body, **options)

    def patch(self, path, body, type=MERGE, **options):
        return self.send('PATCH', path, body, type=type, **options)

    def delete(self, path, **options):
        return self.send('DELETE', path, **options)

    def make(self, path, body):
        """Creates as the administrator; it may be there already."""
        reply = self.post(path, body)
        assert reply.status in (201, 409), 'creating %s: %r' % (path, reply)
        return reply
