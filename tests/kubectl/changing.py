"""patch, label, annotate, taint, cordon, set, scale, autoscale, rollout, delete, wait."""
import json

POD = '{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: x}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: i}]}}'


def patching(s):
    s.out('create configmap c --from-literal=a=1')
    s.sees('patch cm c --type=merge -p \'{"data":{"a":null,"b":"2"}}\'', 'configmap/c patched')
    s.sees('patch cm c --type=strategic -p \'{"data":{"d":"3"}}\'', 'configmap/c patched')
    s.sees('patch cm c --type=json -p \'[{"op":"add","path":"/data/e","value":"4"}]\'', 'configmap/c patched')
    s.sees('patch cm c --type=json -p \'[{"op":"test","path":"/data/e","value":"5"}]\'',
           'The request is invalid: the server rejected our request due to an error in our request', status=1)
    s.sees('get cm c -o jsonpath={.data}', '{"b":"2","d":"3","e":"4"}')
    s.sees('patch cm c -p \'{"data":{"d":"3"}}\'', 'configmap/c patched (no change)')
    s.sees('patch cm c -p \'{"data":{"d":"9"}}\' --dry-run=server -o jsonpath={.data.d}', '9')
    s.sees('patch cm none -p \'{}\'', 'Error from server (NotFound): configmaps "none" not found', status=1)
    s.sees('patch cm c -p \'{"data":{"n":1}}\'', '''
        The request is invalid: patch: Invalid value: "map[data:map[n:1]]": cannot convert int64 to string
        ''', status=1)
    s.file('patch.yaml', 'data:\n  y: yaml\n')
    s.sees('patch cm c --patch-file=patch.yaml', 'configmap/c patched')
    s.out('create deployment d --image=i')
    s.sees('patch deploy d --subresource=scale --type=merge -p \'{"spec":{"replicas":2}}\'', 'scale.autoscaling/d patched')
    s.eventually('get deploy d --subresource=scale', 'NAME  DESIRED  AVAILABLE  AGE\nd  2  2  1s')
    s.sees('patch deploy d --subresource=status --type=merge -p \'{"status":{"observedGeneration":0},"spec":{"replicas":9}}\' -o name', 'deployment.apps/d')
    s.sees('get deploy d -o jsonpath={.spec.replicas}', '2')


def labelling(s):
    s.sees('label cm c a=1 b=2', 'configmap/c labeled')
    s.sees('label cm c a=3', "error: 'a' already has a value (1), and --overwrite is false", status=1)
    s.sees('label cm c a=3 --overwrite', 'configmap/c labeled')
    s.sees('label cm c a=3', 'configmap/c not labeled')
    s.sees('label cm c b-', 'configmap/c unlabeled')
    s.sees('label cm c --list', 'a=3')
    s.sees('label cm -l a=3 z=z', 'configmap/c labeled')
    s.sees('annotate cm c note="one two"', 'configmap/c annotated')
    s.sees('annotate cm c note-', 'configmap/c annotated')
    s.sees('annotate cm --all mark=1 --overwrite -o name', 'configmap/c\nconfigmap/kube-root-ca.crt')
    s.sees('get cm c -o jsonpath={.metadata.annotations}', '{"mark":"1"}')


def nodes(s):
    n = s.namespace + '-node'
    s.sees('create -f -', 'node/%s created' % n, stdin='{apiVersion: v1, kind: Node, metadata: {name: %s}}' % n)
    s.sees('taint node %s dedicated=gpu:NoSchedule' % n, 'node/%s tainted' % n)
    s.sees('taint node %s dedicated=gpu:NoSchedule' % n,
           'error: node %s already has dedicated taint(s) with same effect(s) and --overwrite is false' % n, status=1)
    s.sees('get node %s -o jsonpath=\'{.spec.taints[?(@.key=="dedicated")]}\'' % n, '{"effect":"NoSchedule","key":"dedicated","value":"gpu"}')
    s.sees('taint node %s dedicated-' % n, 'node/%s untainted' % n)
    s.sees('cordon %s' % n, 'node/%s cordoned' % n)
    s.sees('cordon %s' % n, 'node/%s already cordoned' % n)
    s.has('get node %s --no-headers' % n, ',SchedulingDisabled  <none>')
    s.has('describe node %s' % n, 'Unschedulable:  true')
    s.sees('create -f -', 'pod/onnode created', stdin=POD.replace('spec: {', 'spec: {nodeName: %s, ' % n) % 'onnode')
    s.has('drain %s --dry-run=server --force' % n, 'node/%s already cordoned (server dry run)' % n, 'evicting pod %s/onnode (server dry run)' % s.namespace)
    s.sees('get pod onnode -o name', 'pod/onnode')
    s.has('drain %s --force --timeout=60s' % n, 'pod/onnode evicted', 'node/%s drained' % n)
    s.sees('uncordon %s' % n, 'node/%s uncordoned' % n)
    s.has('delete node %s' % n, 'node "%s" deleted' % n)


def setting(s):
    s.sees('set image deploy/d i=other:2', 'deployment.apps/d image updated')
    s.sees('set env deploy/d A=1 B-', 'deployment.apps/d env updated')
    s.sees('set env deploy/d --list', '# Deployment d, container i\nA=1')
    s.sees('set resources deploy d --limits=cpu=200m,memory=64Mi --requests=cpu=100m', 'deployment.apps/d resource requirements updated')
    s.sees('get deploy d -o jsonpath={.spec.template.spec.containers[0].resources}', '{"limits":{"cpu":"200m","memory":"64Mi"},"requests":{"cpu":"100m"}}')
    s.sees('set serviceaccount deploy d robot', 'deployment.apps/d serviceaccount updated')
    s.out('create service clusterip svc --tcp=80:80')
    s.sees("set selector svc svc 'app=other'", 'service/svc selector updated')
    s.out('create role r --verb=get --resource=pods')
    s.out('create rolebinding rb --role=r --user=a')
    s.sees('set subject rolebinding rb --user=b', 'rolebinding.rbac.authorization.k8s.io/rb subjects updated')
    s.sees('get rolebinding rb -o jsonpath={.subjects[*].name}', 'a b')
    s.sees('set image deploy/d nobody=x', 'error: unable to find container named "nobody"', status=1)


def scaling(s):
    s.sees('scale deploy d --replicas=4', 'deployment.apps/d scaled')
    s.sees('scale deploy d --current-replicas=9 --replicas=1', 'error: Expected replicas to be 9, was 4', status=1)
    s.sees('autoscale deploy d --min=1 --max=5 --cpu-percent=50', 'horizontalpodautoscaler.autoscaling/d autoscaled')
    s.eventually('get hpa d -o jsonpath={.status.currentReplicas}', '4')
    s.sees('get hpa d --no-headers', 'd  Deployment/d  cpu: <unknown>/50%  1  5  4  1s')
    s.sees('rollout pause deploy d', 'deployment.apps/d paused')
    s.sees('rollout resume deploy d', 'deployment.apps/d resumed')
    s.sees('rollout restart deploy d', 'deployment.apps/d restarted')
    s.has('rollout history deploy d', 'deployment.apps/d', 'REVISION  CHANGE-CAUSE')


def waiting(s):
    s.sees('create -f -', 'pod/w created', stdin=POD % 'w')
    s.sees('wait pod/w --for=condition=Ready --timeout=1s', 'error: timed out waiting for the condition on pods/w', status=1)
    ready = {'status': {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}
    s.out("patch pod w --subresource=status -p '%s'" % json.dumps(ready))
    s.sees('wait pod/w --for=condition=Ready --timeout=60s', 'pod/w condition met')
    s.sees("wait pod -l app=x --for=jsonpath='{.status.phase}'=Running --timeout=60s", 'pod/w condition met')
    s.sees('delete pod w --wait=false', 'pod "w" deleted')
    s.sees('wait pod/w --for=delete --timeout=60s', '')
    s.out('create cm there')
    s.sees('wait cm/there --for=create --timeout=60s', 'configmap/there condition met')
    s.sees('wait pod/none --for=condition=Ready --timeout=1s', 'Error from server (NotFound): pods "none" not found', status=1)


def deleting(s):
    for cascade, left in (('background', ''), ('foreground', ''), ('orphan', 'replicaset')):
        name = 'del-' + cascade
        s.out('create deployment %s --image=i' % name)
        s.eventually('get rs -l app=%s -o jsonpath={.items[*].spec.replicas}' % name, '1')
        s.sees('delete deploy %s --cascade=%s' % (name, cascade), 'deployment.apps "%s" deleted' % name)
        if left:
            s.eventually('get rs -l app=%s -o jsonpath={.items[*].metadata.ownerReferences}' % name, '')
            s.sees('get rs -l app=%s -o jsonpath={.items[*].spec.replicas}' % name, '1')
        else:
            s.eventually('get rs,pods -l app=%s -o name' % name, '')
    s.sees('create -f -', 'pod/quick created', stdin=POD % 'quick')
    s.sees('delete pod quick --now', 'pod "quick" deleted')
    s.sees('create -f -', 'pod/forced created', stdin=POD % 'forced')
    s.sees('delete pod forced --force --grace-period=0', '''
        pod "forced" force deleted
        Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.
        ''')
    s.out('create secret generic s1 --from-literal=a=b')
    s.out('create secret generic s2 --from-literal=a=b')
    s.out('label secret s1 keep=no')
    s.sees('delete secret -l keep=no', 'secret "s1" deleted')
    s.sees('delete secret --all', 'secret "s2" deleted')
    s.sees('delete secret --all', 'No resources found')
    s.sees('delete cm none', 'Error from server (NotFound): configmaps "none" not found', status=1)
    s.sees('delete cm none --ignore-not-found', '')
    s.out('create cm fin')
    s.out('patch cm fin -p \'{"metadata":{"finalizers":["example.com/hold"]}}\'')
    s.sees('delete cm fin --wait=false', 'configmap "fin" deleted')
    s.has('get cm fin -o yaml', 'deletionTimestamp', 'deletionGracePeriodSeconds: 0')
    s.out('patch cm fin --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    s.sees('get cm fin', 'Error from server (NotFound): configmaps "fin" not found', status=1)


PARTS = [patching, labelling, nodes, setting, scaling, waiting, deleting]
