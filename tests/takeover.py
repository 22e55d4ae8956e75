"""takeover.py FLYBALL BINARIES: a cluster's etcd passes from kube-apiserver to Flyball and back; every object stays equal.

Then again at one address, while kube-controller-manager and `flyball controllers` take turns to work for it: Deployments go on to be
made, scaled and healed, and no pod of before is replaced.

BINARIES is a folder with kube-apiserver, kube-controller-manager, kubectl and etcd of the version that is spoken. Run by hand: it
needs them.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from etcd_test import CRD, Etcd, free_port
from program import Kubectl, Program, wait_until

MANY = """
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"many","labels":{"a":"b"}}}
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"many","annotations":{"x":"y"}},"data":{"k":"v"},"binaryData":{"b":"AAEC"}}
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"many"},"stringData":{"p":"q"}}
{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"sa","namespace":"many"}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"svc","namespace":"many"},"spec":{"type":"NodePort","selector":{"a":"b"},"ports":[{"port":80,"targetPort":"http"}]}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"many","finalizers":["example.com/f"]},"spec":{"serviceAccountName":"sa","containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"name":"http"}],"env":[{"name":"E","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":"100m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"path":"/","port":"http"}},"volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}}]}}
{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"many-pv"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"pvc","namespace":"many"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"many-node","labels":{"zone":"a"}},"spec":{"podCIDR":"10.1.0.0/24","taints":[{"key":"k","effect":"NoSchedule"}]}}
{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"many"},"spec":{"hard":{"pods":"10"}}}
{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l","namespace":"many"},"spec":{"limits":[{"type":"Container","max":{"cpu":"4"}}]}}
{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"rc","namespace":"many"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"many"},"involvedObject":{"kind":"Pod","name":"p","namespace":"many"},"reason":"R","message":"m","type":"Normal"}
{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"pt","namespace":"many"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}
{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"ep","namespace":"many"},"subsets":[{"addresses":[{"ip":"10.9.9.9"}],"ports":[{"port":1}]}]}
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"many"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"strategy":{"rollingUpdate":{"maxSurge":"50%","maxUnavailable":1}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"podAffinityTerm":{"topologyKey":"z","labelSelector":{"matchLabels":{"a":"b"}}}}]}},"containers":[{"name":"c","image":"i"}]}}}}
{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"ss","namespace":"many"},"spec":{"serviceName":"svc","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"ds","namespace":"many"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"rs","namespace":"many"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"cr","namespace":"many"},"revision":3,"data":{"any":["thing",1]}}
{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"many"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}
{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"cj","namespace":"many"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}
{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"many"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"many"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"b"}}}}
{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i","namespace":"many"},"spec":{"rules":[{"host":"h","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"svc","port":{"number":80}}}}]}}]}}
{"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":"many"},"spec":{"controller":"e.com/c"}}
{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"n","namespace":"many"},"spec":{"podSelector":{},"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]}],"policyTypes":["Egress"]}}
{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"es","namespace":"many"},"addressType":"IPv4","endpoints":[{"addresses":["10.2.2.2"],"conditions":{"ready":true}}],"ports":[{"port":80}]}
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r","namespace":"many"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"rb","namespace":"many"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u","apiGroup":"rbac.authorization.k8s.io"}]}
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"many"},"rules":[{"nonResourceURLs":["/x"],"verbs":["get"]}]}
{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"many"},"provisioner":"e.com/p","parameters":{"a":"b"}}
{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"e.com"},"spec":{"attachRequired":false}}
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"many"},"value":7}
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"le","namespace":"many"},"spec":{"holderIdentity":"me","leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.123456Z"}}
{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"many"},"handler":"h"}
{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"many"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["none"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["x"]}]},"validations":[{"expression":"true"}]}}
{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"many"},"spec":{"matchingPrecedence":9000,"priorityLevelConfiguration":{"name":"global-default"}}}
{"apiVersion":"certificates.k8s.io/v1","kind":"ClusterTrustBundle","metadata":{"name":"skip"}}
"""
BEAR = '{"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"bear"},"spec":{"any":[1,2.5,null,"x"]}}'


class KubeApiserver:
    def __init__(self, binaries, folder, etcd):
        os.makedirs(folder, exist_ok=True)
        port, key, tokens = free_port(), os.path.join(folder, 'sa.key'), os.path.join(folder, 'tokens.csv')
        subprocess.run(['openssl', 'genrsa', '-out', key, '2048'], check=True, capture_output=True)
        with open(tokens, 'w') as f:
            f.write('admin-token,admin,admin,"system:masters"\n')
        self.log = open(os.path.join(folder, 'kube-apiserver.log'), 'w')
        self.process = subprocess.Popen(
            [os.path.join(binaries, 'kube-apiserver'), '--etcd-servers', etcd.url, '--secure-port', str(port), '--bind-address', '127.0.0.1',
             '--cert-dir', folder, '--service-cluster-ip-range', '10.0.0.0/24', '--authorization-mode', 'Node,RBAC', '--token-auth-file', tokens,
             '--service-account-issuer', 'https://kubernetes.default.svc', '--service-account-key-file', key,
             '--service-account-signing-key-file', key], stdout=self.log, stderr=subprocess.STDOUT)
        kubeconfig = os.path.join(folder, 'kubeconfig')
        authority = os.path.join(folder, 'apiserver.crt')
        wait_until('the certificate is there', lambda: os.path.exists(authority), 120)
        with open(kubeconfig, 'w') as f:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'clusters': [{'name': 'c', 'cluster': {'server': 'https://127.0.0.1:%d' % port, 'certificate-authority': authority}}],
                       'users': [{'name': 'u', 'user': {'token': 'admin-token'}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)
        self.kubectl = Kubectl(kubeconfig, (os.path.join(binaries, 'kubectl'),))
        wait_until('kube-apiserver is ready', lambda: self.kubectl.run('get', '--raw', '/readyz', check=False).returncode == 0, 180)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Flyball:
    def __init__(self, binary, binaries, folder, etcd):
        os.makedirs(folder, exist_ok=True)
        self.program = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', '--service-cluster-ip-range', '10.0.0.0/24',
                               '--etcd-servers', etcd.url, data_dir=folder)
        self.kubectl = Kubectl(self.program.kubeconfig, (os.path.join(binaries, 'kubectl'),))

    def stop(self):
        self.program.stop()


def fill(kubectl):
    for line in MANY.strip().split('\n'):
        made = kubectl.run('create', '--validate=false', '-f', '-', stdin=line, check=False)
        if made.returncode != 0:
            print('not created:', made.stderr.strip()[:200])
    kubectl('apply', '-f', '-', stdin=CRD)
    kubectl('wait', '--for=condition=Established', 'crd/toys.example.com')
    wait_until('a toy can be made', lambda: kubectl.run('create', '-f', '-', stdin=BEAR, check=False).returncode == 0)


def dump(kubectl):
    """Every object there is, by its path."""
    groups = [('/api/v1', 'v1')]
    for group in json.loads(kubectl('get', '--raw', '/apis'))['groups']:
        groups += [('/apis/' + version['groupVersion'], version['groupVersion']) for version in group['versions']]
    objects = {}
    for path, _ in groups:
        for resource in json.loads(kubectl('get', '--raw', path))['resources']:
            if '/' in resource['name'] or 'list' not in resource['verbs'] or resource['name'] == 'componentstatuses':
                continue
            for item in json.loads(kubectl('get', '--raw', '%s/%s' % (path, resource['name'])))['items']:
                metadata = item['metadata']
                objects['%s/%s %s/%s' % (path, resource['name'], metadata.get('namespace', ''), metadata['name'])] = item
    return objects


def differences(before, after, path=''):
    """What differs, one line a field."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [line for key in sorted({*before, *after})
                for line in differences(before.get(key, '(absent)'), after.get(key, '(absent)'), path + '.' + key)]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [line for i, (a, b) in enumerate(zip(before, after)) for line in differences(a, b, '%s[%d]' % (path, i))]
    return [] if before == after else ['    %s: %.300s -> %.300s' % (path, json.dumps(before), json.dumps(after))]


def compare(before, after, who):
    missing = [key for key in before if key not in after]
    changed = [key for key in before if key in after and before[key] != after[key]]
    rewritten = [key for key in changed if before[key]['metadata']['resourceVersion'] != after[key]['metadata']['resourceVersion']]
    different = [key for key in changed if key not in rewritten]
    print('%s: %d objects, %d equal, %d rewritten by the new server, %d different, %d missing' %
          (who, len(before), len(before) - len(missing) - len(changed), len(rewritten), len(different), len(missing)))
    for key in rewritten:
        print('  rewritten: ' + key, *differences(before[key], after[key]), sep='\n')
    for key in missing:
        print('  missing:', key)
    for key in different:
        print('  different: ' + key, *differences(before[key], after[key]), sep='\n')
    return not missing and not different


class Address:
    """One address with its certificate and tokens, where one server after the other listens."""

    def __init__(self, binary, binaries, folder, etcd):
        self.binary, self.binaries, self.folder, self.port = binary, binaries, folder, free_port()
        self.certificate, self.key, self.account_key = (os.path.join(folder, name) for name in ('tls.crt', 'tls.key', 'sa.key'))
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=api', '-addext',
                        'subjectAltName=IP:127.0.0.1', '-keyout', self.key, '-out', self.certificate], check=True, capture_output=True)
        subprocess.run(['openssl', 'genrsa', '-out', self.account_key, '2048'], check=True, capture_output=True)
        with open(os.path.join(folder, 'tokens.csv'), 'w') as f:
            f.write('admin-token,admin,admin,"system:masters"\n')
        self.kubeconfig = os.path.join(folder, 'kubeconfig')
        with open(self.kubeconfig, 'w') as f:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'clusters': [{'name': 'c', 'cluster': {'server': 'https://127.0.0.1:%d' % self.port,
                                                              'certificate-authority': self.certificate}}],
                       'users': [{'name': 'u', 'user': {'token': 'admin-token'}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)
        self.kubectl = Kubectl(self.kubeconfig, (os.path.join(binaries, 'kubectl'),))
        self.flags = ['--etcd-servers', etcd.url, '--secure-port', str(self.port), '--bind-address', '127.0.0.1', '--advertise-address',
                      '10.77.0.1', '--service-cluster-ip-range', '10.0.0.0/24', '--tls-cert-file', self.certificate,
                      '--tls-private-key-file', self.key, '--token-auth-file', os.path.join(folder, 'tokens.csv'),
                      '--service-account-issuer', 'https://kubernetes.default.svc', '--service-account-key-file', self.account_key,
                      '--service-account-signing-key-file', self.account_key, '--authorization-mode', 'Node,RBAC']

    def run(self, name, command):
        log = open(os.path.join(self.folder, name + '.log'), 'a')
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def serve(self, kind):
        if kind == 'kube':
            process = self.run(kind, [os.path.join(self.binaries, 'kube-apiserver'), '--cert-dir', self.folder, *self.flags])
        else:
            process = self.run(kind, [self.binary, 'apiserver', '--data-dir', os.path.join(self.folder, 'flyball'), *self.flags])
        wait_until(kind + ' is ready', lambda: self.kubectl.run('get', '--raw', '/readyz', check=False).returncode == 0, 180)
        return process

    def control(self, kind):
        if kind == 'kube':
            return self.run('controllers-' + kind, [
                os.path.join(self.binaries, 'kube-controller-manager'), '--kubeconfig', self.kubeconfig, '--leader-elect=false',
                '--secure-port', '0', '--service-account-private-key-file', self.account_key, '--use-service-account-credentials=false'])
        return self.run('controllers-' + kind, [self.binary, 'controllers', '--kubeconfig', self.kubeconfig])


def pods(kubectl):
    """The live pods' uids, by Deployment."""
    found = {}
    for item in json.loads(kubectl('get', 'pods', '-o', 'json'))['items']:
        if 'deletionTimestamp' not in item['metadata']:
            found.setdefault(item['metadata']['labels']['app'], set()).add(item['metadata']['uid'])
    return found


def work(kubectl, turn, kept):
    """A Deployment more, one pod lost and healed, the one before scaled up; nothing else changes."""
    name = 'turn-%d' % turn
    kubectl('create', 'deployment', name, '--image=i', '--replicas=3')
    wait_until(name + ' has its pods', lambda: len(pods(kubectl).get(name, ())) == 3, 120)
    if turn > 0:
        before = 'turn-%d' % (turn - 1)
        lost = json.loads(kubectl('get', 'pods', '-l', 'app=' + before, '-o', 'json'))['items'][0]
        kubectl('delete', 'pod', lost['metadata']['name'], '--now')
        kubectl('scale', 'deployment', before, '--replicas=5')
        wait_until(before + ' is healed and larger', lambda: len(pods(kubectl).get(before, ())) == 5, 120)
        kept[before].discard(lost['metadata']['uid'])
    now = pods(kubectl)
    for app, uids in kept.items():
        assert uids <= now[app], 'pods of %s were replaced' % app
    return now


def while_controllers_work(binary, binaries):
    folder = tempfile.mkdtemp(prefix='flyball-takeover-')
    etcd = Etcd(folder)
    place = Address(binary, binaries, folder, etcd)
    running, kept = [], {}
    try:
        server = place.serve('kube')
        for turn, (kind, controllers) in enumerate((('kube', 'kube'), ('flyball', 'kube'), ('kube', 'flyball'), ('flyball', 'flyball'))):
            if turn > 0:
                server.terminate()
                server.wait()
                server = place.serve(kind)
            running = [server, *running[1:]]
            if turn % 2 == 0:  # the controllers stay while one server takes over from another
                for process in running[1:]:
                    process.terminate()
                    process.wait()
                running = [server, place.control(controllers)]
            kept = work(place.kubectl, turn, kept)
            print('server %s, controllers %s: %s' % (kind, controllers, {app: len(uids) for app, uids in sorted(kept.items())}), flush=True)
    except BaseException:
        for name in sorted(os.listdir(folder)):
            if name.endswith('.log'):
                with open(os.path.join(folder, name)) as f:
                    print('==', name, f.read()[-3000:])
        raise
    finally:
        for process in running or [server]:
            process.kill()
        etcd.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main(binary, binaries):
    os.environ['FLYBALL_ETCD'] = os.path.join(binaries, 'etcd')
    import etcd_test
    etcd_test.ETCD = os.environ['FLYBALL_ETCD']
    good = True
    for direction in ('kube-apiserver to Flyball', 'Flyball to kube-apiserver'):
        folder = tempfile.mkdtemp(prefix='flyball-takeover-')
        etcd = Etcd(folder)
        running = []
        try:
            def start(kind, name):
                place = os.path.join(folder, name)
                server = KubeApiserver(binaries, place, etcd) if kind == 'kube' else Flyball(binary, binaries, place, etcd)
                running.append(server)
                return server

            first, second = ('kube', 'flyball') if direction.startswith('kube') else ('flyball', 'kube')
            server = start(first, 'first')
            fill(server.kubectl)
            before = dump(server.kubectl)
            server.stop()
            server = start(second, 'second')
            wait_until('toys are served', lambda: server.kubectl.run('get', 'toys', check=False).returncode == 0)
            good &= compare(before, dump(server.kubectl), direction)
        finally:
            for server in running:
                try:
                    server.stop()
                except Exception as e:
                    print(e)
            etcd.stop()
            shutil.rmtree(folder, ignore_errors=True)
    while_controllers_work(binary, binaries)
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main(*sys.argv[1:])
