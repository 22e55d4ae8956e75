"""The parts of the control plane: each has the rights of its own role, and none has an administrator's."""
from cluster_client import Identity, expect

CORE = '/api/v1/namespaces/'
RBAC = '/apis/rbac.authorization.k8s.io/v1'
BOX = {'containers': [{'name': 'c', 'image': 'i'}]}


def account(name):
    return Identity('system:serviceaccount:kube-system:' + name,
                    groups=('system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'))


def component(name):
    return Identity('system:' + name, groups=('system:authenticated',))


def escapes(cluster, who, ns):
    """The steps with which an identity would become an administrator; what each is answered."""
    binding = {'metadata': {'name': 'escape'}, 'subjects': [{'kind': 'User', 'apiGroup': 'rbac.authorization.k8s.io', 'name': 'eve'}],
               'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'cluster-admin'}}
    yield cluster.post(RBAC + '/clusterrolebindings', binding, who=who)
    yield cluster.post(RBAC + '/clusterroles', {'metadata': {'name': 'escape'}, 'rules': [
        {'apiGroups': ['*'], 'resources': ['*'], 'verbs': ['*']}]}, who=who)
    yield cluster.patch(RBAC + '/clusterrolebindings/cluster-admin', {'metadata': {'labels': {'a': 'b'}}}, who=who)
    yield cluster.post('/apis/certificates.k8s.io/v1/certificatesigningrequests/absent/approval', {}, who=who)
    yield cluster.delete(CORE + ns, who=who)


def check_controller_manager_is_no_administrator(arena):
    """system:kube-controller-manager reads everything and writes next to nothing: its controllers act as service accounts."""
    cluster, ns, manager = arena.cluster, arena.namespace(), component('kube-controller-manager')
    expect(cluster.get('/api/v1/pods', who=manager), 200)
    expect(cluster.get(CORE + ns + '/secrets', who=manager), 200)
    expect(cluster.post(CORE + ns + '/pods', {'metadata': {'name': 'p'}, 'spec': BOX}, who=manager), 403)
    expect(cluster.post(CORE + ns + '/configmaps', {'metadata': {'name': 'c'}}, who=manager), 403)
    expect(cluster.delete('/api/v1/nodes/absent', who=manager), 403)
    expect(cluster.get('/metrics', who=manager), 403)
    for answer in escapes(cluster, manager, ns):
        expect(answer, 403, 404, 405)
    expect(cluster.get(CORE + ns), 200)


def check_controllers_keep_to_their_role(arena):
    """A controller's service account writes what its loop needs and nothing else, and reads no Secrets it does not need."""
    cluster, ns = arena.cluster, arena.namespace()
    deployments, sets, nodes = account('deployment-controller'), account('replicaset-controller'), account('node-controller')
    expect(cluster.get('/apis/apps/v1/namespaces/%s/replicasets' % ns, who=deployments), 200)
    expect(cluster.post(CORE + ns + '/pods', {'metadata': {'name': 'p'}, 'spec': BOX}, who=deployments), 403)
    expect(cluster.post(CORE + ns + '/pods', {'metadata': {'name': 'p'}, 'spec': BOX}, who=sets), 201)
    expect(cluster.post('/apis/apps/v1/namespaces/%s/replicasets' % ns, {'metadata': {'name': 'r'}}, who=sets), 403)
    expect(cluster.delete(CORE + ns + '/pods/p?gracePeriodSeconds=0', who=nodes), 200)
    for who in (deployments, sets, nodes, account('job-controller'), account('endpoint-controller'), account('ttl-controller')):
        expect(cluster.get(CORE + ns + '/secrets', who=who), 403)
        expect(cluster.get(CORE + ns + '/secrets/absent', who=who), 403)
        for answer in escapes(cluster, who, ns):
            expect(answer, 403, 404, 405)
    expect(cluster.get(CORE + ns), 200)


def check_accounts_of_other_namespaces_are_no_controllers(arena):
    """A service account is a controller's by its namespace and name: one of the same name elsewhere has none of its rights."""
    cluster, ns = arena.cluster, arena.namespace()
    who = Identity('system:serviceaccount:%s:generic-garbage-collector' % ns,
                   groups=('system:serviceaccounts', 'system:serviceaccounts:' + ns, 'system:authenticated'))
    expect(cluster.get(CORE + ns + '/configmaps', who=who), 403)
    expect(cluster.delete(CORE + ns + '/configmaps/absent', who=who), 403)
    expect(cluster.get(CORE + ns + '/configmaps', who=account('generic-garbage-collector')), 200)
    expect(cluster.post(CORE + ns + '/configmaps', {'metadata': {'name': 'c'}}, who=account('generic-garbage-collector')), 403)


def check_scheduler_and_joining_nodes_are_limited(arena):
    """The scheduler binds pods and makes none; who may only join asks for a certificate and reads nothing."""
    cluster, ns, scheduler = arena.cluster, arena.namespace(), component('kube-scheduler')
    expect(cluster.get('/api/v1/pods', who=scheduler), 200)
    expect(cluster.post(CORE + ns + '/pods', {'metadata': {'name': 'p'}, 'spec': BOX}, who=scheduler), 403)
    expect(cluster.get(CORE + ns + '/secrets', who=scheduler), 403)
    for answer in escapes(cluster, scheduler, ns):
        expect(answer, 403, 404, 405)
    joining = Identity('system:bootstrap:abcdef', groups=('system:bootstrappers', 'system:authenticated'))
    for path in ('/api/v1/nodes', '/api/v1/pods', CORE + 'kube-system/secrets', CORE + ns + '/configmaps'):
        expect(cluster.get(path, who=joining), 403)
