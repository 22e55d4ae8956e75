"""`flyball apiserver` with kube-apiserver's flags: each is seen to do its work, with kubectl and openssl."""
import json
import os
import re
import signal
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

from program import Kubectl, Program, wait_until


def openssl(*arguments, folder):
    subprocess.run(['openssl', *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder):
    openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=ours', folder=folder)


def issue(folder, name, subject, extensions):
    with open(os.path.join(folder, name + '.ext'), 'w') as f:
        f.write(extensions)
    openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', name + '.key', '-out', name + '.csr', '-subj', subject, folder=folder)
    openssl('x509', '-req', '-in', name + '.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-out', name + '.crt', '-days', '2',
            '-extfile', name + '.ext', folder=folder)


def make_key(folder, name):
    openssl('genrsa', '-out', name + '.key', '2048', folder=folder)
    openssl('rsa', '-in', name + '.key', '-pubout', '-out', name + '.pub', folder=folder)


class Folder:
    """Keys and certificates of the user's own, and servers that run with them."""

    def __init__(self, binary, path):
        self.binary, self.path = binary, path
        make_authority(path)
        issue(path, 'serving', '/CN=localhost', 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
        issue(path, 'jo', '/O=system:masters/CN=jo', 'extendedKeyUsage=clientAuth\n')
        make_key(path, 'old')
        make_key(path, 'new')

    def file(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        with open(self.file(name), 'w') as f:
            f.write(text)
        return self.file(name)

    def serve(self, *flags, data='data'):
        os.makedirs(self.file(data), exist_ok=True)
        return Program(self.binary, 'apiserver', '--data-dir', self.file(data), '--secure-port', '0', *flags, data_dir=self.file(data))

    def refused(self, *flags):
        result = subprocess.run([self.binary, 'apiserver', '--data-dir', self.file('refused'), '--secure-port', '0', *flags],
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 1, '%s: exit status %d: %s' % (flags, result.returncode, result.stderr)
        return result.stderr


def get(url, token=None):
    """Status and body of a GET that trusts anybody."""
    context = ssl._create_unverified_context()
    request = urllib.request.Request(url, headers={'Authorization': 'Bearer ' + token} if token else {})
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def certificates_of_the_users_own(folder):
    flags = ['--tls-cert-file', folder.file('serving.crt'), '--tls-private-key-file', folder.file('serving.key')]
    for name, more in (('with its authority', ['--client-ca-file', folder.file('ca.crt')]), ('alone', [])):
        server = folder.serve(*flags, *more, '--kubeconfig-out', folder.file('admin.kubeconfig'))
        try:
            assert stat.S_IMODE(os.stat(folder.file('admin.kubeconfig')).st_mode) == 0o600
            for command in (('kubectl',), (folder.binary,)):
                client = Kubectl(folder.file('admin.kubeconfig'), command=command)
                assert client('get', 'ns', 'default', '-o', 'name') == 'namespace/default', name
            if more:
                jo = Kubectl(folder.write('empty', ''))
                who = jo('--server', server.url, '--certificate-authority', folder.file('ca.crt'), '--client-certificate', folder.file('jo.crt'),
                         '--client-key', folder.file('jo.key'), 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')
                assert who == 'jo', who
            server.stop()
        finally:
            server.kill()


def keys_of_tokens(folder):
    """A key is changed as administrators do it: sign with the new one, accept the old one, then forget it."""
    signing, accepting = '--service-account-signing-key-file', '--service-account-key-file'

    def accepts(server, token):
        return get(server.url + '/version', token)[0] == 200

    server = folder.serve(signing, folder.file('old.key'), accepting, folder.file('old.pub'), '--service-account-issuer', 'https://before')
    try:
        kubectl = Kubectl(server.kubeconfig)
        kubectl('create', 'serviceaccount', 'robot')
        token = kubectl('create', 'token', 'robot')
        assert accepts(server, token)
        server.stop()
        server = folder.serve(signing, folder.file('new.key'), accepting, folder.file('old.pub'), accepting, folder.file('new.pub'),
                              '--service-account-issuer', 'https://after', '--service-account-issuer', 'https://before')
        assert accepts(server, token)
        assert accepts(server, kubectl_of(server)('create', 'token', 'robot'))
        keys = json.loads(kubectl_of(server)('get', '--raw', '/openid/v1/jwks'))['keys']
        assert len({key['kid'] for key in keys}) == 2, keys
        about = json.loads(kubectl_of(server)('get', '--raw', '/.well-known/openid-configuration'))
        assert about['issuer'] == 'https://after' and about['jwks_uri'].endswith('/openid/v1/jwks'), about
        server.stop()
        server = folder.serve(signing, folder.file('new.key'), '--service-account-issuer', 'https://after')
        assert not accepts(server, token)
        server.stop()
    finally:
        server.kill()


def kubectl_of(server):
    return Kubectl(server.kubeconfig)


def who_may(folder):
    tokens = folder.write('tokens.csv', 'secret-token,ann,1,"readers,writers"\n')
    policy = folder.write('audit.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n')
    server = folder.serve('--anonymous-auth=false', '--token-auth-file', tokens, '--audit-log-path', folder.file('audit.log'),
                          '--audit-policy-file', policy)
    try:
        assert get(server.url + '/version')[0] == 401
        assert get(server.url + '/version', 'secret-token')[0] == 200
        assert get(server.url + '/version', 'wrong')[0] == 401
        assert get(server.url + '/api/v1/secrets', 'secret-token')[0] == 403
        kubectl_of(server)('create', 'secret', 'generic', 's', '--from-literal=word=unmentionable')
        kubectl_of(server).run('get', 'pod', 'absent', check=False)
        server.stop()
        with open(folder.file('audit.log')) as f:
            text = f.read()
        events = [json.loads(line) for line in text.splitlines()]
        denied = [e for e in events if e['user'].get('username') == 'ann' and e.get('responseStatus', {}).get('code') == 403]
        assert denied and denied[0]['objectRef']['resource'] == 'secrets', events
        assert denied[0]['annotations']['authorization.k8s.io/decision'] == 'forbid', denied
        missing = [e for e in events if e['responseStatus']['code'] == 404]
        assert missing and missing[0]['responseStatus']['reason'] == 'NotFound', events
        assert missing[0]['annotations']['authorization.k8s.io/decision'] == 'allow', missing
        assert 'unmentionable' not in text and 'secret-token' not in text
        server = folder.serve('--authorization-mode', 'AlwaysAllow', '--token-auth-file', tokens)
        assert get(server.url + '/api/v1/secrets', 'secret-token')[0] == 200, 'anybody may do anything'
        assert get(server.url + '/api/v1/secrets')[0] == 401, 'but nobody without a name'
        server.stop()
    finally:
        server.kill()


def what_is_admitted(folder):
    pod = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}'
    server = folder.serve('--disable-admission-plugins', 'ServiceAccount', data='admission')
    try:
        assert kubectl_of(server)('create', '-f', '-', '-o', 'jsonpath={.spec.serviceAccountName}', stdin=pod) == ''
        server.stop()
    finally:
        server.kill()


def ranges_and_times(folder):
    server = folder.serve('--service-cluster-ip-range', '10.77.0.0/24', '--service-node-port-range', '31000-31003', '--event-ttl', '2s',
                          '--advertise-address', '127.0.0.9', data='ranges')
    try:
        kubectl = kubectl_of(server)
        assert kubectl('get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}') == '10.77.0.1'
        assert kubectl('get', 'endpointslices', 'kubernetes', '-o', 'jsonpath={.endpoints[0].addresses[0]}') == '127.0.0.9'
        kubectl('create', 'service', 'nodeport', 'web', '--tcp=80')
        assert 31000 <= int(kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.ports[0].nodePort}')) <= 31003
        kubectl('create', '-f', '-', stdin='{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "R", '
                '"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}')
        wait_until('the event is gone after its time', lambda: kubectl('get', 'events', '-o', 'name') == '')
        server.stop()
    finally:
        server.kill()


def refusals(folder):
    for flags, wanted in (
            (('--event-ttl', 'soon'), '--event-ttl'),
            (('--tls-cert-file', folder.file('serving.crt')), '--tls-private-key-file'),
            (('--token-auth-file', folder.file('nowhere')), 'cannot read the token file'),
            (('--authorization-mode', 'Hope'), 'authorization-mode "Hope" is not a valid mode'),
            (('--service-cluster-ip-range', '10.0.0.0/33'), 'invalid CIDR address: 10.0.0.0/33'),
            (('--enable-admission-plugins', 'Wishes'), 'plugin "Wishes" is unknown'),
            (('--service-account-key-file', folder.file('nowhere')), 'cannot read'),
            (('--audit-log-path', '/dev/null/audit/log'), 'audit'),
            (('--goaway-chance', '0.1'), '--goaway-chance can not be less than 0 or greater than 0.02'),
            (('--secure-prot', '1'), 'unknown flag: --secure-prot')):
        said = folder.refused(*flags)
        assert wanted in said, '%s: %s' % (flags, said)


def hanging_up(folder):
    """SIGHUP stops the server as SIGTERM does: watches end, the store is closed; under nohup it is ignored."""
    server = folder.serve(data='hangup')
    try:
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(20) == 0, server.output()[-2000:]
        assert not os.path.exists(folder.file('hangup/flyball.db-wal')), 'the store was not closed'
    finally:
        server.kill()


def the_last_requests(folder):
    """--shutdown-send-retry-after: what is under way gets its answer, what is new is sent elsewhere, health is told."""
    tokens = folder.write('last-tokens', 'admin-token,admin,admin,"system:masters"\n')
    server = folder.serve('--token-auth-file', tokens, '--shutdown-send-retry-after', '--goaway-chance', '0.02', data='last')
    answers = []
    # A list at a version that is yet to come waits for it, for some seconds.
    waiting = threading.Thread(target=lambda: answers.append(get(server.url + '/api/v1/pods?resourceVersion=99999999', 'admin-token')))

    def running():
        return int(re.search(r'^apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)', get(
            server.url + '/metrics', 'admin-token')[1], re.M).group(1))
    try:
        before = running()
        waiting.start()
        wait_until('the list is under way', lambda: running() > before, 30)
        server.process.send_signal(signal.SIGTERM)
        wait_until('new requests are refused', lambda: get(server.url + '/api/v1/pods', 'admin-token')[0] == 429, 3)
        assert get(server.url + '/readyz', 'admin-token')[0] == 500
        waiting.join(60)
        assert answers and answers[0][0] == 504, answers
        assert server.process.wait(30) == 0, server.output()[-2000:]
    finally:
        server.kill()


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as path:
        folder = Folder(sys.argv[1], path)
        for step in (certificates_of_the_users_own, keys_of_tokens, who_may, what_is_admitted, ranges_and_times, hanging_up, the_last_requests,
                     refusals):
            step(folder)
            print('ok   ' + step.__name__.replace('_', ' '), flush=True)


main()
