"""Credentials that are not, or no longer, good."""
import base64
import json
import os
import shutil
import ssl
import subprocess
import tempfile

from cluster_client import ADMIN, expect

CORE = '/api/v1/namespaces/'
REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews'


def encode(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b'=').decode()


def decode(text):
    return json.loads(base64.urlsafe_b64decode(text + '=' * (-len(text) % 4)))


def use(arena, token):
    """The answer to whom the token is."""
    return arena.cluster.post(SELF, {}, credentials=False, headers=[('Authorization', 'Bearer ' + token)])


def issue(arena, space, account='default', **spec):
    path = CORE + space + '/serviceaccounts/' + account + '/token'
    return expect(arena.cluster.post(path, {'spec': spec}), 201).json['status']['token']


def check_credentials_none_or_bad(arena):
    """Anonymous users may next to nothing (401 or 403); a bad credential is refused (401), never taken for none."""
    cluster = arena.cluster
    for path in ('/api/v1/secrets', '/api/v1/namespaces', '/metrics', '/apis/rbac.authorization.k8s.io/v1/clusterroles',
                 '/debug/pprof/', '/logs/', '/configz'):
        expect(cluster.get(path, credentials=False), 401, 403, 404)
        assert cluster.get(path, credentials=False).status != 200
    for header in ('Bearer x', 'Bearer ' + 'x' * 5000, 'Bearer a.b.c', 'bearer null'):
        expect(cluster.get('/version', credentials=False, headers=[('Authorization', header)]), 401)
    for path in ('/version', '/api/v1/secrets'):
        socket = [('Connection', 'Upgrade'), ('Upgrade', 'websocket'), ('Sec-WebSocket-Version', '13'),
                  ('Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='),
                  ('Sec-WebSocket-Protocol', 'base64url.bearer.authorization.k8s.io.' + encode(b'x') + ', v4.channel.k8s.io')]
        expect(cluster.get(path, credentials=False, headers=socket), 401)


def check_credentials_front_proxy_headers(arena):
    """X-Remote-User and the like are nobody's word but the front proxy's: they change nothing."""
    headers = [('X-Remote-User', 'admin'), ('X-Remote-Group', 'system:masters')]
    expect(arena.cluster.get('/api/v1/secrets', credentials=False, headers=headers), 401, 403)
    expect(arena.cluster.get('/api/v1/secrets?access_token=x', credentials=False), 401, 403)


def check_tokens_changed(arena):
    """A token with another signature, algorithm or content is refused (401)."""
    space = arena.namespace()
    token = issue(arena, space)
    expect(use(arena, token), 201)
    header, payload, signature = token.split('.')
    claims = {**decode(payload), 'sub': 'system:serviceaccount:kube-system:default'}
    turned = signature[:-6] + ('AAAAAA' if signature[-6:] != 'AAAAAA' else 'BBBBBB')
    for bad in ('.'.join((header, encode(claims), signature)), '.'.join((header, payload, turned)),
                '.'.join((header, payload, '')), header + '.' + payload, token + 'x', '.'.join((header, payload, signature, '')),
                '.'.join((encode({'alg': 'none'}), payload, '')), '.'.join((encode({'alg': 'none'}), encode(claims), signature)),
                '.'.join((encode({**decode(header), 'alg': 'HS256'}), payload, signature)),
                '.'.join((encode({**decode(header), 'kid': '../../dev/null'}), payload, signature + 'AA'))):
        expect(use(arena, bad), 401)
        review = expect(arena.cluster.post(REVIEWS, {'spec': {'token': bad}}), 201).json
        assert not review['status'].get('authenticated'), review


def check_tokens_for_another_audience(arena):
    """A token for another audience is refused by this server (401), and TokenReview knows whose it is."""
    space = arena.namespace()
    token = issue(arena, space, audiences=['vault'])
    expect(use(arena, token), 401)
    for audiences, good in ((['vault'], True), (['other'], False), ([], False)):
        review = expect(arena.cluster.post(REVIEWS, {'spec': {'token': token, 'audiences': audiences}}), 201).json
        assert bool(review['status'].get('authenticated')) == good, (audiences, review)


def check_tokens_of_what_is_gone(arena):
    """A token dies with its service account and with the Pod or Secret it is bound to, also if a new one has the name."""
    cluster, space = arena.cluster, arena.namespace()
    secret = {'metadata': {'name': 's'}}
    uid = expect(cluster.post(CORE + space + '/secrets', secret), 201).json['metadata']['uid']
    of_secret = issue(arena, space, boundObjectRef={'apiVersion': 'v1', 'kind': 'Secret', 'name': 's', 'uid': uid})
    pod = {'metadata': {'name': 'p'}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}
    uid = expect(cluster.post(CORE + space + '/pods', pod), 201).json['metadata']['uid']
    of_pod = issue(arena, space, boundObjectRef={'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p', 'uid': uid})
    cluster.make(CORE + space + '/serviceaccounts', {'metadata': {'name': 'gone'}})
    of_account = issue(arena, space, 'gone')
    for token in (of_secret, of_pod, of_account):
        expect(use(arena, token), 201)
    cluster.delete(CORE + space + '/secrets/s')
    cluster.make(CORE + space + '/secrets', secret)
    cluster.delete(CORE + space + '/pods/p?gracePeriodSeconds=0')
    cluster.delete(CORE + space + '/serviceaccounts/gone')
    cluster.make(CORE + space + '/serviceaccounts', {'metadata': {'name': 'gone'}})
    # Servers remember for some seconds that a token was good.
    for token in (of_secret, of_pod, of_account):
        arena.eventually(lambda: expect(use(arena, token), 401), seconds=40)


def check_tokens_that_may_not_be_issued(arena):
    """A token needs its service account and its bound object, in this namespace, with this UID, for ten minutes or more."""
    cluster, space = arena.cluster, arena.namespace()
    path = CORE + space + '/serviceaccounts/default/token'
    expect(cluster.post(CORE + space + '/serviceaccounts/none/token', {'spec': {}}), 404)
    expect(cluster.post(path, {'spec': {'expirationSeconds': 5}}), 422)
    cluster.make(CORE + space + '/secrets', {'metadata': {'name': 's'}})
    for reference, status in (({'kind': 'Pod', 'name': 'none'}, 404), ({'kind': 'ConfigMap', 'name': 's'}, 400),
                              ({'kind': 'Secret', 'name': 's', 'uid': 'other'}, 409)):
        expect(cluster.post(path, {'spec': {'boundObjectRef': {'apiVersion': 'v1', **reference}}}), status)


def forge(arena, subject, usage='clientAuth', days='1'):
    """A certificate of the server's client CA, for those who have its key."""
    folder = tempfile.mkdtemp(prefix='attack-')
    try:
        def path(name):
            return os.path.join(folder, name)

        def openssl(*arguments):
            subprocess.run(['openssl', *arguments], check=True, capture_output=True, cwd=folder)
        openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key', '-out', 'csr', '-subj', subject)
        with open(path('ext'), 'w') as f:
            f.write('extendedKeyUsage=' + usage + '\n')
        openssl('x509', '-req', '-in', 'csr', '-CA', os.path.abspath(arena.options.client_ca), '-CAkey',
                os.path.abspath(arena.options.client_ca_key), '-CAcreateserial', '-CAserial', path('serial'), '-days', days,
                '-extfile', 'ext', '-out', 'crt')
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with open(path('crt'), 'rb') as certificate, open(path('key'), 'rb') as key:
            arena.cluster.load_certificate(context, certificate.read(), key.read())
        return context
    finally:
        shutil.rmtree(folder)


def check_certificates_that_are_nobodys(arena):
    """A client certificate without a common name is nobody's, whatever its groups; one for servers is no client's (401)."""
    if not (arena.options.client_ca and arena.options.client_ca_key and shutil.which('openssl')):
        arena.skip('needs --client-ca, --client-ca-key and openssl')
    cluster = arena.cluster

    def ask(context):
        return cluster.send('GET', '/api/v1/secrets', who=ADMIN, credentials=False, context=context)
    expect(ask(forge(arena, '/O=system:masters/CN=attack-admin')), 200)
    expect(ask(forge(arena, '/O=system:masters')), 401, 403)
    expect(ask(forge(arena, '/O=dev/CN=eve')), 403)
    expect(ask(forge(arena, '/O=system:masters/CN=attack-admin', usage='serverAuth')), 401)
