"""kubectl get in every output format, its selectors and sorting, watches, describe, events."""
import json
import subprocess
import time

PODS = '''
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: web, tier: %s}}
spec:
  nodeName: n1
  containers: [{name: main, image: "nginx:1", ports: [{containerPort: 80}]}]
'''


def setting(s):
    for name, data in (('a', 'x=1'), ('b', 'x=2'), ('c', 'x=3')):
        s.out('create configmap %s --from-literal=%s' % (name, data))
    s.out('label cm a tier=front')
    s.out('label cm b tier=back')
    for name, tier in (('p1', 'front'), ('p2', 'back')):
        s.sees('create -f -', 'pod/%s created' % name, stdin=PODS % (name, tier))
    status = {'status': {'phase': 'Running', 'podIP': '10.0.0.1', 'conditions': [{'type': 'Ready', 'status': 'True'}], 'containerStatuses': [
        {'name': 'main', 'ready': True, 'restartCount': 2, 'image': 'nginx:1', 'imageID': '', 'state': {'running': {}}}]}}
    s.sees("patch pod p1 --subresource=status --type=merge -p '%s'" % json.dumps(status), 'pod/p1 patched')


def tables(s):
    s.sees('get pods', '''
        NAME   READY   STATUS    RESTARTS   AGE
        p1     1/1     Running   2          1s
        p2     0/1     Pending   0          1s
        ''')
    s.sees('get pods -o wide', '''
        NAME   READY   STATUS    RESTARTS   AGE   IP         NODE   NOMINATED NODE   READINESS GATES
        p1     1/1     Running   2          1s    10.0.0.1   n1     <none>           <none>
        p2     0/1     Pending   0          1s    <none>     n1     <none>           <none>
        ''')
    s.sees('get pods --show-labels --no-headers', 'p1  1/1  Running  2  1s  app=web,tier=front\np2  0/1  Pending  0  1s  app=web,tier=back')
    s.sees('get pods -L tier --no-headers', 'p1  1/1  Running  2  1s  front\np2  0/1  Pending  0  1s  back')
    s.sees('get cm a b', 'NAME  DATA  AGE\na  1  1s\nb  1  1s')
    s.sees('get cm/a pod/p1', '''
        NAME          DATA   AGE
        configmap/a   1      1s

        NAME     READY   STATUS    RESTARTS   AGE
        pod/p1   1/1     Running   2          1s
        ''')
    s.has('get cm -A --no-headers', s.namespace + '  a  1', 'kube-system  kube-root-ca.crt  1')
    s.sees('get deploy', 'No resources found in %s namespace.' % s.namespace)
    s.sees('get pod none', 'Error from server (NotFound): pods "none" not found', status=1)
    s.sees('get pod none --ignore-not-found', '')
    s.sees('get nonsense', 'error: the server doesn\'t have a resource type "nonsense"', status=1)
    s.sees('get pods --server-print=false', 'NAME  AGE\np1  1s\np2  1s')


def formats(s):
    s.sees('get cm a -o yaml', '''
        apiVersion: v1
        data:
          x: "1"
        kind: ConfigMap
        metadata:
          creationTimestamp: "<time>"
          labels:
            tier: front
          name: a
          namespace: %s
          resourceVersion: "1"
          uid: <uid>
        ''' % s.namespace)
    s.check(json.loads(s.out('get cm -o json'))['kind'] == 'List', 'get cm -o json', 'a List')
    s.sees('get pods -o name', 'pod/p1\npod/p2')
    s.sees('get pods -o jsonpath={.items[*].metadata.name}', 'p1 p2')
    s.sees("get pods -o jsonpath='{range .items[*]}{.metadata.name}={.status.phase}{\"\\n\"}{end}'", 'p1=Running\np2=Pending')
    s.file('path', '{.items[?(@.status.phase=="Running")].metadata.name}')
    s.sees('get pods -o jsonpath-file=path', 'p1')
    s.sees('get pods -o jsonpath-as-json={.items[*].metadata.labels.tier}', '[\n    "front",\n    "back"\n]')
    s.sees('get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image', 'NAME  IMAGE\np1  nginx:1\np2  nginx:1')
    s.file('columns', 'N             P\n.metadata.name  .status.phase\n')
    s.sees('get pods -o custom-columns-file=columns', 'N  P\np1  Running\np2  Pending')
    s.sees("get pods -o go-template='{{range .items}}{{.metadata.name}} {{end}}'", 'p1 p2')
    s.file('template', '{{len .items}}')
    s.sees('get pods -o go-template-file=template', '2')
    s.has('get cm a -o yaml --show-managed-fields', 'managedFields:', 'manager: kubectl-create', 'operation: Update', 'f:data:')


def selecting(s):
    s.sees('get pods -l tier=front -o name', 'pod/p1')
    s.sees("get pods -l 'tier in (back,side)' -o name", 'pod/p2')
    s.sees("get pods -l 'tier notin (back)' -o name", 'pod/p1')
    s.sees("get pods -l '!tier' -o name", '')
    s.sees("get pods -l 'app,tier!=front' -o name", 'pod/p2')
    s.sees('get pods --field-selector=status.phase=Running -o name', 'pod/p1')
    s.sees('get pods --field-selector=spec.nodeName=n1,metadata.name!=p1 -o name', 'pod/p2')
    s.sees('get pods --field-selector=spec.nonsense=1', '''
        Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "", field selector "spec.nonsense=1": field label not supported: spec.nonsense
        ''', status=1)
    s.sees('get pods --sort-by=.metadata.labels.tier -o name', 'pod/p2\npod/p1')
    s.sees('get pods --sort-by=.status.containerStatuses[0].restartCount --no-headers', 'p2  0/1  Pending  0  1s\np1  1/1  Running  2  1s')
    s.sees('get cm --chunk-size=1 -o name -l tier', 'configmap/a\nconfigmap/b')
    s.sees('get cm --field-selector=metadata.name=b --chunk-size=1 --no-headers', 'b  1  1s')


def follow(s, command, act, want, seconds=60):
    """Starts a watch, acts once it has printed something or a moment has passed, and waits for what it must print."""
    import shlex
    process = subprocess.Popen([*s.kubectl.command, '-n', s.namespace, *shlex.split(command)], stdout=subprocess.PIPE, text=True)
    try:
        lines = []
        act(process, lines)
        deadline = time.monotonic() + seconds
        while not all(any(w in line for line in lines) for w in want) and time.monotonic() < deadline:
            line = process.stdout.readline()
            if not line:
                break
            lines.append(' '.join(line.split()))
        s.check(all(any(w in line for line in lines) for w in want), command, 'want %s\ngot %s' % (want, lines))
    finally:
        process.kill()
        process.wait()


def watching(s):
    def first(process, lines):
        lines.append(' '.join(process.stdout.readline().split()))

    def change(process, lines):
        first(process, lines)
        s.out('patch cm a -p \'{"data":{"y":"1"}}\'')

    follow(s, 'get cm a -w', change, ['NAME DATA AGE', 'a 1', 'a 2'])

    def remove(process, lines):
        first(process, lines)
        s.out('create cm gone')
        s.out('delete cm gone')

    follow(s, 'get cm -w --output-watch-events', remove, ['EVENT NAME DATA AGE', 'ADDED a 2', 'ADDED gone 0', 'DELETED gone 0'])
    follow(s, 'get cm -w -o name', remove, ['configmap/a', 'configmap/gone'])
    s.sees('get cm a --watch-only --request-timeout=1s', '')
    s.out('wait cm/a --for=jsonpath={.data.y}=1')


def described(s):
    s.has('describe pod p1', 'Name:  p1', 'Namespace:  ' + s.namespace, 'Node:  n1/', 'Labels:  app=web', 'Status:  Running',
          'Restart Count:  2', 'Conditions:', 'QoS Class:  BestEffort', 'Tolerations:  node.kubernetes.io/not-ready:NoExecute op=Exists for 300s'
          .replace('300s', '<age>'))
    s.has('describe cm b', 'Data\n====\nx:\n----\n2')
    s.has('describe ns ' + s.namespace, 'Name:  ' + s.namespace, 'Status:  Active', 'No resource quota.', 'No LimitRange resource.')
    s.has('describe sa default', 'Image pull secrets:  <none>', 'Tokens:  <none>')
    s.has('describe clusterrole view', 'PolicyRule:', 'Resources', 'configmaps  []  []  [get list watch]')
    s.has('describe svc -n default kubernetes', 'Type:  ClusterIP', 'Port:  https  443/TCP')
    s.has('describe pods -l app=web', 'Name:  p1', 'Name:  p2')
    s.sees('describe pod none', 'Error from server (NotFound): pods "none" not found', status=1)
    s.out('create deployment dd --image=x')
    s.has('describe deploy dd', 'StrategyType:  RollingUpdate', 'RollingUpdateStrategy:  25% max unavailable, 25% max surge', 'Pod Template:')
    s.out('create cronjob cj --image=x --schedule="@hourly"')
    s.has('describe cronjob cj', 'Schedule:  @hourly', 'Concurrency Policy:  Allow', 'Suspend:  False')
    s.out('create job jj --image=x')
    s.has('describe job jj', 'Parallelism:  1', 'Completions:  1', 'Completion Mode:  NonIndexed')
    s.out('create role rr --verb=get --resource=pods')
    s.has('describe role rr', 'PolicyRule:', 'pods  []  []  [get]')
    s.out('create ingress ii --rule=a.example/=svc:80')
    s.has('describe ingress ii', 'a.example', 'svc:80')
    s.out('create quota qq --hard=configmaps=50')
    s.has('describe quota qq', 'Name:  qq', 'Resource')
    s.has('describe node none', 'Error from server (NotFound): nodes "none" not found', status=1)


def eventful(s):
    pod = json.loads(s.out('get pod p1 -o json'))
    event = {'apiVersion': 'v1', 'kind': 'Event', 'metadata': {'name': 'e.1'}, 'type': 'Warning', 'reason': 'Odd', 'message': 'something odd',
             'involvedObject': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'p1', 'namespace': s.namespace,
                                                                                      'uid': pod['metadata']['uid']}, 'source': {'component': 'test'}, 'count': 1,
             'firstTimestamp': '2026-01-01T00:00:00Z', 'lastTimestamp': '2026-01-01T00:00:00Z'}
    s.sees('create -f -', 'event/e.1 created', stdin=json.dumps(event))
    s.has('events --for=pod/p1', 'Warning  Odd', 'Pod/p1  something odd')
    s.has('events --types=Warning', 'Warning  Odd')
    s.has('get events --field-selector=involvedObject.name=p1', 'Warning  Odd  pod/p1  something odd')
    s.has('describe pod p1', 'Events:', 'Warning  Odd', 'test  something odd')


PARTS = [setting, tables, formats, selecting, watching, described, eventful]
