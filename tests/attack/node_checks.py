"""What a node's credentials are good for: itself and the pods it runs (the Node authorizer and NodeRestriction)."""
from certificate_requests import CSR_NODE, CSR_OTHER_NODE
from cluster_client import node, expect

CORE = '/api/v1/namespaces/'
NODES = '/api/v1/nodes'
LEASES = '/apis/coordination.k8s.io/v1/namespaces/%s/leases'
CSI_NODES = '/apis/storage.k8s.io/v1/csinodes'
CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
# Fixed: certificate requests name them.
MINE, THEIRS = 'attack-node-a', 'attack-node-b'
ME = node(MINE)


def nodes(arena):
    """Both nodes; returns the UID of the first."""
    for name in (MINE, THEIRS):
        arena.object(NODES, {'metadata': {'name': name}})
    arena.cluster.make('/api/v1/namespaces', {'metadata': {'name': 'kube-node-lease'}})
    return expect(arena.cluster.get(NODES + '/' + MINE), 200).json['metadata']['uid']


def pod(arena, space, name, on, **spec):
    """A pod on a node; returns its UID. Nobody runs it."""
    body = {'metadata': {'name': name}, 'spec': {'nodeName': on, 'containers': [{'name': 'c', 'image': 'i'}], **spec}}
    return expect(arena.cluster.post(CORE + space + '/pods', body), 201).json['metadata']['uid']


def needs_restriction(arena):
    """Skips where the plugin is off, which it is unless asked for: then a node may make other nodes."""
    reply = arena.cluster.post(NODES + '?dryRun=All', {'metadata': {'name': arena.id}}, who=ME)
    if reply.status == 201:
        arena.skip('the server runs without --enable-admission-plugins=NodeRestriction')


def check_node_reads_what_its_pods_need(arena):
    """A node reads Secrets and ConfigMaps that its pods refer to, one at a time, and nothing else (403)."""
    cluster, space = arena.cluster, arena.namespace()
    nodes(arena)
    for name in ('used', 'unused'):
        cluster.make(CORE + space + '/secrets', {'metadata': {'name': name}})
        cluster.make(CORE + space + '/configmaps', {'metadata': {'name': name}})
    pod(arena, space, 'p', MINE, imagePullSecrets=[{'name': 'used'}])
    pod(arena, space, 'q', MINE, volumes=[{'name': 'v', 'configMap': {'name': 'used'}}])
    arena.eventually(lambda: expect(cluster.get(CORE + space + '/secrets/used', who=ME), 200))
    arena.eventually(lambda: expect(cluster.get(CORE + space + '/configmaps/used', who=ME), 200))
    for kind in ('/secrets', '/configmaps'):
        expect(cluster.get(CORE + space + kind + '/unused', who=ME), 403)
        expect(cluster.get(CORE + space + kind + '/used', who=node(THEIRS)), 403)
        expect(cluster.get(CORE + space + kind, who=ME), 403)
        expect(cluster.get('/api/v1' + kind, who=ME), 403)
        expect(cluster.delete(CORE + space + kind + '/used', who=ME), 403)


def check_node_reads_its_own_pods_and_node(arena):
    """A node lists pods by spec.nodeName=itself and Nodes by its own name only (403)."""
    cluster, space = arena.cluster, arena.namespace()
    nodes(arena)
    pod(arena, space, 'mine', MINE)
    pod(arena, space, 'theirs', THEIRS)
    expect(cluster.get('/api/v1/pods?fieldSelector=spec.nodeName%3D' + MINE, who=ME), 200)
    for query in ('', '?fieldSelector=spec.nodeName%3D' + THEIRS, '?fieldSelector=spec.nodeName%21%3D' + MINE,
                  '?fieldSelector=status.phase%3DRunning', '?labelSelector=spec.nodeName%3D' + MINE):
        expect(cluster.get('/api/v1/pods' + query, who=ME), 403)
    arena.eventually(lambda: expect(cluster.get(CORE + space + '/pods/mine', who=ME), 200))
    expect(cluster.get(CORE + space + '/pods/theirs', who=ME), 403)
    expect(cluster.get(NODES + '/' + MINE, who=ME), 200)
    expect(cluster.get(NODES + '?fieldSelector=metadata.name%3D' + MINE, who=ME), 200)
    expect(cluster.get(NODES, who=ME), 403)
    expect(cluster.get(NODES + '/' + THEIRS, who=ME), 403)
    expect(cluster.get(NODES + '/' + THEIRS + '/proxy/', who=ME), 403)
    for action in ('exec', 'attach', 'portforward', 'binding'):
        expect(cluster.post(CORE + space + '/pods/mine/' + action, {}, who=ME), 403)


def check_node_leases_and_csinodes(arena):
    """Leases in kube-node-lease and CSINodes of the node's own name only (403)."""
    cluster = arena.cluster
    nodes(arena)
    own, elsewhere = LEASES % 'kube-node-lease', LEASES % 'kube-system'
    for method in ('GET', 'DELETE'):
        expect(cluster.send(method, own + '/' + THEIRS, who=ME), 403)
        expect(cluster.send(method, elsewhere + '/' + MINE, who=ME), 403)
        expect(cluster.send(method, CSI_NODES + '/' + THEIRS, who=ME), 403)
    expect(cluster.put(own + '/' + THEIRS, {'metadata': {'name': THEIRS}}, who=ME), 403)
    expect(cluster.post(elsewhere, {'metadata': {'name': MINE}}, who=ME), 403)
    expect(cluster.get(own, who=ME), 403)
    expect(cluster.get(CSI_NODES, who=ME), 403)


def check_node_without_its_group(arena):
    """The name alone makes no node, nor does the group (403)."""
    from cluster_client import Identity
    # Without any group, whoever may impersonate nodes gets a whole node since v1.36 (constrained impersonation).
    expect(arena.cluster.get(NODES + '/' + MINE, who=Identity('system:node:' + MINE, ['system:authenticated'])), 403)
    expect(arena.cluster.get(NODES + '/' + MINE, who=Identity(MINE, ['system:nodes'])), 403)
    expect(arena.cluster.get(NODES, who=Identity('system:node:', ['system:nodes'])), 403)


def check_noderestriction_mirror_pods(arena):
    """A node makes mirror pods alone: of itself, owned by itself, and without reference to any object (403)."""
    cluster, space = arena.cluster, arena.namespace()
    uid = nodes(arena)
    needs_restriction(arena)
    cluster.make(CORE + space + '/secrets', {'metadata': {'name': 's'}})
    owner = {'apiVersion': 'v1', 'kind': 'Node', 'name': MINE, 'uid': uid, 'controller': True}

    def make(owners=(owner,), mirror=True, on=MINE, container=None, **spec):
        annotations = {'kubernetes.io/config.mirror': 'x'} if mirror else {}
        return cluster.post(CORE + space + '/pods?dryRun=All', {
            'metadata': {'name': 'm', 'annotations': annotations, 'ownerReferences': list(owners)},
            'spec': {'nodeName': on, 'containers': [{'name': 'c', 'image': 'i', **(container or {})}], **spec}}, who=ME)
    arena.eventually(lambda: expect(make(), 201))
    expect(make(mirror=False), 403, message='can only create mirror pods')
    expect(make(on=THEIRS), 403, message='spec.nodeName set to itself')
    expect(make(owners=[]), 403, message='an owner reference set to itself')
    expect(make(owners=[{**owner, 'name': THEIRS}]), 403, message='an owner reference set to itself')
    expect(make(owners=[{**owner, 'controller': False}]), 403, message='a controller owner reference')
    expect(make(owners=[{**owner, 'blockOwnerDeletion': True}]), 403, message='blockOwnerDeletion')
    expect(make(owners=[{**owner, 'uid': 'other'}]), 403, message='UID mismatch')
    # The ServiceAccount plugin comes first and has words of its own for some.
    refers = 'reference'
    for volume in ({'secret': {'secretName': 's'}}, {'configMap': {'name': 's'}},
                   {'projected': {'sources': [{'secret': {'name': 's'}}]}},
                   {'persistentVolumeClaim': {'claimName': 's'}}, {'csi': {'driver': 'd.example.com'}}):
        expect(make(volumes=[{'name': 'v', **volume}]), 403, message=refers)
    expect(make(imagePullSecrets=[{'name': 's'}]), 403, message=refers)
    expect(make(serviceAccountName='default'), 403, message=refers)
    expect(make(volumes=[{'name': 'v', 'projected': {'sources': [{'serviceAccountToken': {'path': 't'}}]}}]), 403)
    for container in ({'envFrom': [{'secretRef': {'name': 's'}}]}, {'envFrom': [{'configMapRef': {'name': 's'}}]},
                      {'env': [{'name': 'A', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'k'}}}]}):
        expect(make(container=container), 403, message=refers)


def check_noderestriction_pods_of_others(arena):
    """A node writes the status of its own pods only, and evicts and deletes them only (403)."""
    cluster, space = arena.cluster, arena.namespace()
    nodes(arena)
    needs_restriction(arena)
    pod(arena, space, 'mine', MINE)
    pod(arena, space, 'theirs', THEIRS)
    path = CORE + space + '/pods/'
    phase = {'status': {'phase': 'Running'}}
    arena.eventually(lambda: expect(cluster.patch(path + 'mine/status', phase, who=ME), 200))
    expect(cluster.patch(path + 'theirs/status', phase, who=ME), 403, message='spec.nodeName set to itself')
    expect(cluster.patch(path + 'mine/status', {'metadata': {'labels': {'a': 'b'}}}, who=ME), 403, message='labels')
    expect(cluster.patch(path + 'mine', {'metadata': {'labels': {'a': 'b'}}}, who=ME), 403)
    expect(cluster.delete(path + 'theirs', who=ME), 403, message='spec.nodeName set to itself')
    expect(cluster.post(path + 'theirs/eviction', {'metadata': {'name': 'theirs'}}, who=ME), 403,
           message='spec.nodeName set to itself')


def check_noderestriction_nodes(arena):
    """A node writes its own Node only, and not its taints, owners and restricted labels (403)."""
    cluster = arena.cluster
    nodes(arena)
    needs_restriction(arena)
    label = {'metadata': {'labels': {'example.com/a': 'b'}}}
    expect(cluster.patch(NODES + '/' + MINE, label, who=ME), 200)
    expect(cluster.patch(NODES + '/' + THEIRS, label, who=ME), 403)
    expect(cluster.patch(NODES + '/' + THEIRS + '/status', {'status': {'phase': 'Running'}}, who=ME), 403)
    taints = {'spec': {'taints': [{'key': 'k', 'effect': 'NoSchedule'}]}}
    expect(cluster.patch(NODES + '/' + MINE, taints, who=ME), 403, message='taints')
    owners = [{'apiVersion': 'v1', 'kind': 'Node', 'name': THEIRS, 'uid': 'u'}]
    expect(cluster.patch(NODES + '/' + MINE, {'metadata': {'ownerReferences': owners}}, who=ME), 403,
           message='ownerReferences')
    for key in ('node-restriction.kubernetes.io/a', 'node-role.kubernetes.io/control-plane', 'x.k8s.io/a', 'kubernetes.io/a'):
        expect(cluster.patch(NODES + '/' + MINE, {'metadata': {'labels': {key: 'v'}}}, who=ME), 403, message='labels')
    expect(cluster.post(LEASES % 'kube-node-lease', {'metadata': {'name': THEIRS}}, who=ME), 403)
    expect(cluster.post(CSI_NODES, {'metadata': {'name': THEIRS}, 'spec': {'drivers': []}}, who=ME), 403)


def check_noderestriction_tokens(arena):
    """A node asks for tokens of service accounts of its pods only, bound to such a pod by name and UID (403)."""
    cluster, space = arena.cluster, arena.namespace()
    nodes(arena)
    needs_restriction(arena)
    mine, theirs = pod(arena, space, 'mine', MINE), pod(arena, space, 'theirs', THEIRS)
    path = CORE + space + '/serviceaccounts/default/token'

    def ask(who=ME, name=None, uid='', kind='Pod', **spec):
        if name:
            spec['boundObjectRef'] = {'apiVersion': 'v1', 'kind': kind, 'name': name, 'uid': uid}
        return cluster.post(path, {'spec': spec}, who=who)
    audience = expect(cluster.post(path, {'spec': {}}), 201).json['spec']['audiences']
    # The pod's own volume asks for the server's audience; where nobody adds it, nothing is there to ask for.
    arena.eventually(lambda: expect(ask(name='mine', uid=mine), 201, 403))
    expect(ask(), 403, message='not bound to a pod')
    expect(ask(name=MINE, uid='u', kind='Node'), 403, message='not bound to a pod')
    expect(ask(name='mine'), 403, message='without a uid')
    expect(ask(name='mine', uid='other'), 403, message='does not match the UID')
    expect(ask(name='theirs', uid=theirs), 403, message='different node')
    expect(ask(name='mine', uid=mine, audiences=['vault']), 403, message='not authorized to request tokens for audience')
    expect(ask(name='mine', uid=mine, audiences=['vault', *audience]), 403, message='0 or 1 audiences')
    cluster.make(CORE + space + '/serviceaccounts', {'metadata': {'name': 'unused'}})
    expect(cluster.post(CORE + space + '/serviceaccounts/unused/token', {'spec': {}}, who=ME), 403)


def check_noderestriction_certificates(arena):
    """A node asks for certificates of its own name only (403)."""
    nodes(arena)
    needs_restriction(arena)

    def ask(pem, signer):
        return arena.cluster.post(CSRS + '?dryRun=All', {'metadata': {'name': arena.id}, 'spec': {
            'signerName': 'kubernetes.io/' + signer, 'request': pem, 'usages': ['digital signature', 'client auth']}}, who=ME)
    for signer in ('kube-apiserver-client-kubelet', 'kubelet-serving'):
        expect(ask(CSR_OTHER_NODE, signer), 403, message='can only create a node CSR with CN=system:node:' + MINE)
    expect(ask(CSR_NODE, 'kube-apiserver-client-kubelet'), 201)
