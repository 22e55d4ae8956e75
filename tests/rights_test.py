"""The controllers, the scheduler and the nodes have the rights of upstream's roles and no more (tests/attack checks that), and these
are enough: on a cluster that gives every controller work, in either form, nothing that belongs to the cluster is answered 403."""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

from cluster import Cluster
from program import Kubectl, wait_until

POD = """
      metadata: {labels: {app: %s}}
      spec:
        terminationGracePeriodSeconds: 0
        containers: [{name: c, image: i, resources: {requests: {cpu: 1m}}}]
"""
WORK = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "100"}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: each-minute}
spec:
  schedule: '* * * * *'
  jobTemplate:
    spec: {ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: ['true']}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: finished}
spec: {ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: ['true']}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
""" + POD % 'web' + """
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: 4
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 200}}}]  # simulated pods use what they request: the minimum is enough
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: manual, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  template:
""" + POD % 'db' + """
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
""" + POD % 'agent' + """
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 1
  selector: {app: old}
  template:
""" + POD % 'old' + """
---
apiVersion: v1
kind: Service
metadata: {name: elsewhere}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: elsewhere}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]
"""
CLUSTER_WORK = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: manual}
provisioner: kubernetes.io/no-provisioner
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: fast}
driverName: example.com
parameters: {tier: gold}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-0}
spec: {storageClassName: manual, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/disk-0}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-1}
spec: {storageClassName: manual, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/disk-1}}
---
apiVersion: networking.k8s.io/v1
kind: ServiceCIDR
metadata: {name: more}
spec: {cidrs: [10.200.0.0/24]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all-of-them}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part: "yes"}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: one-of-them, labels: {part: "yes"}}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: storagemigration.k8s.io/v1
kind: StorageVersionMigration
metadata: {name: quotas}
spec: {resource: {group: '', resource: resourcequotas}}
"""


class Checks:
    def __init__(self, cluster):
        self.cluster, self.kubectl = cluster, Kubectl(cluster.kubeconfig)

    def eventually(self, what, path, want, *flags):
        return wait_until('%s has %s=%s' % (what, path, want),
                          lambda: self.kubectl('get', *what.split(), *flags, '-o', 'jsonpath={%s}' % path) == want, 90)

    def gone(self, *what):
        wait_until('%s is gone' % ' '.join(what), lambda: not self.kubectl('get', *what, '--ignore-not-found'), 90)

    def refused(self):
        """The series of /metrics that count requests answered 403."""
        lines = self.kubectl('get', '--raw', '/metrics').splitlines()
        return [line for line in lines if line.startswith('apiserver_request_total{') and 'code="403"' in line]


def everything_runs(checks):
    checks.kubectl('create', 'namespace', 'busy')
    checks.kubectl('apply', '-f', '-', stdin=CLUSTER_WORK)
    checks.kubectl('apply', '-n', 'busy', '-f', '-', stdin=WORK)
    in_busy = ('-n', 'busy')
    checks.eventually('deployment web', '.status.readyReplicas', '4', *in_busy)  # the autoscaler's minimum
    checks.eventually('statefulset db', '.status.readyReplicas', '2', *in_busy)
    checks.eventually('daemonset agent', '.status.numberReady', '1', *in_busy)
    checks.eventually('rc old', '.status.readyReplicas', '1', *in_busy)
    checks.eventually('pdb web', '.status.currentHealthy', '4', *in_busy)
    checks.eventually('pvc data-db-0', '.status.phase', 'Bound', *in_busy)
    checks.eventually('endpointslices -l kubernetes.io/service-name=elsewhere', '.items[0].endpoints[0].addresses[0]', '192.0.2.1', *in_busy)
    checks.eventually('resourcequota quota', '.status.used.pods', '8', *in_busy)
    checks.eventually('clusterrole all-of-them', '.rules[0].resources[0]', 'pods')
    checks.eventually('storageversionmigration quotas', '.status.conditions[?(@.type=="Succeeded")].status', 'True')
    checks.gone('job', 'finished', *in_busy)


def everything_changes(checks):
    in_busy = ('-n', 'busy')
    checks.kubectl('set', 'image', 'deployment/web', '*=i:2', *in_busy)
    checks.kubectl('set', 'image', 'statefulset/db', '*=i:2', *in_busy)
    checks.kubectl('set', 'image', 'daemonset/agent', '*=i:2', *in_busy)
    for what in ('deployment/web', 'statefulset/db', 'daemonset/agent'):
        checks.kubectl('rollout', 'status', what, '--timeout=90s', *in_busy, timeout=120)
    checks.kubectl('scale', 'statefulset/db', '--replicas=1', *in_busy)
    checks.gone('pvc', 'data-db-1', *in_busy)
    checks.kubectl('delete', 'replicationcontroller', 'old', '--cascade=orphan', *in_busy)
    checks.eventually('pods -l app=old', '.items[*].metadata.ownerReferences', '', *in_busy)
    checks.kubectl('delete', 'daemonset', 'agent', '--cascade=foreground', *in_busy)
    checks.kubectl('delete', 'volumeattributesclass', 'fast')
    checks.kubectl('delete', 'servicecidr', 'more')
    node = checks.kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}')
    checks.kubectl('taint', 'nodes', node, 'leave=now:NoExecute')
    checks.eventually('pdb web', '.status.currentHealthy', '0', *in_busy)
    checks.kubectl('taint', 'nodes', node, 'leave-')
    checks.eventually('pdb web', '.status.currentHealthy', '4', *in_busy)


def a_certificate_is_signed(checks, folder):
    """Only in `up`: controllers of a process of their own are given no authority here."""
    key, request = os.path.join(folder, 'key'), os.path.join(folder, 'request')
    subprocess.run(['openssl', 'req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', request, '-subj', '/CN=jane'],
                   check=True, capture_output=True)
    with open(request, 'rb') as f:
        text = base64.b64encode(f.read()).decode()
    checks.kubectl('create', '-f', '-', stdin=json.dumps({
        'apiVersion': 'certificates.k8s.io/v1', 'kind': 'CertificateSigningRequest', 'metadata': {'name': 'jane'},
        'spec': {'request': text, 'signerName': 'kubernetes.io/kube-apiserver-client', 'usages': ['client auth']}}))
    checks.kubectl('certificate', 'approve', 'jane')
    wait_until('jane has a certificate', lambda: checks.kubectl('get', 'csr', 'jane', '-o', 'jsonpath={.status.certificate}'))


def a_token_is_signed_and_expires(checks):
    """Only in `up`: these two controllers are off elsewhere, as upstream."""
    checks.kubectl('apply', '-f', '-', stdin="""
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-info, namespace: kube-public}
data: {kubeconfig: "clusters: []"}
---
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData: {token-id: abcdef, token-secret: 0123456789abcdef, usage-bootstrap-signing: "true"}
""")
    signature = ('get', 'configmap', 'cluster-info', '-n', 'kube-public', '-o', 'jsonpath={.data.jws-kubeconfig-abcdef}')
    wait_until('cluster-info is signed', lambda: checks.kubectl(*signature))
    checks.kubectl('patch', 'secret', 'bootstrap-token-abcdef', '-n', 'kube-system', '-p', '{"stringData":{"expiration":"2020-01-01T00:00:00Z"}}')
    checks.gone('secret', 'bootstrap-token-abcdef', '-n', 'kube-system')
    wait_until('the signature is gone', lambda: not checks.kubectl(*signature))


def a_minute_passes(checks):
    wait_until('the CronJob has run', lambda: checks.kubectl('get', 'cronjob', 'each-minute', '-n', 'busy', '-o',
                                                             'jsonpath={.status.lastSuccessfulTime}'), 120)


def everything_goes(checks):
    checks.kubectl('delete', 'namespace', 'busy', timeout=120)
    checks.eventually('pv disk-0', '.status.phase', 'Released')
    checks.kubectl('delete', 'pv', 'disk-0', 'disk-1')


def nothing_was_refused(checks):
    refused = checks.refused()
    assert not refused, 'refused:\n' + '\n'.join(refused)
    assert 'forbidden' not in checks.kubectl('get', 'events', '-A', '-o', 'jsonpath={.items[*].message}')
    checks.kubectl.run('create', 'configmap', 'c', '--as=nobody', check=False)
    assert len(checks.refused()) == 1, 'a refused request is not counted'


def only_what_comes_too_late_was_refused(checks):
    """Nothing can be made in a namespace that is being deleted, and what a controller sent before it knew is answered 403."""
    refused = [line for line in checks.refused() if 'verb="POST"' not in line]
    assert not refused, 'refused:\n' + '\n'.join(refused)
    said = [line for line in checks.cluster.output(whole=True).splitlines()
            if re.search('forbidden', line, re.IGNORECASE) and 'because it is being terminated' not in line]
    assert not said, 'forbidden:\n' + '\n'.join(said)


def main():
    binary, form = sys.argv[1:]
    cluster = Cluster(binary, form, runtime='sim')
    try:
        checks = Checks(cluster)
        with tempfile.TemporaryDirectory() as folder:
            everything_runs(checks)
            everything_changes(checks)
            if form == 'up':
                a_certificate_is_signed(checks, folder)
                a_token_is_signed_and_expires(checks)
            a_minute_passes(checks)
            nothing_was_refused(checks)
            everything_goes(checks)
            only_what_comes_too_late_was_refused(checks)
    except BaseException:
        print(cluster.output())
        raise
    finally:
        cluster.close()


if __name__ == '__main__':
    main()
