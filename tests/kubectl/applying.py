"""Declaring state: apply from the client's and from the server's side, prune, diff, edit, replace."""
import json

CONFIG_MAP = '''
apiVersion: v1
kind: ConfigMap
metadata: {name: c, labels: {set: one}}
data: {a: "1", b: "1"}
'''
DEPLOYMENT = '''
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 1
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - {name: main, image: "nginx:1", ports: [{containerPort: 80}]}
      - {name: side, image: "busybox:1"}
'''
CHANGED = CONFIG_MAP.replace('a: "1", b: "1"', 'a: "2"')


def client_side(s):
    s.sees('apply -f -', 'configmap/c created', stdin=CONFIG_MAP)
    s.sees('apply -f -', 'configmap/c unchanged', stdin=CONFIG_MAP)
    s.sees('apply -f - --dry-run=server', 'configmap/c configured (server dry run)', stdin=CHANGED)
    s.sees('get cm c -o jsonpath={.data}', '{"a":"1","b":"1"}')
    got, status = s.run('diff -f -', stdin=CHANGED)
    s.check(status == 1 and '\n-  a: "1"\n-  b: "1"\n+  a: "2"\n' in got, 'diff', got)
    s.sees('apply -f -', 'configmap/c configured', stdin=CHANGED)
    s.sees('get cm c -o jsonpath={.data}', '{"a":"2"}')
    s.sees('diff -f -', '', stdin=CHANGED)
    s.has('apply view-last-applied cm/c', 'a: "2"')
    s.out('create cm made')
    s.sees('apply -f -', '''
        configmap/made configured
        Warning: resource configmaps/made is missing the kubectl.kubernetes.io/last-applied-configuration annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.
        ''', stdin='{apiVersion: v1, kind: ConfigMap, metadata: {name: made}}')


def lists_in_objects(s):
    """Containers merge by name, ports by number: a field that somebody else set stays."""
    s.sees('apply -f -', 'deployment.apps/d created', stdin=DEPLOYMENT)
    s.sees('scale deploy d --replicas=3', 'deployment.apps/d scaled')
    s.sees('set env deploy/d -c main A=b', 'deployment.apps/d env updated')
    s.sees('apply -f -', 'deployment.apps/d configured', stdin=DEPLOYMENT.replace('  replicas: 1\n', '').replace('nginx:1', 'nginx:2'))
    s.sees('get deploy d -o jsonpath={.spec.template.spec.containers[0].env}', '[{"name":"A","value":"b"}]')
    s.sees('get deploy d -o jsonpath={.spec.template.spec.containers[*].image}', 'nginx:2 busybox:1')
    side = '      - {name: side, image: "busybox:1"}\n'
    s.sees('apply -f -', 'deployment.apps/d configured', stdin=DEPLOYMENT.replace(side, ''))
    s.sees('get deploy d -o jsonpath={.spec.template.spec.containers[*].name}', 'main')
    s.sees('apply -f -', '''
        The Deployment "d" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"e"}}: field is immutable
        ''', stdin=DEPLOYMENT.replace('app: d', 'app: e'), status=1)


def server_side(s):
    s.sees('apply --server-side -f -', 'configmap/ss serverside-applied', stdin=CONFIG_MAP.replace('name: c', 'name: ss'))
    other = CONFIG_MAP.replace('name: c', 'name: ss').replace('a: "1"', 'a: "9"')
    s.sees('apply --server-side --field-manager=other -f -', '''
        error: Apply failed with 1 conflict: conflict with "kubectl": .data.a
        Please review the fields above--they currently have other managers. Here
        are the ways you can resolve this warning:
        * If you intend to manage all of these fields, please re-run the apply
          command with the `--force-conflicts` flag.
        * If you do not intend to manage all of the fields, please edit your
          manifest to remove references to the fields that should keep their
          current managers.
        * You may co-own fields by updating your manifest to match the existing
          value; in this case, you'll become the manager if the other manager(s)
          stop managing the field (remove it from their configuration).
        See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
        ''', stdin=other, status=1)
    s.sees('apply --server-side --field-manager=other --force-conflicts -f -', 'configmap/ss serverside-applied', stdin=other)
    managers = json.loads(s.out('get cm ss -o json --show-managed-fields'))['metadata']['managedFields']
    s.check({m['manager'] for m in managers} == {'kubectl', 'other'} and all(m['operation'] == 'Apply' for m in managers), 'managers', managers)
    s.sees('apply --server-side --dry-run=server -f -', 'configmap/new serverside-applied (server dry run)',
           stdin='{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}')
    got, status = s.run('diff --server-side -f -', stdin=CONFIG_MAP.replace('name: c', 'name: ss').replace('b: "1"', 'b: "1", z: "1"').replace('a: "1", ', ''))
    s.check(status == 1 and '+  z: "1"' in got, 'diff --server-side', got)
    s.sees('apply --server-side -f -', 'configmap/c serverside-applied', stdin=CHANGED)
    s.sees('get cm c -o jsonpath={.metadata.managedFields[*].manager} --show-managed-fields', 'kubectl kubectl-last-applied')


def pruned(s):
    one, two = (CONFIG_MAP.replace('name: c', 'name: p%d' % i).replace('set: one', 'set: prune') for i in (1, 2))
    s.sees('apply --prune -l set=prune --prune-allowlist=core/v1/ConfigMap -f -', 'configmap/p1 created\nconfigmap/p2 created', stdin=one + '---' + two)
    s.sees('apply --prune -l set=prune --prune-allowlist=core/v1/ConfigMap -f -', 'configmap/p1 unchanged\nconfigmap/p2 pruned', stdin=one)
    s.sees('get cm -l set=prune -o name', 'configmap/p1')


def apply_set(s):
    """Pruning by an ApplySet: the parent carries labels and annotations of the set."""
    env = {'KUBECTL_APPLYSET': 'true'}
    one, two = (CONFIG_MAP.replace('name: c', 'name: as%d' % i) for i in (1, 2))
    s.file('both.yaml', one + '---' + two)
    s.file('one.yaml', one)
    s.sees('apply --server-side=false --prune --applyset=configmaps/set -f both.yaml', 'configmap/as1 created\nconfigmap/as2 created', env=env)
    s.sees('apply --prune --applyset=configmaps/set -f one.yaml', 'configmap/as1 unchanged\nconfigmap/as2 pruned', env=env)


def edited(s):
    s.file('edit.sh', 'sed -i "s/a: \\"2\\"/a: \\"3\\"/" "$1"\n')
    editor = {'KUBE_EDITOR': 'sh edit.sh'}
    s.sees('edit cm c', 'configmap/c edited', env=editor)
    s.sees('get cm c -o jsonpath={.data}', '{"a":"3"}')
    s.sees('edit cm c', 'Edit cancelled, no changes made.', env=editor)
    s.file('break.sh', 'sed -i "s/^data:/dta:/" "$1"\n')
    got, status = s.run('edit cm c', env={'KUBE_EDITOR': 'sh break.sh'})
    s.check(status == 1 and 'unknown field "dta"' in got or 'Edit cancelled' in got, 'edit to something invalid', got)


def replaced(s):
    stale = json.loads(s.out('get cm c -o json'))
    s.sees('patch cm c -p \'{"data":{"first":"1"}}\'', 'configmap/c patched')
    stale['data']['second'] = '1'
    s.sees('replace -f -', '''
        Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "c": the object has been modified; please apply your changes to the latest version and try again
        ''', stdin=json.dumps(stale), status=1)
    fresh = json.loads(s.out('get cm c -o json'))
    fresh['data']['second'] = '1'
    s.sees('replace -f -', 'configmap/c replaced', stdin=json.dumps(fresh))
    s.sees('get cm c -o jsonpath={.data}', '{"a":"3","first":"1","second":"1"}')
    uid = s.out('get cm c -o jsonpath={.metadata.uid}')
    s.sees('replace --force -f -', 'configmap "c" deleted\nconfigmap/c replaced', stdin=CONFIG_MAP)
    s.check(s.out('get cm c -o jsonpath={.metadata.uid}') != uid, 'replace --force', 'the object is a new one')
    s.sees('replace -f -', 'Error from server (NotFound): error when replacing "STDIN": configmaps "none" not found',
           stdin='{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}', status=1)
    s.sees('create job fixed --image=x', 'job.batch/fixed created')
    job = json.loads(s.out('get job fixed -o json'))
    job['spec']['completions'] = 5
    s.sees('replace -f -', 'The Job "fixed" is invalid: spec.completions: Invalid value: 5: field is immutable', stdin=json.dumps(job), status=1)


PARTS = [client_side, lists_in_objects, server_side, pruned, apply_set, edited, replaced]
