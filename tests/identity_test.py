"""Who gets in and what they may do, when other servers say so: an OpenID issuer, webhooks, a proxy in front, bootstrap
tokens; and files that change while the server runs. The other servers are real ones, with TLS."""
import base64
import http.client
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from program import Kubectl, Program, wait_until


def openssl(*arguments, folder, stdin=None):
    return subprocess.run(['openssl', *arguments], cwd=folder, check=True, capture_output=True, input=stdin).stdout


def encode(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b'=').decode()


class Folder:
    def __init__(self, binary, path):
        self.binary, self.path = binary, path
        for name in ('users', 'proxies', 'others'):
            openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', name + '.key', '-out', name + '.crt',
                    '-days', '2', '-subj', '/CN=' + name, folder=path)

    def file(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        """Replaces the file as a careful program does."""
        with open(self.file(name + '.new'), 'w') as f:
            f.write(text)
        os.rename(self.file(name + '.new'), self.file(name))
        return self.file(name)

    def read(self, name):
        with open(self.file(name)) as f:
            return f.read()

    def issue(self, name, subject, authority, extensions='extendedKeyUsage=clientAuth'):
        self.write(name + '.ext', extensions + '\n')
        openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', name + '.key', '-out', name + '.csr',
                '-subj', subject, folder=self.path)
        openssl('x509', '-req', '-in', name + '.csr', '-CA', authority + '.crt', '-CAkey', authority + '.key', '-CAcreateserial',
                '-out', name + '.crt', '-days', '2', '-extfile', name + '.ext', folder=self.path)

    def serve(self, *flags, data):
        os.makedirs(self.file(data), exist_ok=True)
        return Program(self.binary, 'apiserver', '--data-dir', self.file(data), '--secure-port', '0', *flags, data_dir=self.file(data))

    def refused(self, *flags):
        result = subprocess.run([self.binary, 'apiserver', '--data-dir', self.file('refused'), '--secure-port', '0', *flags],
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 1, '%s: exit status %d: %s' % (flags, result.returncode, result.stderr)
        return result.stderr

    def kubeconfig(self, name, url):
        return self.write(name, json.dumps({
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
            'clusters': [{'name': 'c', 'cluster': {'server': url, 'certificate-authority': self.file('others.crt')}}],
            'users': [{'name': 'u', 'user': {}}], 'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}))


class Remote:
    """An HTTPS server whose answers are what `answer(path, body)` gives: a status and a JSON value."""

    def __init__(self, folder, answer):
        remote = self
        self.answer, self.asked = answer, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def respond(self):
                body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
                value = json.loads(body) if body else None
                remote.asked.append((self.path, value))
                status, reply = remote.answer(self.path, value)
                data = json.dumps(reply).encode()
                try:
                    self.send_response(status)
                    self.send_header('Content-Type', 'application/json')
                    self.send_header('Content-Length', str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # whoever asked has gone

            do_GET = do_POST = respond

            def log_message(self, *_):
                pass

        if not os.path.exists(folder.file('remote.crt')):
            folder.issue('remote', '/CN=remote', 'others', 'subjectAltName=IP:127.0.0.1')
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder.file('remote.crt'), folder.file('remote.key'))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = 'https://127.0.0.1:%d' % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Issuer(Remote):
    def __init__(self, folder):
        super().__init__(folder, self.say)
        self.folder = folder
        openssl('genrsa', '-out', 'issuer.key', '2048', folder=folder.path)
        openssl('genrsa', '-out', 'forger.key', '2048', folder=folder.path)
        modulus = openssl('rsa', '-in', 'issuer.key', '-noout', '-modulus', folder=folder.path).decode().strip().split('=')[1]
        self.key = {'kty': 'RSA', 'alg': 'RS256', 'use': 'sig', 'kid': 'k1', 'e': 'AQAB', 'n': encode(bytes.fromhex(modulus))}

    def say(self, path, _):
        if path == '/.well-known/openid-configuration':
            return 200, {'issuer': self.url, 'jwks_uri': self.url + '/keys'}
        return (200, {'keys': [self.key]}) if path == '/keys' else (404, {})

    def token(self, key='issuer', header=None, **claims):
        all_claims = {'iss': self.url, 'aud': 'flyball', 'sub': 'ann', 'exp': int(time.time()) + 600, 'groups': ['dev']}
        all_claims.update(claims)
        text = encode(header or {'alg': 'RS256', 'kid': 'k1'}) + '.' + encode(all_claims)
        signature = openssl('dgst', '-sha256', '-sign', key + '.key', folder=self.folder.path, stdin=text.encode())
        return text + '.' + encode(signature)


class Client:
    """One that keeps its connection."""

    def __init__(self, server, certificate=None):
        context = ssl._create_unverified_context()
        if certificate:
            context.load_cert_chain(certificate + '.crt', certificate + '.key')
        where = urllib.parse.urlparse(server.url)
        self.connection = http.client.HTTPSConnection(where.hostname, where.port, context=context, timeout=30)

    def ask(self, method, path, body=None, **headers):
        headers = {name.replace('_', '-'): value for name, value in headers.items()}
        self.connection.request(method, path, json.dumps(body) if body else None, {'Content-Type': 'application/json', **headers})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read() or b'null')

    def who(self, token=None, **headers):
        """Status, name and groups."""
        if token:
            headers['Authorization'] = 'Bearer ' + token
        status, body = self.ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews',
                                {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'SelfSubjectReview'}, **headers)
        user = body.get('status', {}).get('userInfo', {}) if status == 201 else {}
        return status, user.get('username'), user.get('groups')

    def served_certificate(self):
        self.connection.connect()
        return self.connection.sock.getpeercert(binary_form=True)


def status_of(server, token):
    return Client(server).who(token)[0]


def tokens_of_an_issuer(folder):
    issuer = Issuer(folder)
    server = folder.serve('--oidc-issuer-url', issuer.url, '--oidc-client-id', 'flyball', '--oidc-ca-file', folder.file('others.crt'),
                          '--oidc-username-prefix', 'idp:', '--oidc-groups-claim', 'groups', '--oidc-groups-prefix', 'idp:',
                          '--oidc-required-claim', 'hd=example.com', data='oidc')
    try:
        good = issuer.token(hd='example.com')
        wait_until('the issuer has been found', lambda: status_of(server, good) == 201)
        assert Client(server).who(good) == (201, 'idp:ann', ['idp:dev', 'system:authenticated'])
        now = int(time.time())
        for what, token in (('forged', issuer.token('forger', hd='example.com')),
                            ('without the claim', issuer.token()),
                            ('for others', issuer.token(hd='example.com', aud='shop')),
                            ('expired', issuer.token(hd='example.com', exp=now - 5)),
                            ('not valid yet', issuer.token(hd='example.com', nbf=now + 600)),
                            ('of an unknown key', issuer.token(hd='example.com', header={'alg': 'RS256', 'kid': 'k2'})),
                            ('unsigned', issuer.token(hd='example.com', header={'alg': 'none'}).rsplit('.', 1)[0] + '.'),
                            ('of another algorithm', issuer.token(hd='example.com', header={'alg': 'PS256', 'kid': 'k1'}))):
            assert status_of(server, token) == 401, what
        server.stop()
    finally:
        server.kill()
        issuer.stop()


def issuers_in_a_file(folder):
    issuer = Issuer(folder)
    config = {'apiVersion': 'apiserver.config.k8s.io/v1', 'kind': 'AuthenticationConfiguration', 'jwt': [],
              'anonymous': {'enabled': True, 'conditions': [{'path': '/livez'}]}}
    file = folder.write('authentication.yaml', json.dumps(config))
    server = folder.serve('--authentication-config', file, data='file')
    try:
        anonymous = Client(server)
        anonymous.connection.request('GET', '/livez')
        assert anonymous.connection.getresponse().status == 200
        assert Client(server).ask('GET', '/version')[0] == 401, 'anonymous elsewhere'
        good = issuer.token()
        assert status_of(server, good) == 401, 'nobody knows the issuer'
        config['jwt'] = [{'issuer': {'url': issuer.url, 'audiences': ['flyball'], 'certificateAuthority': folder.read('others.crt')},
                          'claimMappings': {'username': {'claim': 'sub', 'prefix': ''}}}]
        folder.write('authentication.yaml', json.dumps(config))
        wait_until('the file has been read again', lambda: status_of(server, good) == 201)
        broken = dict(config, jwt=[{'issuer': {'url': 'http://i.example'}}])
        folder.write('authentication.yaml', json.dumps(broken))
        admin = Kubectl(server.kubeconfig)
        wait_until('the broken file has been seen', lambda: 'automatic_reloads_total{apiserver_id_hash="",status="failure"} 1'
                   in admin('get', '--raw', '/metrics'))
        assert status_of(server, good) == 201, 'what was good stays in force'
        folder.write('authentication.yaml', json.dumps(dict(config, jwt=[])))
        wait_until('the issuer has gone', lambda: status_of(server, good) == 401)
        server.stop()
    finally:
        server.kill()
        issuer.stop()


def tokens_of_a_webhook(folder):
    def review(path, body):
        known = body['spec']['token'] == 'opensesame'
        return 200, {'apiVersion': body['apiVersion'], 'kind': 'TokenReview',
                     'status': {'authenticated': True, 'user': {'username': 'ali', 'groups': ['forty']}} if known else {'authenticated': False}}

    remote = Remote(folder, review)
    server = folder.serve('--authentication-token-webhook-config-file', folder.kubeconfig('tokens.kubeconfig', remote.url + '/check'),
                          '--authentication-token-webhook-version', 'v1', data='webhook')
    try:
        assert Client(server).who('opensesame') == (201, 'ali', ['forty', 'system:authenticated'])
        assert status_of(server, 'opensesame') == 201
        assert status_of(server, 'opensesami') == 401
        assert [path for path, _ in remote.asked] == ['/check?timeout=30s'] * 2, 'once for each token'
        remote.stop()
        assert status_of(server, 'another') == 401
        assert status_of(server, 'opensesame') == 201, 'still remembered'
        server.stop()
    finally:
        server.kill()


def a_webhook_that_does_not_answer(folder):
    """Those it is asked about wait; nobody else does, and the server still stops."""
    answer = threading.Event()

    def review(path, body):
        answer.wait()
        return 200, {'apiVersion': body['apiVersion'], 'kind': 'TokenReview',
                     'status': {'authenticated': True, 'user': {'username': body['spec']['token']}}}

    remote = Remote(folder, review)
    server = folder.serve('--authentication-token-webhook-config-file', folder.kubeconfig('slow.kubeconfig', remote.url),
                          '--authentication-token-webhook-version', 'v1', data='slow')
    try:
        found = {}
        askers = [threading.Thread(target=lambda n=n: found.update({n: Client(server).who('t%d' % n)[1]})) for n in range(50)]
        for asker in askers:
            asker.start()
        wait_until('all of them wait', lambda: len(remote.asked) == 50)
        admin = Kubectl(server.kubeconfig)
        for _ in range(5):
            assert admin('get', 'ns', 'default', '-o', 'name') == 'namespace/default'
        assert not found, 'nobody can have got an answer'
        answer.set()
        for asker in askers:
            asker.join()
        assert found == {n: 't%d' % n for n in range(50)}, found
        answer.clear()
        late = threading.Thread(target=lambda: late_request(server))
        late.start()
        wait_until('one more waits', lambda: len(remote.asked) == 51)
        server.stop()
        late.join()
    finally:
        answer.set()
        server.kill()
        remote.stop()


def late_request(server):
    try:
        Client(server).who('late')
    except (OSError, http.client.HTTPException):
        pass  # the server has gone


def authorized_by_a_webhook(folder):
    def review(path, body):
        spec = body['spec']
        verb = spec.get('resourceAttributes', {}).get('verb')
        allowed = spec.get('user') == 'ann' and verb == 'list'
        return 200, {'apiVersion': body['apiVersion'], 'kind': 'SubjectAccessReview',
                     'status': {'allowed': allowed, 'denied': verb == 'delete', 'reason': 'as the webhook says'}}

    remote = Remote(folder, review)
    tokens = folder.write('tokens.csv', 'ann-token,ann,1\n')

    def chain(policy):
        return json.dumps({'apiVersion': 'apiserver.config.k8s.io/v1', 'kind': 'AuthorizationConfiguration', 'authorizers': [
            {'type': 'Webhook', 'name': 'hook', 'webhook': {
                'timeout': '3s', 'subjectAccessReviewVersion': 'v1', 'failurePolicy': policy, 'authorizedTTL': '1s', 'unauthorizedTTL': '1s',
                'connectionInfo': {'type': 'KubeConfigFile', 'kubeConfigFile': folder.kubeconfig('authz.kubeconfig', remote.url + '/may')}}},
            {'type': 'RBAC', 'name': 'rbac'}]})

    file = folder.write('authorization.yaml', chain('NoOpinion'))
    server = folder.serve('--authorization-config', file, '--token-auth-file', tokens, data='authz')
    try:
        ann = Client(server)

        def may(verb, path):
            return ann.ask(verb, path, Authorization='Bearer ann-token')

        assert may('GET', '/api/v1/namespaces/default/pods')[0] == 200
        status, refusal = may('GET', '/api/v1/namespaces/default/pods/p')
        assert status == 403 and 'hook: as the webhook says' in refusal['message'], refusal
        assert may('DELETE', '/api/v1/namespaces/default/pods/p')[0] == 403
        admin = Kubectl(server.kubeconfig)
        assert admin('get', 'ns', 'default', '-o', 'name') == 'namespace/default', 'administrators are not asked about'
        admin('create', 'clusterrole', 'lister', '--verb=list', '--resource=configmaps')
        admin('create', 'clusterrolebinding', 'lister', '--clusterrole=lister', '--user=ann')
        remote.stop()
        assert may('GET', '/api/v1/configmaps')[0] == 200, 'no opinion leaves it to RBAC'
        status, failure = may('GET', '/api/v1/secrets')
        assert status == 500 and failure['reason'] == 'InternalError', (status, failure)
        folder.write('authorization.yaml', chain('Deny'))
        wait_until('a webhook that is down denies', lambda: may('GET', '/api/v1/configmaps')[0] == 500)
        metrics = admin('get', '--raw', '/metrics')
        assert 'apiserver_authorization_webhook_evaluations_fail_open_total{name="hook",result="error"}' in metrics
        assert 'apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash="",status="success"} 1' in metrics
        assert 'apiserver_authorization_decisions_total{decision="allowed",name="hook",type="Webhook"}' in metrics
        folder.write('authorization.yaml', chain('Deny').replace('RBAC', 'Node').replace('rbac', 'node'))
        wait_until('RBAC cannot go', lambda: 'automatic_reloads_total{apiserver_id_hash="",status="failure"} 1' in admin('get', '--raw', '/metrics'))
        server.stop()
    finally:
        server.kill()


def a_proxy_in_front(folder):
    folder.issue('front', '/CN=front', 'proxies')
    folder.issue('back', '/CN=back', 'proxies')
    folder.issue('jo', '/O=dev/CN=jo', 'users')
    flags = ['--client-ca-file', folder.file('users.crt'), '--requestheader-client-ca-file', folder.file('proxies.crt'),
             '--requestheader-username-headers', 'X-Remote-User', '--requestheader-group-headers', 'X-Remote-Group',
             '--requestheader-extra-headers-prefix', 'X-Remote-Extra-', '--requestheader-allowed-names', 'front']
    server = folder.serve(*flags, data='proxy')
    try:
        named = {'X_Remote_User': 'ann', 'X_Remote_Group': 'dev'}
        assert Client(server, folder.file('front')).who(**named) == (201, 'ann', ['dev', 'system:authenticated'])
        assert Client(server, folder.file('back')).who(**named)[0] == 401, 'not an allowed name'
        assert Client(server, folder.file('jo')).who(**named)[1] == 'jo', 'users cannot name others'
        assert Client(server, folder.file('front')).who()[0] == 401, 'a proxy is no user'
        assert Client(server).who(**named)[0] == 403, 'anonymous may not ask'
        data = json.loads(Kubectl(server.kubeconfig)('get', 'configmap', '-n', 'kube-system', 'extension-apiserver-authentication', '-o', 'json'))['data']
        assert data['requestheader-client-ca-file'].strip() == folder.read('proxies.crt').strip()
        assert folder.read('users.crt').strip() in data['client-ca-file']
        assert data['requestheader-allowed-names'] == '["front"]'
        server.stop()
    finally:
        server.kill()
    said = folder.refused('--client-ca-file', folder.file('users.crt'), '--requestheader-client-ca-file', folder.file('users.crt'),
                          '--requestheader-username-headers', 'X-Remote-User')
    assert '--requestheader-allowed-names must be specified' in said, said


def certificates_that_change(folder):
    folder.issue('serving', '/CN=one', 'others', 'subjectAltName=IP:127.0.0.1')
    folder.issue('sam', '/CN=sam', 'proxies')
    certificate, key = folder.write('tls.crt', folder.read('serving.crt')), folder.write('tls.key', folder.read('serving.key'))
    users = folder.write('client-ca.crt', folder.read('users.crt'))
    server = folder.serve('--tls-cert-file', certificate, '--tls-private-key-file', key, '--client-ca-file', users, data='rotation')
    try:
        before = Client(server).served_certificate()
        jo, sam = Client(server, folder.file('jo')), Client(server, folder.file('sam'))
        assert jo.who()[1] == 'jo' and sam.who()[0] == 401
        folder.issue('serving', '/CN=two', 'others', 'subjectAltName=IP:127.0.0.1')
        folder.write('tls.crt', folder.read('serving.crt'))
        folder.write('tls.key', folder.read('serving.key'))
        wait_until('new connections see the new certificate', lambda: Client(server).served_certificate() != before)
        assert jo.who()[1] == 'jo', 'the old connection goes on'
        folder.write('client-ca.crt', 'half a file')
        folder.write('client-ca.crt', folder.read('proxies.crt'))
        wait_until('the new authority counts', lambda: Client(server, folder.file('sam')).who()[1] == 'sam')
        assert jo.who()[0] == 401, 'the old one does not, on old connections either'
        server.stop()
    finally:
        server.kill()


def bootstrap_tokens(folder):
    server = folder.serve('--enable-bootstrap-token-auth', data='bootstrap')
    try:
        Kubectl(server.kubeconfig)('create', '-f', '-', stdin=json.dumps({
            'apiVersion': 'v1', 'kind': 'Secret', 'type': 'bootstrap.kubernetes.io/token',
            'metadata': {'name': 'bootstrap-token-abcdef', 'namespace': 'kube-system'},
            'stringData': {'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true',
                           'auth-extra-groups': 'system:bootstrappers:workers'}}))
        assert Client(server).who('abcdef.0123456789abcdef') == (
            201, 'system:bootstrap:abcdef', ['system:bootstrappers', 'system:bootstrappers:workers', 'system:authenticated'])
        assert status_of(server, 'abcdef.0123456789abcdee') == 401
        server.stop()
    finally:
        server.kill()


def refusals(folder):
    config = folder.write('empty.yaml', 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: true}\n')
    chain = folder.write('chain.yaml', 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n'
                         'authorizers: [{type: RBAC, name: rbac}]\n')
    for flags, wanted in (
            (('--oidc-issuer-url', 'https://i.example'), 'oidc-issuer-url and oidc-client-id must be specified together'),
            (('--oidc-issuer-url', 'http://i.example', '--oidc-client-id', 'c'), 'URL scheme must be https'),
            (('--oidc-issuer-url', 'https://i.example', '--oidc-client-id', 'c', '--oidc-signing-algs', 'HS256'), 'unsupported signing alg: "HS256"'),
            (('--oidc-issuer-url', 'https://i.example', '--oidc-client-id', 'c', '--oidc-required-claim', 'x'), 'malformed pair'),
            (('--authentication-config', config, '--oidc-client-id', 'c'), 'mutually exclusive'),
            (('--authentication-config', config, '--anonymous-auth=true'), '--anonymous-auth flag cannot be set'),
            (('--authentication-config', folder.file('nowhere')), 'failed to load authentication configuration from file'),
            (('--authorization-config', chain, '--authorization-mode', 'RBAC'), '--authorization-config can not be specified when'),
            (('--authorization-mode', 'Webhook'), "authorization-mode Webhook's authorization config file not passed"),
            (('--authentication-token-webhook-config-file', folder.file('nowhere')), 'nowhere')):
        said = folder.refused(*flags)
        assert wanted in said, '%s: %s' % (flags, said)


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as path:
        folder = Folder(sys.argv[1], path)
        for step in (tokens_of_an_issuer, issuers_in_a_file, tokens_of_a_webhook, a_webhook_that_does_not_answer, authorized_by_a_webhook, a_proxy_in_front,
                     certificates_that_change, bootstrap_tokens, refusals):
            step(folder)
            print('ok   ' + step.__name__.replace('_', ' '), flush=True)


main()
