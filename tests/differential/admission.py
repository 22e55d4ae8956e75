"""Requests that admission plugins change, refuse or warn about."""

MERGE = 'application/merge-patch+json'
CONTAINER = {'name': 'c', 'image': 'i'}


def pod(name='p', container=None, metadata=None, **spec):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, **(metadata or {})}, 'spec': {'containers': [{**CONTAINER, **(container or {})}], **spec}}


def resources(requests=None, limits=None):
    return {'resources': {k: v for k, v in (('requests', requests), ('limits', limits)) if v is not None}}


AMOUNTS = [None, resources(), resources({'cpu': '1'}), resources({'cpu': '3'}), resources({'cpu': '1m'}, {'cpu': '2'}), resources({'memory': '1Gi'}, {'memory': '2Gi'}),
           resources({'cpu': '1', 'memory': '1Gi'}, {'cpu': '1', 'memory': '1Gi'}), resources(None, {'cpu': '1'}), resources(None, {'memory': '64Mi', 'cpu': '100m'}),
           resources({'cpu': '100m', 'memory': '10Mi', 'ephemeral-storage': '1Gi'}, {'cpu': '500m', 'memory': '100Mi', 'ephemeral-storage': '4Gi'}),
           resources({'cpu': '10'}, {'cpu': '20'}), resources({'example.com/x': '1'}, {'example.com/x': '1'}), resources({'hugepages-2Mi': '2Mi', 'cpu': '1'}, {'hugepages-2Mi': '2Mi', 'cpu': '1'})]


def claim(storage='1Gi', **spec):
    return {'metadata': {'name': 'pvc'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': storage}}, **spec}}


def service(**spec):
    return {'metadata': {'name': 's'}, 'spec': {'ports': [{'port': 80}], **spec}}


QUOTAS = [{'pods': '0'}, {'pods': '1', 'requests.cpu': '2'}, {'cpu': '2', 'memory': '1Gi'}, {'limits.cpu': '1', 'limits.memory': '1Gi'}, {'requests.cpu': '1', 'limits.cpu': '1', 'requests.memory': '1', 'limits.memory': '1'},
          {'count/pods': '0'}, {'configmaps': '0'}, {'count/configmaps': '0', 'configmaps': '5'}, {'services': '0'}, {'services.loadbalancers': '0', 'services.nodeports': '0'}, {'services.nodeports': '1'},
          {'persistentvolumeclaims': '0'}, {'requests.storage': '1Gi'}, {'gold.storageclass.storage.k8s.io/requests.storage': '1Mi', 'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '0'},
          {'count/deployments.apps': '0'}, {'requests.example.com/x': '0'}, {'ephemeral-storage': '1Mi'}, {'secrets': '0', 'replicationcontrollers': '0', 'resourcequotas': '1'}, {'hugepages-2Mi': '1Mi'},
          {'count/leases.coordination.k8s.io': '0', 'count/jobs.batch': '0'}, {'count/resourceclaims.resource.k8s.io': '0'}]
SCOPES = [{'scopes': ['BestEffort']}, {'scopes': ['NotBestEffort']}, {'scopes': ['Terminating']}, {'scopes': ['NotTerminating']}, {'scopes': ['CrossNamespacePodAffinity']},
          {'scopes': ['PriorityClass']}, {'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'In', 'values': ['system-node-critical']}]}},
          {'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'In', 'values': ['x']}]}}]


def tried(base):
    """Creates that count towards quotas and limits."""
    for amount in AMOUNTS:
        yield 'POST', base + '/pods?dryRun=All', pod(container=amount), None
    yield 'POST', base + '/pods?dryRun=All', pod(container=AMOUNTS[6], initContainers=[{'name': 'i', 'image': 'i', **resources({'cpu': '4'}, {'cpu': '4'})}], overhead={'cpu': '1'}), None
    yield 'POST', base + '/pods?dryRun=All', pod(container=AMOUNTS[6], initContainers=[{'name': 'i', 'image': 'i', 'restartPolicy': 'Always', **resources({'cpu': '4'}, {'cpu': '4'})}]), None
    yield 'POST', base + '/pods?dryRun=All', pod(resources={'requests': {'cpu': '3'}, 'limits': {'cpu': '4', 'memory': '2Gi'}}), None
    yield 'POST', base + '/pods?dryRun=All', pod(activeDeadlineSeconds=5, priorityClassName='system-node-critical'), None
    yield 'POST', base + '/pods?dryRun=All', pod(affinity={'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [{'topologyKey': 'k', 'namespaces': ['x'], 'labelSelector': {}}]}}), None
    yield 'POST', base + '/configmaps?dryRun=All', {'metadata': {'name': 'c'}}, None
    yield 'POST', base + '/secrets?dryRun=All', {'metadata': {'name': 'c'}}, None
    for spec in ({}, {'type': 'NodePort'}, {'type': 'LoadBalancer'}, {'type': 'LoadBalancer', 'allocateLoadBalancerNodePorts': False}, {'type': 'ExternalName', 'externalName': 'x'}):
        yield 'POST', base + '/services?dryRun=All', service(**spec), None
    for more in ({}, {'storageClassName': 'gold'}, {'storageClassName': ''}, {'storage': '2Gi'}, {'storage': '1Mi', 'storageClassName': 'gold'}, {'volumeAttributesClassName': 'x'}):
        yield 'POST', base + '/persistentvolumeclaims?dryRun=All', claim(**more), None
    template = {'metadata': {'labels': {'a': 'b'}}, 'spec': pod()['spec']}
    yield 'POST', base.replace('/api/v1', '/apis/apps/v1') + '/deployments?dryRun=All', {'metadata': {'name': 'd'}, 'spec': {'selector': {'matchLabels': {'a': 'b'}}, 'template': template}}, None
    yield 'POST', base.replace('/api/v1', '/apis/batch/v1') + '/jobs?dryRun=All', {'metadata': {'name': 'd'}, 'spec': {'template': {'spec': {**pod()['spec'], 'restartPolicy': 'Never'}}}}, None
    yield 'POST', base.replace('/api/v1', '/apis/coordination.k8s.io/v1') + '/leases?dryRun=All', {'metadata': {'name': 'd'}}, None
    yield 'POST', base.replace('/api/v1', '/apis/resource.k8s.io/v1') + '/resourceclaims?dryRun=All', {'metadata': {'name': 'd'}, 'spec': {'devices': {'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'c'}}]}}}, None


def quotas(base):
    """Each quota alone: made, its status written as the controller would, used, and removed."""
    place = base + '/resourcequotas'
    for spec in [{'hard': hard} for hard in QUOTAS] + [{'hard': {'pods': '0'}, **scope} for scope in SCOPES]:
        yield 'POST', place, {'metadata': {'name': 'q'}, 'spec': spec}, None
        yield 'PATCH', place + '/q/status', {'status': {'hard': spec['hard'], 'used': {k: '0' for k in spec['hard']}}}, {'Content-Type': MERGE}
        yield from tried(base)
        yield 'GET', place + '/q', None, None
        yield 'DELETE', place + '/q', None, None
    yield 'POST', place, {'metadata': {'name': 'nostatus'}, 'spec': {'hard': {'configmaps': '5', 'limits.cpu': '1'}}}, None
    yield 'POST', base + '/configmaps?dryRun=All', {'metadata': {'name': 'c'}}, None
    yield 'POST', base + '/pods?dryRun=All', pod(), None
    yield 'DELETE', place + '/nostatus', None, None


LIMITS = [{'type': 'Container', 'max': {'cpu': '2', 'memory': '1Gi'}}, {'type': 'Container', 'min': {'cpu': '100m', 'memory': '64Mi'}}, {'type': 'Container', 'default': {'cpu': '1'}, 'defaultRequest': {'cpu': '500m', 'memory': '1Mi'}},
          {'type': 'Container', 'maxLimitRequestRatio': {'cpu': '2', 'memory': '1500m'}}, {'type': 'Container', 'max': {'cpu': '500m'}, 'default': {'cpu': '200m'}, 'min': {'cpu': '50m'}},
          {'type': 'Pod', 'max': {'cpu': '2'}, 'min': {'memory': '128Mi'}}, {'type': 'Pod', 'maxLimitRequestRatio': {'cpu': '1'}}, {'type': 'PersistentVolumeClaim', 'min': {'storage': '2Mi'}, 'max': {'storage': '1536Mi'}},
          {'type': 'Container', 'max': {'ephemeral-storage': '1Gi', 'example.com/x': '0', 'hugepages-2Mi': '1Mi'}}]


def limits(base):
    place = base + '/limitranges'
    for limit in LIMITS:
        yield 'POST', place, {'metadata': {'name': 'l'}, 'spec': {'limits': [limit]}}, None
        yield from tried(base)
        yield 'DELETE', place + '/l', None, None
    yield 'POST', place, {'metadata': {'name': 'l'}, 'spec': {'limits': [LIMITS[0], LIMITS[1], LIMITS[5]]}}, None
    yield from tried(base)
    yield 'DELETE', place + '/l', None, None


SECURE = {'allowPrivilegeEscalation': False, 'runAsNonRoot': True, 'capabilities': {'drop': ['ALL']}, 'seccompProfile': {'type': 'RuntimeDefault'}}
UNSAFE = [{}, {'hostNetwork': True}, {'hostPID': True, 'hostIPC': True}, {'volumes': [{'name': 'v', 'hostPath': {'path': '/x'}}, {'name': 'w', 'hostPath': {'path': '/y'}}]},
          {'volumes': [{'name': 'v', 'nfs': {'server': 's', 'path': '/x'}}, {'name': 'w', 'emptyDir': {}}]}, {'hostUsers': False}, {'os': {'name': 'windows'}},
          {'securityContext': {'runAsUser': 0}}, {'securityContext': {'runAsNonRoot': True, 'seccompProfile': {'type': 'RuntimeDefault'}}}, {'securityContext': {'runAsNonRoot': False}},
          {'securityContext': {'sysctls': [{'name': 'kernel.msgmax', 'value': '1'}, {'name': 'net.ipv4.tcp_syncookies', 'value': '1'}]}}, {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}},
          {'securityContext': {'appArmorProfile': {'type': 'Unconfined'}}}, {'securityContext': {'seLinuxOptions': {'type': 'bad', 'user': 'u', 'role': 'r'}}}, {'securityContext': {'seLinuxOptions': {'type': 'container_t'}}},
          {'securityContext': {'windowsOptions': {'hostProcess': True}}, 'hostNetwork': True},
          {'initContainers': [{'name': 'i1', 'image': 'i'}, {'name': 'i2', 'image': 'i', 'securityContext': {'privileged': True}}]}]
UNSAFE_CONTAINERS = [{'securityContext': s} for s in ({'privileged': True}, {'capabilities': {'add': ['NET_ADMIN', 'CHOWN', 'SYS_TIME']}}, {'capabilities': {'drop': ['ALL'], 'add': ['NET_BIND_SERVICE']}}, {'allowPrivilegeEscalation': True},
                     {'procMount': 'Unmasked'}, {'runAsUser': 0}, {'runAsNonRoot': True}, {'seccompProfile': {'type': 'Localhost', 'localhostProfile': 'x'}}, {'seccompProfile': {'type': 'Unconfined'}},
                     {'appArmorProfile': {'type': 'Unconfined'}}, SECURE, {**SECURE, 'runAsUser': 0}, {**SECURE, 'privileged': True, 'allowPrivilegeEscalation': True}, {'seLinuxOptions': {'type': 'x'}})] + [
    {'ports': [{'containerPort': 80, 'hostPort': 80}, {'containerPort': 81, 'hostPort': 8081}]}, {'livenessProbe': {'httpGet': {'port': 80, 'host': 'x'}}}, {'lifecycle': {'postStart': {'tcpSocket': {'port': 80, 'host': 'x'}}}}]
LEVELS = [{'enforce': 'baseline'}, {'enforce': 'restricted'}, {'warn': 'restricted', 'audit': 'restricted'}, {'enforce': 'baseline', 'warn': 'restricted'}, {'enforce': 'restricted', 'enforce-version': 'v1.0'},
          {'enforce': 'restricted', 'enforce-version': 'v1.24', 'warn': 'baseline', 'warn-version': 'v1.10'}, {'enforce': 'privileged', 'warn': 'baseline'}]
WRONG_LEVELS = [{'enforce': 'x'}, {'enforce-version': 'x'}, {'enforce': 'baseline', 'enforce-version': 'v2'}, {'warn': ''}, {'audit': 'Baseline', 'warn-version': 'v1.99'}, {'nope': 'baseline'}]


def labels(level):
    return {'pod-security.kubernetes.io/' + k: v for k, v in level.items()}


def security(prefix):
    for number, level in enumerate(LEVELS):
        name = '%s-%d' % (prefix, number)
        base = '/api/v1/namespaces/' + name
        yield 'POST', '/api/v1/namespaces', {'metadata': {'name': name, 'labels': labels(level)}}, None
        yield 'POST', base + '/serviceaccounts', {'metadata': {'name': 'default'}}, None
        for spec in UNSAFE:
            yield 'POST', base + '/pods?dryRun=All', pod(**spec), None
            yield 'POST', base + '/pods?dryRun=All', pod(container={'securityContext': SECURE}, **spec), None
            template = {'metadata': {'labels': {'a': 'b'}}, 'spec': pod(**spec)['spec']}
            yield 'POST', base.replace('/api/v1', '/apis/apps/v1') + '/deployments?dryRun=All', {'metadata': {'name': 'd'}, 'spec': {'selector': {'matchLabels': {'a': 'b'}}, 'template': template}}, None
        for container in UNSAFE_CONTAINERS:
            yield 'POST', base + '/pods?dryRun=All', pod(container=container), None
            yield 'POST', base + '/pods?dryRun=All', pod(container=container, initContainers=[{'name': 'd', 'image': 'i', **container}]), None
        yield 'POST', base + '/pods?dryRun=All', pod(metadata={'annotations': {'container.apparmor.security.beta.kubernetes.io/c': 'unconfined', 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined'}}), None
    base = '/api/v1/namespaces/%s-0' % prefix
    yield 'POST', base + '/pods', pod('stays'), None
    for level in LEVELS + WRONG_LEVELS:
        yield 'PATCH', base + '?dryRun=All', {'metadata': {'labels': {**labels({'enforce': None, 'enforce-version': None}), **labels(level)}}}, {'Content-Type': MERGE}
        yield 'POST', '/api/v1/namespaces?dryRun=All', {'metadata': {'name': 'never', 'labels': labels(level)}}, None
    yield 'PATCH', base + '/pods/stays/ephemeralcontainers?dryRun=All', {'spec': {'ephemeralContainers': [{'name': 'e', 'image': 'i', 'securityContext': {'privileged': True}}]}}, {'Content-Type': 'application/strategic-merge-patch+json'}
    yield 'PATCH', base + '/pods/stays?dryRun=All', {'metadata': {'labels': {'a': 'b'}}}, {'Content-Type': MERGE}


def others(namespace):
    """Service accounts, priorities, runtime classes, storage, ingress classes, namespaces, nodes, certificates."""
    base = '/api/v1/namespaces/' + namespace
    for account in ('nope', '', 'default', 'Bad Name'):
        yield 'POST', base + '/pods?dryRun=All', pod(serviceAccountName=account), None
        yield 'POST', base + '/pods?dryRun=All', pod(serviceAccount=account, automountServiceAccountToken=False), None
    yield 'POST', base + '/serviceaccounts', {'metadata': {'name': 'careful', 'annotations': {'kubernetes.io/enforce-mountable-secrets': 'true'}}, 'secrets': [{'name': 'known'}], 'imagePullSecrets': [{'name': 'pull'}]}, None
    yield 'POST', base + '/serviceaccounts', {'metadata': {'name': 'silent'}, 'automountServiceAccountToken': False, 'imagePullSecrets': [{'name': 'b'}, {'name': 'a'}]}, None
    for account in ('careful', 'silent'):
        for more in ({}, {'volumes': [{'name': 'v', 'secret': {'secretName': 'other'}}]}, {'volumes': [{'name': 'v', 'secret': {'secretName': 'known'}}]}, {'imagePullSecrets': [{'name': 'x'}]}, {'automountServiceAccountToken': True},
                     {'containers': [{**CONTAINER, 'env': [{'name': 'E', 'valueFrom': {'secretKeyRef': {'name': 'other', 'key': 'k'}}}]}]}, {'containers': [{**CONTAINER, 'envFrom': [{'secretRef': {'name': 'other'}}]}]},
                     {'containers': [{**CONTAINER, 'volumeMounts': [{'name': 'v', 'mountPath': '/var/run/secrets/kubernetes.io/serviceaccount'}]}], 'volumes': [{'name': 'v', 'emptyDir': {}}]},
                     {'initContainers': [{'name': 'i', 'image': 'i'}], 'ephemeralContainers': []}):
            yield 'POST', base + '/pods?dryRun=All', {**pod(), 'spec': {**pod()['spec'], 'serviceAccountName': account, **more}}, None
    mirror = {'annotations': {'kubernetes.io/config.mirror': 'x'}}
    for more in ({}, {'serviceAccountName': 'default'}, {'nodeName': 'n'}, {'nodeName': 'n', 'volumes': [{'name': 'v', 'secret': {'secretName': 'x'}}]}, {'nodeName': 'n', 'serviceAccountName': 'default'}):
        yield 'POST', base + '/pods?dryRun=All', pod(metadata=mirror, **more), None
    scheduling = '/apis/scheduling.k8s.io/v1/priorityclasses'
    for thing in ({'metadata': {'name': 'pc-a'}, 'value': 10}, {'metadata': {'name': 'pc-global'}, 'value': 5, 'globalDefault': True}, {'metadata': {'name': 'pc-global2'}, 'value': 6, 'globalDefault': True},
                  {'metadata': {'name': 'pc-never'}, 'value': -10, 'preemptionPolicy': 'Never'}, {'metadata': {'name': 'system-x'}, 'value': 1}, {'metadata': {'name': 'pc-high'}, 'value': 2000000000}):
        yield 'POST', scheduling, thing, None
    for name in ('pc-a', 'pc-global', 'pc-never', 'nope', 'system-node-critical', 'system-cluster-critical', '', None):
        for more in ({}, {'priority': 10}, {'preemptionPolicy': 'Never'}, {'preemptionPolicy': 'PreemptLowerPriority'}):
            yield 'POST', base + '/pods?dryRun=All', pod(priorityClassName=name, **more), None
    for name in ('system-node-critical', 'pc-a'):
        yield 'PATCH', scheduling + '/' + name, {'value': 7}, {'Content-Type': MERGE}
        yield 'PATCH', scheduling + '/' + name, {'globalDefault': True, 'description': 'd'}, {'Content-Type': MERGE}
    for name in ('system-node-critical', 'pc-global', 'pc-a', 'pc-never'):
        yield 'DELETE', scheduling + '/' + name + ('?dryRun=All' if name.startswith('system') else ''), None, None
    classes = '/apis/node.k8s.io/v1/runtimeclasses'
    yield 'POST', classes, {'metadata': {'name': 'rc'}, 'handler': 'h', 'overhead': {'podFixed': {'cpu': '100m', 'memory': '1Mi'}},
                            'scheduling': {'nodeSelector': {'a': 'b'}, 'tolerations': [{'key': 'k', 'operator': 'Exists'}]}}, None
    for name in ('rc', 'nope', '', None):
        for more in ({}, {'overhead': {'cpu': '1'}}, {'overhead': {'cpu': '100m', 'memory': '1Mi'}}, {'nodeSelector': {'a': 'c'}}, {'nodeSelector': {'x': 'y'}, 'tolerations': [{'key': 'k', 'operator': 'Exists'}, {'key': 'z', 'operator': 'Exists'}]}):
            yield 'POST', base + '/pods?dryRun=All', pod(runtimeClassName=name, **more), None
    yield 'DELETE', classes + '/rc', None, None
    storage = '/apis/storage.k8s.io/v1/storageclasses'
    default = {'annotations': {'storageclass.kubernetes.io/is-default-class': 'true'}}
    for name, more in (('sc-a', {}), ('sc-default', default)):
        yield 'POST', storage, {'metadata': {'name': name, **more}, 'provisioner': 'p', 'allowVolumeExpansion': name == 'sc-default'}, None
    for more in ({}, {'storageClassName': ''}, {'storageClassName': 'sc-a'}, {'storageClassName': 'nope'}, {'volumeName': 'v'}):
        yield 'POST', base + '/persistentvolumeclaims?dryRun=All', claim(**more), None
    yield 'POST', base + '/persistentvolumeclaims?dryRun=All', {**claim(), 'metadata': {'name': 'pvc', 'annotations': {'volume.beta.kubernetes.io/storage-class': 'sc-a'}}}, None
    for name in ('sc-a', 'sc-default'):
        yield 'POST', base + '/persistentvolumeclaims', {**claim(storageClassName=name, volumeName='v'), 'metadata': {'name': name}}, None
        yield 'PATCH', base + '/persistentvolumeclaims/%s/status' % name, {'status': {'phase': 'Bound', 'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteOnce']}}, {'Content-Type': MERGE}
        for size in ('2Gi', '512Mi', '1Gi'):
            yield 'PATCH', base + '/persistentvolumeclaims/%s?dryRun=All' % name, {'spec': {'resources': {'requests': {'storage': size}}}}, {'Content-Type': MERGE}
        yield 'DELETE', base + '/persistentvolumeclaims/' + name, None, None
        yield 'GET', base + '/persistentvolumeclaims/' + name, None, None
        yield 'PATCH', base + '/persistentvolumeclaims/' + name, {'metadata': {'finalizers': None}}, {'Content-Type': MERGE}
        yield 'DELETE', storage + '/' + name, None, None
    volume = {'metadata': {'name': 'adm-pv', 'labels': {'topology.kubernetes.io/zone': 'z'}}, 'spec': {'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteOnce'], 'hostPath': {'path': '/x'}}}
    yield 'POST', '/api/v1/persistentvolumes', volume, None
    yield 'DELETE', '/api/v1/persistentvolumes/adm-pv', None, None
    yield 'PATCH', '/api/v1/persistentvolumes/adm-pv', {'metadata': {'finalizers': None}}, {'Content-Type': MERGE}
    ingress = {'metadata': {'name': 'i'}, 'spec': {'defaultBackend': {'service': {'name': 's', 'port': {'number': 80}}}}}
    places, ingresses = '/apis/networking.k8s.io/v1/ingressclasses', '/apis/networking.k8s.io/v1/namespaces/%s/ingresses?dryRun=All' % namespace
    for name in ('ic-a', 'ic-b'):
        yield 'POST', places, {'metadata': {'name': name, 'annotations': {'ingressclass.kubernetes.io/is-default-class': 'true'}}, 'spec': {'controller': 'a.b/c'}}, None
        yield 'POST', ingresses, ingress, None
        yield 'POST', ingresses, {**ingress, 'spec': {**ingress['spec'], 'ingressClassName': 'other'}}, None
        yield 'POST', ingresses, {**ingress, 'metadata': {'name': 'i', 'annotations': {'kubernetes.io/ingress.class': 'x'}}}, None
    for name in ('ic-a', 'ic-b'):
        yield 'DELETE', places + '/' + name, None, None
    for name in ('default', 'kube-system', 'kube-public', 'kube-node-lease'):
        yield 'DELETE', '/api/v1/namespaces/%s?dryRun=All' % name, None, None
    gone = namespace + '-gone'
    yield 'POST', '/api/v1/namespaces/%s/configmaps' % gone, {'metadata': {'name': 'c'}}, None
    yield 'GET', '/api/v1/namespaces/%s/configmaps' % gone, None, None
    yield 'PUT', '/api/v1/namespaces/%s/configmaps/x' % gone, {'metadata': {'name': 'x'}}, None
    yield 'PATCH', '/api/v1/namespaces/%s/configmaps/x?fieldManager=x' % gone, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x'}}, {'Content-Type': 'application/apply-patch+yaml'}
    yield 'POST', '/api/v1/namespaces', {'metadata': {'name': gone}}, None
    yield 'POST', '/api/v1/namespaces/%s/configmaps' % gone, {'metadata': {'name': 'kept', 'finalizers': ['a/b']}}, None
    yield 'DELETE', '/api/v1/namespaces/' + gone, None, None
    yield 'DELETE', '/api/v1/namespaces/' + gone, None, None
    yield 'POST', '/api/v1/namespaces/%s/configmaps' % gone, {'metadata': {'name': 'c'}}, None
    yield 'POST', '/api/v1/namespaces/%s/configmaps' % gone, {'metadata': {'generateName': 'c-'}}, None
    yield 'PATCH', '/api/v1/namespaces/%s/configmaps/kept' % gone, {'data': {'a': 'b'}}, {'Content-Type': MERGE}
    yield 'PATCH', '/api/v1/namespaces/' + gone, {'spec': {'finalizers': []}}, {'Content-Type': MERGE}
    yield 'GET', '/api/v1/namespaces/' + gone, None, None
    yield 'PUT', '/api/v1/namespaces/%s/finalize' % gone, {'metadata': {'name': gone}, 'spec': {'finalizers': []}}, None
    yield 'GET', '/api/v1/namespaces/' + gone, None, None
    signing = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    yield 'GET', signing, None, None


def nodes(namespace):
    """What a node's own credentials may change."""
    base = '/api/v1/namespaces/' + namespace
    node = {'Impersonate-User': 'system:node:n1', 'Impersonate-Group': 'system:nodes'}
    yield 'POST', '/api/v1/nodes', {'metadata': {'name': 'n1'}}, None
    yield 'POST', '/api/v1/nodes', {'metadata': {'name': 'n2'}}, None
    yield 'POST', base + '/pods', pod('mine', nodeName='n1', volumes=[{'name': 'v', 'secret': {'secretName': 'mine'}}]), None
    yield 'POST', base + '/pods', pod('other', nodeName='n2'), None
    for name in ('mine', 'other'):
        yield 'POST', base + '/secrets', {'metadata': {'name': name}}, None
        yield 'GET', base + '/secrets/' + name, None, node
        yield 'GET', base + '/configmaps/' + name, None, node
        yield 'GET', base + '/pods/' + name, None, node
        yield 'DELETE', base + '/pods/%s?dryRun=All' % name, None, node
        yield 'PATCH', base + '/pods/%s/status?dryRun=All' % name, {'status': {'phase': 'Running'}}, {**node, 'Content-Type': MERGE}
        yield 'PATCH', base + '/pods/%s/status?dryRun=All' % name, {'metadata': {'labels': {'a': 'b'}}}, {**node, 'Content-Type': MERGE}
        yield 'PATCH', base + '/pods/%s?dryRun=All' % name, {'metadata': {'labels': {'a': 'b'}}}, {**node, 'Content-Type': MERGE}
        yield 'POST', base + '/pods/%s/eviction?dryRun=All' % name, {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': name}}, node
    yield 'GET', base + '/secrets', None, node
    yield 'GET', '/api/v1/pods', None, node
    yield 'GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', None, node
    yield 'GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn2', None, node
    yield 'POST', base + '/pods?dryRun=All', pod(), node
    yield 'POST', base + '/pods?dryRun=All', pod(metadata={'annotations': {'kubernetes.io/config.mirror': 'x'}}, nodeName='n1'), node
    yield 'POST', base + '/pods?dryRun=All', pod(metadata={'annotations': {'kubernetes.io/config.mirror': 'x'}}, nodeName='n2'), node
    yield 'POST', base + '/pods?dryRun=All', pod(metadata={'annotations': {'kubernetes.io/config.mirror': 'x'}, 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Node', 'name': 'n1', 'uid': 'x', 'controller': True}]}, nodeName='n1'), node
    for name in ('n1', 'n2', 'n3'):
        yield 'GET', '/api/v1/nodes/' + name, None, node
        yield 'POST', '/api/v1/nodes?dryRun=All', {'metadata': {'name': name + 'x'}}, node
        yield 'DELETE', '/api/v1/nodes/' + name, None, node
        for body in ({'metadata': {'labels': {'node-role.kubernetes.io/x': ''}}}, {'metadata': {'labels': {'node-restriction.kubernetes.io/x': ''}}}, {'metadata': {'labels': {'kubernetes.io/hostname': 'z', 'example.com/x': 'y'}}},
                     {'metadata': {'labels': {'foo.kubernetes.io/x': 'y'}}}, {'spec': {'taints': [{'key': 'a', 'effect': 'NoSchedule'}]}}, {'spec': {'unschedulable': True}}, {'spec': {'configSource': {}}},
                     {'metadata': {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'X', 'name': 'x', 'uid': 'u'}]}}, {'metadata': {'annotations': {'a': 'b'}}}):
            yield 'PATCH', '/api/v1/nodes/%s?dryRun=All' % name, body, {**node, 'Content-Type': MERGE}
        yield 'PATCH', '/api/v1/nodes/%s/status?dryRun=All' % name, {'status': {'phase': 'Running', 'capacity': {'cpu': '1'}}}, {**node, 'Content-Type': MERGE}
        leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
        yield 'POST', leases + '?dryRun=All', {'metadata': {'name': name}, 'spec': {'holderIdentity': name}}, node
        yield 'POST', '/apis/coordination.k8s.io/v1/namespaces/%s/leases?dryRun=All' % namespace, {'metadata': {'name': name}}, node
        yield 'POST', '/apis/storage.k8s.io/v1/csinodes?dryRun=All', {'metadata': {'name': name}, 'spec': {'drivers': []}}, node
        yield 'POST', '/apis/resource.k8s.io/v1/resourceslices?dryRun=All', {'metadata': {'name': name}, 'spec': {'nodeName': name, 'driver': 'd.x', 'pool': {'name': name, 'resourceSliceCount': 1}, 'devices': []}}, node
        yield 'POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All', {'metadata': {'name': name}, 'spec': {}}, node
        yield 'POST', base + '/serviceaccounts/default/token?dryRun=All', {'spec': {'boundObjectRef': {'apiVersion': 'v1', 'kind': 'Pod', 'name': 'mine', 'uid': name}}}, node
        yield 'POST', base + '/serviceaccounts/default/token?dryRun=All', {'spec': {}}, node
    yield 'GET', '/api/v1/nodes', None, {'Impersonate-User': 'system:node:', 'Impersonate-Group': 'system:nodes'}
    yield 'GET', '/api/v1/nodes', None, {'Impersonate-User': 'x', 'Impersonate-Group': 'system:nodes'}
    for place in (base + '/pods/mine?gracePeriodSeconds=0', base + '/pods/other?gracePeriodSeconds=0', '/api/v1/nodes/n1', '/api/v1/nodes/n2'):
        yield 'DELETE', place, None, None
