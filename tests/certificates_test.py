"""Certificates with the real kubectl, openssl and curl: users' requests, nodes that join, the way between API server and node."""
import base64
import glob
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

from program import Kubectl, Program, skip, wait_until

REQUEST = '''
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: %s}
spec:
  request: %s
  signerName: kubernetes.io/kube-apiserver-client
  expirationSeconds: 3600
  usages: [client auth]
'''
WRITER = '''
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: host
    command: [sh, -c, 'i=0; while [ $i -lt %d ]; do i=$((i+1)); echo "$i %s"; done']
'''


def openssl(*arguments, stdin=None):
    result = subprocess.run(['openssl', *arguments], input=stdin, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def seconds_left(path):
    """Of a certificate, by openssl."""
    end = openssl('x509', '-in', path, '-noout', '-enddate', '-dateopt', 'iso_8601').strip().split('=', 1)[1]
    return time.mktime(time.strptime(end, '%Y-%m-%d %H:%M:%SZ')) - time.mktime(time.gmtime())


def request_for(folder, name, subject):
    """A key and a request in files; the request in base64."""
    key, csr = (os.path.join(folder, name + suffix) for suffix in ('.key', '.csr'))
    openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-subj', subject, '-out', csr)
    with open(csr, 'rb') as f:
        return base64.b64encode(f.read()).decode()


def a_user_gets_a_certificate_that_works(kubectl, program, folder):
    ca = os.path.join(program.data_dir, 'pki', 'ca.crt')
    kubectl('create', '-f', '-', stdin=REQUEST % ('jane', request_for(folder, 'jane', '/O=dev/CN=jane')))
    assert 'Pending' in kubectl('get', 'csr', 'jane')
    kubectl('certificate', 'approve', 'jane')
    wait_until('the request is issued', lambda: 'Approved,Issued' in kubectl('get', 'csr', 'jane'))
    crt, key = (os.path.join(folder, 'jane' + suffix) for suffix in ('.crt', '.key'))
    with open(crt, 'wb') as f:
        f.write(base64.b64decode(kubectl('get', 'csr', 'jane', '-o', 'jsonpath={.status.certificate}')))
    assert 'OK' in openssl('verify', '-CAfile', ca, '-purpose', 'sslclient', crt)
    assert 3000 < seconds_left(crt) <= 3600
    user = Kubectl(program.kubeconfig)
    with open(program.kubeconfig) as f:
        server = re.search(r'server: (\S+)', f.read()).group(1)
    user.command = [user.command[0], '--kubeconfig', '/dev/null', '--server', server, '--certificate-authority', ca, '--client-certificate',
                    crt, '--client-key', key]
    who = json.loads(user('auth', 'whoami', '-o', 'json'))['status']['userInfo']
    assert who['username'] == 'jane' and 'dev' in who['groups'], who
    refused = user.run('get', 'pods', check=False)
    assert 'User "jane" cannot list resource "pods"' in refused.stderr, refused.stderr
    kubectl('create', 'rolebinding', 'jane', '--clusterrole=view', '--group=dev')
    wait_until('she may', lambda: user.run('get', 'pods', check=False).returncode == 0)
    return crt, key


def others_do_not(kubectl, folder):
    kubectl('create', '-f', '-', stdin=REQUEST % ('denied', request_for(folder, 'denied', '/CN=eve')))
    kubectl('certificate', 'deny', 'denied')
    assert 'Denied' in kubectl('get', 'csr', 'denied')
    assert not kubectl('get', 'csr', 'denied', '-o', 'jsonpath={.status.certificate}')
    result = kubectl.run('create', '-f', '-', stdin=REQUEST % ('root', request_for(folder, 'root', '/O=system:masters/CN=eve')), check=False)
    assert 'system:masters group is not allowed' in result.stderr, result.stderr


def nodes_have_their_own(kubectl, program):
    wait_until('the node is ready', lambda: 'Ready' in kubectl('get', 'nodes', '--no-headers').split())
    node = kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}')
    ca = os.path.join(program.data_dir, 'pki', 'ca.crt')
    for name, purpose in (('client', 'sslclient'), ('server', 'sslserver')):
        path = os.path.join(program.data_dir, 'node', 'pki', node, 'kubelet-%s-current.pem' % name)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert 'OK' in openssl('verify', '-CAfile', ca, '-purpose', purpose, path)
        assert 'CN = system:node:' + node in openssl('x509', '-in', path, '-noout', '-subject')
    requests = {r['spec']['signerName']: r for r in json.loads(kubectl('get', 'csr', '-o', 'json'))['items']}
    joined = requests['kubernetes.io/kube-apiserver-client-kubelet']
    assert joined['spec']['username'].startswith('system:bootstrap:'), joined['spec']
    assert requests['kubernetes.io/kubelet-serving']['spec']['username'] == 'system:node:' + node
    return node


def nothing_lasts_longer_than_a_year(program):
    year = 366 * 24 * 3600
    for path in glob.glob(os.path.join(program.data_dir, 'pki', '*.crt')) + glob.glob(os.path.join(program.data_dir, 'node/pki/*/*.pem')):
        if not path.endswith(('/ca.crt', '/front-proxy-ca.crt')):  # authorities
            assert 0 < seconds_left(path) < year, path


def curl(url, ca, *arguments):
    """Status and body."""
    result = subprocess.run(['curl', '-s', '--cacert', ca, '-w', '\n%{http_code}', *arguments, url], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, 'curl %s: exit status %d' % (url, result.returncode)
    body, _, code = result.stdout.rpartition('\n')
    return int(code), body


def the_nodes_server_lets_nobody_in_who_may_not(kubectl, program, jane):
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]
    port = node['status']['daemonEndpoints']['kubeletEndpoint']['Port']
    address = next(a['address'] for a in node['status']['addresses'] if a['type'] == 'InternalIP')
    url = 'https://%s:%d' % (address, port)
    ca = os.path.join(program.data_dir, 'pki', 'ca.crt')
    # That curl accepts the server at all shows that its certificate is the cluster's.
    for path in ('/healthz', '/containerLogs/default/x/c', '/exec/default/x/c?command=id&output=1'):
        assert curl(url + path, ca)[0] == 401, path
        code, body = curl(url + path, ca, '--cert', jane[0], '--key', jane[1])
        assert code == 403 and body.startswith('Forbidden (user=jane, verb=get, resource=nodes, subresource(s)='), (code, body)
    assert curl(url + '/healthz', ca, '-H', 'Authorization: Bearer nonsense')[0] == 401
    account = kubectl('create', 'token', 'default')
    assert curl(url + '/healthz', ca, '-H', 'Authorization: Bearer ' + account)[0] == 403
    admin = [os.path.join(program.data_dir, 'pki', 'admin' + suffix) for suffix in ('.crt', '.key')]
    assert curl(url + '/healthz', ca, '--cert', admin[0], '--key', admin[1]) == (200, 'ok')


def a_node_keeps_to_its_own(kubectl, program, node):
    """NodeRestriction and the Node authorizer, with the node's own certificate."""
    pem = os.path.join(program.data_dir, 'node', 'pki', node, 'kubelet-client-current.pem')
    ca = os.path.join(program.data_dir, 'pki', 'ca.crt')
    as_node = Kubectl(program.kubeconfig)
    as_node.command = [as_node.command[0], '--kubeconfig', '/dev/null', '--server', program.url, '--certificate-authority', ca,
                       '--client-certificate', pem, '--client-key', pem]
    assert as_node('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}') == 'system:node:' + node
    assert 'cannot list resource "secrets"' in as_node.run('get', 'secrets', '-A', check=False).stderr
    taint = as_node.run('taint', 'node', node, 'a=b:NoSchedule', check=False)
    assert 'is not allowed to modify taints' in taint.stderr, taint.stderr


def logs_are_rotated_and_followed(kubectl, program):
    lines, padding = 20000, 'x' * 180
    kubectl('create', '-f', '-', stdin=WRITER % (lines, padding))
    wait_until('the log is there', lambda: kubectl.run('logs', 'writer', '--tail=1', check=False).returncode == 0)
    followed = kubectl('logs', '-f', 'writer', timeout=120).splitlines()
    numbers = [int(line.split()[0]) for line in followed]
    assert numbers == list(range(1, lines + 1)), 'lines %d..%d, %d of %d' % (numbers[0], numbers[-1], len(numbers), lines)
    files = glob.glob(os.path.join(program.data_dir, 'node', 'logs', 'default_writer_*', 'c', '0.log*'))
    assert 3 < len(files) <= 8, files
    for path in files:
        assert os.path.getsize(path) <= 1 << 20 and stat.S_IMODE(os.stat(path).st_mode) == 0o640, path
    assert kubectl('logs', 'writer', '--tail=3').splitlines() == followed[-3:]
    # Across files: more than one of them holds.
    assert kubectl('logs', 'writer', '--tail=9000').splitlines() == followed[-9000:]
    for path in glob.glob(os.path.join(program.data_dir, 'node', 'pods', '*')):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o750, path


def up(binary, folder):
    return Program(binary, 'up', '--data-dir', folder, '--port', '0', '--container-log-max-size', '1Mi', '--container-log-max-files', '8',
                   '--host-image', 'on', data_dir=folder)


def one_process(binary, folder):
    program = up(binary, folder)
    try:
        kubectl = Kubectl(program.kubeconfig)
        node = nodes_have_their_own(kubectl, program)
        jane = a_user_gets_a_certificate_that_works(kubectl, program, folder)
        others_do_not(kubectl, folder)
        nothing_lasts_longer_than_a_year(program)
        the_nodes_server_lets_nobody_in_who_may_not(kubectl, program, jane)
        a_node_keeps_to_its_own(kubectl, program, node)
        logs_are_rotated_and_followed(kubectl, program)
        before = kubectl('get', 'csr', '--no-headers').count('kubelet')
        program.stop()
        program = up(binary, folder)
        kubectl = Kubectl(program.kubeconfig)
        wait_until('the node is ready again', lambda: 'Ready' in kubectl('get', 'nodes', '--no-headers').split())
        assert kubectl('get', 'csr', '--no-headers').count('kubelet') == before, 'it used what it had kept'
    except BaseException:
        print(program.output()[-5000:])
        raise
    finally:
        program.kill()
        program.remove()


TOKEN = '''
apiVersion: v1
kind: Secret
type: bootstrap.kubernetes.io/token
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
stringData:
  token-id: abcdef
  token-secret: 0123456789abcdef
  usage-bootstrap-authentication: "true"
  expiration: "%s"
'''
BINDING = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "%s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "%s"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "%s"}]
'''
BOOTSTRAP_CONFIG = '''
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "%s", certificate-authority: "%s"}}]
users: [{name: u, user: {token: "%s"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
'''


def utc(offset):
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + offset))


class Parts:
    """The parts of a cluster as processes of their own."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.programs = binary, folder, []
        self.ca = os.path.join(folder, 'pki', 'ca.crt')
        server = self.run('apiserver', '--data-dir', folder, '--secure-port', '0', '--enable-bootstrap-token-auth',
                          '--enable-admission-plugins', 'NodeRestriction', '--kubelet-certificate-authority', self.ca)
        self.url = server.url
        connection = ('--kubeconfig', os.path.join(folder, 'kubeconfig'))
        self.run('controllers', *connection, '--controllers', '*,tokencleaner,kubelet-serving-certificate-approving-controller',
                 '--cluster-signing-cert-file', self.ca, '--cluster-signing-key-file', os.path.join(folder, 'pki', 'ca.key'),
                 '--cluster-signing-duration', '24h', ready='controllers running')
        self.run('scheduler', *connection, ready='scheduler running')

    def run(self, part, *arguments, name='', **options):
        folder = os.path.join(self.folder, 'output', part + name)
        os.makedirs(folder)
        self.programs.append(Program(self.binary, part, *arguments, data_dir=folder, **options))
        return self.programs[-1]

    def node(self, name, token):
        config = os.path.join(self.folder, name + '.conf')
        with open(config, 'w') as f:
            f.write(BOOTSTRAP_CONFIG % (self.url, self.ca, token))
        return self.run('node', '--name', name, '--data-dir', os.path.join(self.folder, name), '--bootstrap-kubeconfig', config,
                        '--rotate-server-certificates', '--host-image', 'on', name='-' + name, ready='node %s running' % name)

    def close(self):
        for program in self.programs:
            program.kill()
            program.log.close()


def joining_over_the_network(binary, folder):
    parts = Parts(binary, folder)
    try:
        kubectl = Kubectl(os.path.join(folder, 'kubeconfig'))
        kubectl('create', '-f', '-', stdin=TOKEN % utc(3600))
        kubectl('create', '-f', '-', stdin=BINDING % ('join', 'system:node-bootstrapper', 'system:bootstrappers'))
        certificates = 'system:certificates.k8s.io:certificatesigningrequests:'
        kubectl('create', '-f', '-', stdin=BINDING % ('approve', certificates + 'nodeclient', 'system:bootstrappers'))
        stranger = parts.node('stranger', 'abcdef.0000000000000000')
        parts.node('n1', 'abcdef.0123456789abcdef')
        wait_until('the node is ready', lambda: 'Ready' in kubectl('get', 'nodes', '--no-headers').split())
        wait_until('the stranger was refused', lambda: 'Unauthorized' in stranger.output())
        assert kubectl('get', 'nodes', '-o', 'name') == 'node/n1'
        pem = os.path.join(folder, 'n1', 'node', 'pki', 'n1', 'kubelet-client-current.pem')
        assert 23 * 3600 < seconds_left(pem) <= 24 * 3600
        kubectl('create', '-f', '-', stdin=WRITER % (3, 'hello'))
        # The API server calls the node, both with certificates that the other checks.
        wait_until('its log is read', lambda: kubectl('logs', 'writer').splitlines() == ['1 hello', '2 hello', '3 hello'])
        kubectl('patch', '-n', 'kube-system', 'secret', 'bootstrap-token-abcdef', '-p', json.dumps({'stringData': {'expiration': utc(-1)}}))
        wait_until('the expired token is gone',
                   lambda: 'NotFound' in kubectl.run('get', '-n', 'kube-system', 'secret', 'bootstrap-token-abcdef', check=False).stderr)
    except BaseException:
        for program in parts.programs:
            print('---', program.data_dir, program.output()[-3000:])
        raise
    finally:
        parts.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    for command in ('openssl', 'curl'):
        if subprocess.run(['which', command], capture_output=True).returncode != 0:
            skip('there is no ' + command)
    one_process(sys.argv[1], tempfile.mkdtemp(prefix='flyball-test-'))
    joining_over_the_network(sys.argv[1], tempfile.mkdtemp(prefix='flyball-test-'))
    print('ok')


if __name__ == '__main__':
    main()
