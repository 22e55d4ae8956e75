"""Every `kubectl create`, run and expose: from flags, from files, as dry runs, and what the server keeps."""
import json
import os


def from_flags(s):
    for command, want in (
            ('configmap a --from-literal=k=v --from-literal=l=w', 'configmap/a created'),
            ('secret generic g --from-literal=password=hidden', 'secret/g created'),
            ('secret docker-registry d --docker-username=u --docker-password=p --docker-server=r.example', 'secret/d created'),
            ('serviceaccount robot', 'serviceaccount/robot created'),
            ('deployment web --image=nginx:1 --replicas=2 --port=80', 'deployment.apps/web created'),
            ('job once --image=busybox -- true', 'job.batch/once created'),
            ('cronjob nightly --image=busybox --schedule="0 3 * * *" -- true', 'cronjob.batch/nightly created'),
            ('job made --from=cronjob/nightly', 'job.batch/made created'),
            ('role reader --verb=get,list --resource=pods,pods/log', 'role.rbac.authorization.k8s.io/reader created'),
            ('rolebinding readers --role=reader --user=jane --group=devs --serviceaccount=%s:robot' % s.namespace,
             'rolebinding.rbac.authorization.k8s.io/readers created'),
            ('clusterrole %s-metrics --verb=get --non-resource-url=/metrics' % s.namespace,
             'clusterrole.rbac.authorization.k8s.io/%s-metrics created' % s.namespace),
            ('clusterrolebinding %s-admins --clusterrole=view --group=ops' % s.namespace,
             'clusterrolebinding.rbac.authorization.k8s.io/%s-admins created' % s.namespace),
            ('service clusterip cip --tcp=80:8080', 'service/cip created'),
            ('service nodeport np --tcp=80:8080', 'service/np created'),
            ('service loadbalancer lb --tcp=80:8080', 'service/lb created'),
            ('service externalname en --external-name=example.com', 'service/en created'),
            ('ingress site --rule=host.example/path*=cip:80', 'ingress.networking.k8s.io/site created'),
            ('quota q --hard=pods=10,cpu=4', 'resourcequota/q created'),
            ('pdb budget --selector=app=web --min-available=1', 'poddisruptionbudget.policy/budget created'),
            ('priorityclass %s-high --value=1000 --description=high' % s.namespace,
             'priorityclass.scheduling.k8s.io/%s-high created' % s.namespace),
            ('namespace %s-more' % s.namespace, 'namespace/%s-more created' % s.namespace)):
        s.sees('create ' + command, want)


def what_flags_made(s):
    s.sees('get cm a -o jsonpath={.data}', '{"k":"v","l":"w"}')
    s.sees('get secret g -o go-template={{.data.password|base64decode}}', 'hidden')
    s.sees('get secret d -o jsonpath={.type}', 'kubernetes.io/dockerconfigjson')
    s.sees('get deploy web', '''
        NAME   READY   UP-TO-DATE   AVAILABLE   AGE
        web    0/2     2            0           1s
        ''')
    s.sees('get deploy web -o wide --no-headers', 'web  0/2  2  0  1s  nginx  nginx:1  app=web')
    s.sees('get cronjob nightly --no-headers', 'nightly  0 3 * * *  <none>  False  0  <none>  1s')
    s.sees('get svc lb -o jsonpath={.spec.type}/{.spec.ports[0].targetPort}', 'LoadBalancer/8080')
    s.sees('get svc en --no-headers', 'en  ExternalName  <none>  example.com  <none>  1s')
    s.sees('get ingress site --no-headers', 'site  <none>  host.example  80  1s')
    s.sees('get pdb budget --no-headers', 'budget  1  N/A  0  1s')
    s.sees('get quota q -o jsonpath={.spec.hard}', '{"cpu":"4","pods":"10"}')
    s.out('delete quota q')  # from here on pods need not say how much cpu they want
    s.sees('get rolebinding readers -o wide --no-headers',
           'readers  Role/reader  1s  jane  devs  %s/robot' % s.namespace)
    s.sees('get priorityclass %s-high --no-headers' % s.namespace, '%s-high  1000  false  1s  PreemptLowerPriority' % s.namespace)
    s.sees('get job made -o jsonpath={.metadata.annotations}', '{"cronjob.kubernetes.io/instantiate":"manual"}')


def refused(s):
    s.sees('create configmap a', 'error: failed to create configmap: configmaps "a" already exists', status=1)
    s.sees('create deployment Web --image=x', '''
        error: failed to create deployment: Deployment.apps "Web" is invalid: metadata.name: Invalid value: "Web": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
        ''', status=1)
    s.sees('create quota bad --hard=pods=x', "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'", status=1)
    s.sees('create -n nowhere configmap a', 'error: failed to create configmap: namespaces "nowhere" not found', status=1)
    s.sees('create cronjob bad --image=x --schedule=never', '''
        error: failed to create cronjob: CronJob.batch "bad" is invalid: spec.schedule: Invalid value: "never": expected exactly 5 fields, found 1: [never]
        ''', status=1)
    s.sees('create -f -', 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "a" already exists',
           stdin='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}', status=1)
    s.sees('create -f -', '''
        error: resource mapping not found for name: "x" namespace: "" from "STDIN": no matches for kind "Nonsense" in version "example.com/v1"
        ensure CRDs are installed first
        ''', stdin='{"apiVersion":"example.com/v1","kind":"Nonsense","metadata":{"name":"x"}}', status=1)
    s.sees('create -f -', '''
        The Service "bad" is invalid:
        * spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive
        * spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive
        ''', stdin='{"apiVersion":"v1","kind":"Service","metadata":{"name":"bad"},"spec":{"ports":[{"port":70000}]}}', status=1)
    s.sees('create -f -', '''
        Error from server (BadRequest): error when creating "STDIN": Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containerz"
        ''', stdin='{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"},"spec":{"containerz":[]}}', status=1)


def dry_runs(s):
    s.sees('create deployment ghost --image=x --dry-run=server', 'deployment.apps/ghost created (server dry run)')
    s.sees('get deploy ghost', 'Error from server (NotFound): deployments.apps "ghost" not found', status=1)
    made = json.loads(s.out('create deployment ghost --image=x --dry-run=server -o json'))
    s.check(made['spec']['revisionHistoryLimit'] == 10 and made['metadata']['uid'], 'dry run', 'defaults and a uid: %s' % made)
    s.sees('create configmap a --from-literal=z=z --dry-run=server',
           'error: failed to create configmap: configmaps "a" already exists', status=1)
    s.sees('run ghost --image=x --dry-run=server -o name', 'pod/ghost')
    s.sees('delete cm a --dry-run=server', 'configmap "a" deleted (server dry run)')
    s.sees('get cm a -o name', 'configmap/a')


def from_files(s):
    os.makedirs(s.folder + '/many', exist_ok=True)
    s.file('many/one.yaml', '{apiVersion: v1, kind: ConfigMap, metadata: {name: f1, labels: {set: f}}}\n---\n'
                            '{apiVersion: v1, kind: ConfigMap, metadata: {name: f2, labels: {set: f}}}\n')
    s.file('many/two.json', '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap",'
                            '"metadata":{"name":"f3","labels":{"set":"f"}}}]}')
    s.sees('create -f many', 'configmap/f1 created\nconfigmap/f2 created\nconfigmap/f3 created')
    s.file('plain.txt', 'hello\n')
    s.sees('create configmap files --from-file=plain.txt --from-file=other=plain.txt', 'configmap/files created')
    s.sees('get cm files -o jsonpath={.data.other}', 'hello')
    s.sees('create --save-config -f -', 'configmap/saved created', stdin='{apiVersion: v1, kind: ConfigMap, metadata: {name: saved}}')
    s.has('get cm saved -o yaml', 'kubectl.kubernetes.io/last-applied-configuration')
    made = s.out('create -f - -o name', stdin='{apiVersion: v1, kind: ConfigMap, metadata: {generateName: gen-}}')
    s.check(made.startswith('configmap/gen-') and len(made) == len('configmap/gen-') + 5, 'create generateName', made)


def running_and_exposing(s):
    s.sees('run one --image=nginx --port=80 --labels=app=one --env=A=b', 'pod/one created')
    s.sees('get pod one', '''
        NAME   READY   STATUS    RESTARTS   AGE
        one    0/1     Pending   0          1s
        ''')
    s.sees('run two --image=nginx --expose --port=81', 'service/two created\npod/two created')
    s.sees('expose deployment web --port=80 --target-port=8080 --name=front', 'service/front exposed')
    s.sees('expose pod one --type=NodePort', 'service/one exposed')
    s.sees('get svc front -o jsonpath={.spec.selector}', '{"app":"web"}')
    token = s.out('create token robot --duration=10m --audience=a')
    s.check(token.count('.') == 2, 'create token', token)
    s.sees('create token nobody', 'error: failed to create token: serviceaccounts "nobody" not found', status=1)


def kustomized(s):
    os.makedirs(s.folder + '/base', exist_ok=True)
    s.file('base/kustomization.yaml', 'resources: [cm.yaml]\nnamePrefix: pre-\nlabels: [{pairs: {made: kustomize}}]\n'
                                      'configMapGenerator: [{name: generated, literals: [a=b]}]\n')
    s.file('base/cm.yaml', '{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {k: v}}\n')
    s.has('apply -k base', 'configmap/pre-generated-', 'configmap/pre-kept created')
    s.has('get -k base', 'pre-kept')
    s.has('delete -k base', 'configmap "pre-kept" deleted')


PARTS = [from_flags, what_flags_made, refused, dry_runs, from_files, running_and_exposing, kustomized]
