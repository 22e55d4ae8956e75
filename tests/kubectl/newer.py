"""What kubectl v1.37 can and older ones cannot, or print otherwise. Played with our own client (clusters_test.py)."""

CONFIG_MAP = '{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {set: prune}}, data: {a: "1"}}'
DEPLOYMENT = '{apiVersion: apps/v1, kind: Deployment, metadata: {name: careful}, spec: {replicas: %d, selector: {matchLabels: {a: b}}, ' \
             'template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, command: null}]}}}}'
POD = '{apiVersion: v1, kind: Pod, metadata: {name: target, labels: {app: x}}, spec: {terminationGracePeriodSeconds: 0, ' \
      'containers: [{name: c, image: i, readinessProbe: {tcpSocket: {port: 80}}}]}}'


def pruned(s):
    """Without a list, the kinds that kubectl prunes; diff shows the same."""
    one, two = CONFIG_MAP % 'p1', CONFIG_MAP % 'p2'
    s.sees('apply -f -', 'configmap/p1 created\nconfigmap/p2 created', stdin='# both\n' + one + '\n---\n' + two)
    got, status = s.run('diff --prune -l set=prune -f -', stdin=one)
    s.check(status == 1 and 'name: p2' in got, 'diff --prune', got)
    s.has('apply --prune -l set=prune -f -', 'configmap/p1 unchanged', 'configmap/p2 pruned', stdin=one)
    s.sees('get cm -l set=prune -o name', 'configmap/p1')
    s.sees('apply --prune -f -', 'error: all resources selected for prune without explicitly passing --all. To prune all resources, '
           'pass the --all flag. If you did not mean to prune all resources, specify a label selector', stdin=one, status=1)


def careful(s):
    """What somebody else has changed is kept with --overwrite=false; nulls are left out."""
    s.sees('apply -f -', 'deployment.apps/careful created', stdin=DEPLOYMENT % 1)
    s.out('scale deploy careful --replicas=3')
    s.has('apply --overwrite=false -f -', 'conflicts with changes made from original to current', stdin=DEPLOYMENT % 2, status=1)
    s.sees('apply -f -', 'deployment.apps/careful configured', stdin=DEPLOYMENT % 2)
    s.sees('get deploy careful -o jsonpath={.spec.replicas}', '2')
    s.sees('apply --subresource=status -f -', 'error: --subresource can only be specified for --server-side', stdin=DEPLOYMENT % 2, status=1)
    s.out('create deployment cause --image=i')
    s.has('set image deploy/cause i=j --record', 'deployment.apps/cause image updated',
          'Flag --record has been deprecated, --record will be removed in the future')
    s.has('get deploy cause -o yaml', 'kubernetes.io/change-cause: kubectl set image deploy/cause i=j ', '--record=true')
    s.sees('scale deploy none --replicas=1', 'Error from server (NotFound): deployments.apps "none" not found', status=1)
    s.sees('rollout pause deploy cause none', 'deployment.apps/cause paused\nError from server (NotFound): deployments.apps "none" not found', status=1)


def edited(s):
    """Several objects in one file; what is created can be edited first."""
    s.out('create cm e1 --from-literal=a=3')
    s.out('create cm e2 --from-literal=a=3')
    s.file('edit.sh', 'sed -i "s/a: .3./a: \\"4\\"/; s/name: fresh/name: edited/" "$1"\n')
    editor = {'KUBE_EDITOR': 'sh edit.sh'}
    got, status = s.run('edit cm/e1 cm/e2 --output-patch --save-config', env=editor)
    s.check(status == 0 and got.count('"data":{"a":"4"}') == 2 and 'configmap/e2 edited' in got, 'edit of two objects', got)
    s.has('get cm e1 -o yaml', 'kubectl.kubernetes.io/last-applied-configuration')
    s.file('two.json', '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fresh1"}}\n'
           '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fresh2"}}\n')
    s.sees('create --edit -f two.json', 'Edit cancelled, no changes made.\nEdit cancelled, no changes made.', env={'KUBE_EDITOR': 'true'})
    s.has('expose -f two.json --port=80', 'cannot expose a ConfigMap', status=1)


def debugged(s):
    """The copy keeps what it is told to; a profile and a file of one's own say what the container may."""
    s.sees('create -f -', 'pod/target created', stdin=POD)
    debug = 'debug target --image=busybox -c dbg --attach=false -it '
    s.sees(debug + '--copy-to=copy1 --keep-labels', '')
    s.sees('get pod copy1 -o jsonpath=\'{.metadata.labels}{.spec.containers[*].readinessProbe}{.spec.containers[1].securityContext}\'',
           '{"app":"x"}{"capabilities":{"add":["SYS_PTRACE"]}}')
    s.file('custom.yaml', 'env: [{name: A, value: b}]\n')
    s.sees(debug + '--profile=restricted --custom=custom.yaml', '')
    s.sees('get pod target -o jsonpath=\'{.spec.ephemeralContainers[0].env[0].name} {.spec.ephemeralContainers[0].securityContext.runAsNonRoot}\'',
           'A true')
    s.sees('debug target --image=i --same-node', 'error: --same-node may only be used with --copy-to.', status=1)
    s.sees('run bad --image=UpperCase', 'error: invalid image name "UpperCase": invalid reference format', status=1)
    s.sees('replace --timeout=1s -f -', 'error: --timeout must have --force specified', stdin=POD, status=1)


def read(s):
    """Without the server's tables; templates that must find what they name; fields down to a depth; several conditions."""
    s.sees('get cm e1 --server-print=false', 'NAME  AGE\ne1  <age>')
    s.has('get cm e1 --allow-missing-template-keys=false -o jsonpath={.nope.x}', 'error executing jsonpath "{.nope.x}": Error executing '
          'template: nope is not found. Printing more information', '"kind":"ConfigMap"', status=1)
    s.has('get cm e1 --allow-missing-template-keys=false -o go-template={{.nope}}', 'map has no entry for key "nope"', status=1)
    s.sees('get cm none -w -o name', 'Error from server (NotFound): configmaps "none" not found', status=1)
    s.has('describe cm kube-root', 'Name:  kube-root-ca.crt')
    s.lacks('explain deploy --recursive --max-depth=2', 'matchLabels')
    s.has('explain deploy.spec.replicas -o plaintext-openapiv2', 'KIND:     Deployment', 'FIELD:    replicas <integer>')
    s.sees('explain deploy --max-depth=2', 'error: --max-depth requires --recursive', status=1)
    s.sees('wait --for=create --for=jsonpath={.spec.replicas}=2 deploy/careful', 'deployment.apps/careful condition met\ndeployment.apps/careful condition met')
    s.sees('wait --for=jsonpath={.spec.replicas}=9 deploy/careful --timeout=0s', 'error: condition not met for deployments/careful', status=1)
    s.has('auth can-i get nodes', 'yes', "Warning: resource 'nodes' is not namespace scoped")


PARTS = [pruned, careful, edited, debugged, read]
