"""Who may: auth, impersonation, certificates, what is refused and with which words."""
import base64
import json
import subprocess


def asked(s):
    s.has('auth whoami', 'Username', 'kubernetes-admin', 'Groups', 'system:authenticated')
    s.sees('auth can-i delete nodes', "yes\nWarning: resource 'nodes' is not namespace scoped")
    s.sees('auth can-i create pods', 'yes')
    s.sees('auth can-i create pods --as=jane', 'no', status=1)
    s.sees('auth can-i get /metrics', 'yes')
    s.has('auth can-i --list', 'Resources', '*.*  []  []  [*]')
    s.has('auth can-i --list --as=jane', 'selfsubjectaccessreviews.authorization.k8s.io  []  []  [create]')
    s.sees('auth whoami --as=jane --as-group=devs -o jsonpath={.status.userInfo.groups}', '["devs","system:authenticated"]')


def refused(s):
    s.sees('get pods --as=jane', '''
        Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "%s"
        ''' % s.namespace, status=1)
    s.sees('get nodes --as=jane', '''
        Error from server (Forbidden): nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope
        ''', status=1)
    s.sees('create cm x --as=jane', '''
        error: failed to create configmap: configmaps is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the namespace "%s"
        ''' % s.namespace, status=1)
    s.sees('get pod x --as=jane', '''
        Error from server (Forbidden): pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "%s"
        ''' % s.namespace, status=1)
    s.sees('get --raw /metrics --as=jane', '''
        Error from server (Forbidden): forbidden: User "jane" cannot get path "/metrics"
        ''', status=1)
    s.out('create role reader --verb=get,list,watch --resource=pods')
    s.sees('create rolebinding jane --role=reader --user=jane', 'rolebinding.rbac.authorization.k8s.io/jane created')
    s.eventually('auth can-i list pods --as=jane', 'yes')
    s.sees('get pods --as=jane', 'No resources found in %s namespace.' % s.namespace)
    s.sees('auth can-i delete pods --as=jane', 'no', status=1)


def reconciled(s):
    role = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'Role', 'metadata': {'name': 'rec', 'namespace': s.namespace},
            'rules': [{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['get']}]}
    s.sees('auth reconcile -f -', 'role.rbac.authorization.k8s.io/rec reconciled\n\treconciliation required create\n\tmissing rules added:\n'
           "\t\t{Verbs:[get] APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]}", stdin=json.dumps(role))
    role['rules'][0]['verbs'] = ['get', 'list']
    s.has('auth reconcile -f -', 'role.rbac.authorization.k8s.io/rec reconciled', 'reconciliation required update', stdin=json.dumps(role))
    s.sees('get role rec -o jsonpath={.rules[*].verbs}', '["get"] ["list"]')


def service_accounts(s):
    s.out('create serviceaccount robot')
    token = s.out('create token robot')
    s.sees('--token=%s auth whoami -o jsonpath={.status.userInfo.username}' % token, 'kubernetes-admin')
    claims = token.split('.')[1]
    claims = json.loads(base64.urlsafe_b64decode(claims + '=' * (-len(claims) % 4)))
    s.check(claims['sub'] == 'system:serviceaccount:%s:robot' % s.namespace, 'create token', claims)
    s.sees('auth can-i list pods --as=system:serviceaccount:%s:robot' % s.namespace, 'no', status=1)
    s.out('create rolebinding robot --clusterrole=view --serviceaccount=%s:robot' % s.namespace)
    s.eventually('auth can-i list pods --as=system:serviceaccount:%s:robot' % s.namespace, 'yes')


def certificates(s):
    key = subprocess.run(['openssl', 'req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', s.folder + '/key', '-subj', '/O=devs/CN=jane'],
                         capture_output=True, check=True).stdout
    for name, verb, word in (('good', 'approve', 'approved'), ('bad', 'deny', 'denied')):
        csr = {'apiVersion': 'certificates.k8s.io/v1', 'kind': 'CertificateSigningRequest', 'metadata': {'name': s.namespace + name},
               'spec': {'request': base64.b64encode(key).decode(), 'signerName': 'kubernetes.io/kube-apiserver-client', 'usages': ['client auth']}}
        s.sees('create -f -', 'certificatesigningrequest.certificates.k8s.io/%s%s created' % (s.namespace, name), stdin=json.dumps(csr))
        s.has('get csr %s%s --no-headers' % (s.namespace, name), 'kubernetes.io/kube-apiserver-client  kubernetes-admin  <none>  Pending')
        s.sees('certificate %s %s%s' % (verb, s.namespace, name), 'certificatesigningrequest.certificates.k8s.io/%s%s %s' % (s.namespace, name, word))
        s.has('get csr %s%s --no-headers' % (s.namespace, name), word.capitalize())


def configured(s):
    config = {'KUBECONFIG': s.folder + '/config'}
    for command, want in (('set-cluster c --server=https://127.0.0.1:1', 'Cluster "c" set.'), ('set-credentials u --token=t', 'User "u" set.'),
                          ('set-context x --cluster=c --user=u', 'Context "x" created.'), ('use-context x', 'Switched to context "x".'),
                          ('current-context', 'x')):
        result = subprocess.run([s.kubectl.command[0], 'config', *command.split()], capture_output=True, text=True, env={**s.kubectl.environment(), **config})
        s.check(result.stdout.strip() == want, 'config ' + command, result.stdout + result.stderr)


PARTS = [asked, refused, reconciled, service_accounts, certificates, configured]
