"""Namespaces, roles, impersonation, certificates: nobody gets rights they were not given."""
from certificate_requests import CSR_MASTERS, CSR_USER
from cluster_client import APPLY, Identity, expect

CORE = '/api/v1/namespaces/'
RBAC = '/apis/rbac.authorization.k8s.io/v1'
CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'


def check_namespace_through_namespace(arena):
    """A RoleBinding to cluster-admin in one namespace reaches no Namespace object: there is no such path (404)."""
    cluster, own, victim = arena.cluster, arena.namespace('-own'), arena.namespace('-victim')
    arena.bind('cluster-admin', own)
    eve = Identity(arena.user)
    inside = CORE + own + '/namespaces'
    body = {'metadata': {'name': victim}}
    expect(cluster.get(inside, who=eve), 404)
    expect(cluster.get(inside + '/' + victim, who=eve), 404)
    expect(cluster.delete(inside + '/' + victim, who=eve), 404)
    expect(cluster.put(inside + '/' + victim, body, who=eve), 404)
    expect(cluster.put(inside + '/' + victim + '/finalize', body, who=eve), 404)
    expect(cluster.patch(inside + '/' + victim, {'metadata': {'labels': {'a': 'b'}}}, who=eve), 404)
    expect(cluster.post(inside, {'metadata': {'name': arena.id + '-new'}}, who=eve), 404)
    expect(cluster.get(CORE + arena.id + '-new'), 404)
    left = expect(cluster.get(CORE + victim), 200).json
    assert 'deletionTimestamp' not in left['metadata'] and left['metadata']['labels'].get('a') is None, left
    expect(cluster.get(CORE + victim, who=eve), 403)
    expect(cluster.get(CORE + own, who=eve), 200)


def check_cluster_objects_through_namespace(arena):
    """Nothing that is outside namespaces is reached through one (404)."""
    cluster, own = arena.cluster, arena.namespace()
    arena.bind('cluster-admin', own)
    eve = Identity(arena.user)
    for resource in ('/api/v1/namespaces/%s/nodes', '/api/v1/namespaces/%s/persistentvolumes',
                     RBAC + '/namespaces/%s/clusterroles', RBAC + '/namespaces/%s/clusterrolebindings',
                     '/apis/certificates.k8s.io/v1/namespaces/%s/certificatesigningrequests',
                     '/apis/apiextensions.k8s.io/v1/namespaces/%s/customresourcedefinitions',
                     '/apis/authentication.k8s.io/v1/namespaces/%s/tokenreviews',
                     '/apis/authorization.k8s.io/v1/namespaces/%s/subjectaccessreviews'):
        path = resource % own
        expect(cluster.post(path, {'metadata': {'name': arena.id}}, who=eve), 404)
        expect(cluster.delete(path + '/cluster-admin', who=eve), 404)


def check_paths_that_look_like_others(arena):
    """What is authorised is what is acted on, however the path is written: no such path shows another namespace."""
    cluster, own, victim = arena.cluster, arena.namespace('-own'), arena.namespace('-victim')
    cluster.make(CORE + victim + '/secrets', {'metadata': {'name': 's'}, 'stringData': {'k': 'top-secret'}})
    arena.bind('cluster-admin', own)
    eve = Identity(arena.user)
    for path in (CORE + own + '/../' + victim + '/secrets/s', CORE + own + '%2f..%2f' + victim + '/secrets/s',
                 CORE + own + '/%2e%2e/' + victim + '/secrets/s', '/api/v1//namespaces/' + victim + '/secrets/s',
                 '/api/v1/namespaces//' + victim + '/secrets/s', CORE + own + ';' + victim + '/secrets/s',
                 CORE + own + '/secrets/../../' + victim + '/secrets/s', '/api/v1/watch/namespaces/' + victim + '/secrets',
                 '/api/v1/proxy/namespaces/' + victim + '/secrets/s', '/api/v1/secrets?namespace=' + own,
                 CORE + victim + '/secrets?fieldSelector=metadata.namespace%3D' + own):
        reply = cluster.get(path, who=eve)
        assert reply.status != 200 and b'top-secret' not in reply.body, '%s: %r' % (path, reply)
    for header in ('X-HTTP-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'):
        value = 'DELETE' if 'Method' in header else CORE + victim + '/secrets/s'
        expect(cluster.get(CORE + own + '/secrets/none', who=eve, headers=[(header, value)]), 404)


def check_body_that_names_another_place(arena):
    """The namespace and the name in a body must be those of the path (400)."""
    cluster, own, victim = arena.cluster, arena.namespace('-own'), arena.namespace('-victim')
    arena.bind('cluster-admin', own)
    eve = Identity(arena.user)
    cluster.make(CORE + own + '/configmaps', {'metadata': {'name': 'm'}})
    elsewhere = {'metadata': {'name': 'm', 'namespace': victim}}
    expect(cluster.post(CORE + own + '/configmaps', elsewhere, who=eve), 400)
    expect(cluster.put(CORE + own + '/configmaps/m', elsewhere, who=eve), 400)
    expect(cluster.patch(CORE + own + '/configmaps/m', elsewhere, who=eve), 400)
    expect(cluster.put(CORE + own + '/configmaps/m', {'metadata': {'name': 'other'}}, who=eve), 400)
    review = {'spec': {'user': 'x', 'resourceAttributes': {'namespace': victim, 'verb': 'get', 'resource': 'pods'}}}
    expect(cluster.post('/apis/authorization.k8s.io/v1/namespaces/%s/localsubjectaccessreviews' % own, review, who=eve), 422)


def check_selector_that_names_an_object(arena):
    """A list that selects one name is authorised for that name; a deletecollection never is."""
    cluster, own = arena.cluster, arena.namespace()
    arena.grant([{'apiGroups': [''], 'resources': ['configmaps'], 'resourceNames': ['m'],
                  'verbs': ['list', 'watch', 'deletecollection']}])
    eve, maps = Identity(arena.user), CORE + own + '/configmaps'
    expect(cluster.get(maps, who=eve), 403)
    expect(cluster.get(maps + '?fieldSelector=metadata.name%3Dm', who=eve), 200)
    expect(cluster.get(maps + '?fieldSelector=metadata.name%3Dx', who=eve), 403)
    expect(cluster.get(maps + '?fieldSelector=metadata.name%21%3Dm', who=eve), 403)
    expect(cluster.get(maps + '?fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dm', who=eve), 403)
    expect(cluster.delete(maps + '?fieldSelector=metadata.name%3Dm', who=eve), 403)


def check_roles_label_that_aggregates(arena):
    """Whoever changes a role in any way must hold all its rules (403), a label as well: it may aggregate the role."""
    cluster, space = arena.cluster, arena.namespace()
    arena.grant([{'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['*'], 'verbs': ['get', 'create', 'update', 'patch']}])
    eve = Identity(arena.user)
    label = {'metadata': {'labels': {'rbac.authorization.k8s.io/aggregate-to-view': 'true'}}}
    held = 'attempting to grant RBAC permissions not currently held'
    expect(cluster.patch(RBAC + '/clusterroles/cluster-admin?dryRun=All', label, who=eve), 403, message=held)
    powerful = [{'apiGroups': [''], 'resources': ['secrets'], 'verbs': ['get']}]
    arena.object(RBAC + '/clusterroles', {'metadata': {'name': arena.id + '-role'}, 'rules': powerful})
    role = RBAC + '/clusterroles/' + arena.id + '-role'
    expect(cluster.patch(role, label, who=eve), 403, message=held)
    expect(cluster.patch(role, {'metadata': {'annotations': {'a': 'b'}}}, who=eve), 403, message=held)
    owners = [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'm', 'uid': 'u'}]
    expect(cluster.patch(role, {'metadata': {'ownerReferences': owners}}, who=eve), 200)
    cluster.make('%s/namespaces/%s/roles' % (RBAC, space), {'metadata': {'name': 'r'}, 'rules': powerful})
    expect(cluster.patch('%s/namespaces/%s/roles/r' % (RBAC, space), {'metadata': {'labels': {'a': 'b'}}}, who=eve), 403)


def check_roles_that_grant_more(arena):
    """Nobody makes, changes or binds a role with rights they do not have, without escalate or bind (403)."""
    cluster, space = arena.cluster, arena.namespace()
    arena.grant([{'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['*'], 'verbs': ['get', 'create', 'update', 'patch']}])
    eve = Identity(arena.user)
    everything = [{'apiGroups': ['*'], 'resources': ['*'], 'verbs': ['*']}]
    roles = '%s/namespaces/%s/roles' % (RBAC, space)
    expect(cluster.post(roles, {'metadata': {'name': 'r'}, 'rules': everything}, who=eve), 403)
    expect(cluster.patch(roles + '/r?fieldManager=eve', {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'Role',
                                                         'metadata': {'name': 'r'}, 'rules': everything},
                         type=APPLY, who=eve), 403)
    for path in (RBAC + '/clusterrolebindings', '%s/namespaces/%s/rolebindings' % (RBAC, space)):
        expect(cluster.post(path, {
            'metadata': {'name': arena.id}, 'subjects': [],
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'cluster-admin'}}, who=eve), 403)
    arena.grant([{'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['roles'], 'resourceNames': ['r'],
                  'verbs': ['escalate']}])
    expect(cluster.post(roles, {'metadata': {'name': 'r'}, 'rules': everything}, who=eve), 403)


def check_roles_with_aggregation_rules(arena):
    """A role that has or had an aggregationRule is only written by those who may everything (403)."""
    cluster = arena.cluster
    arena.grant([{'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['clusterroles'],
                  'verbs': ['create', 'update', 'patch']}])
    eve, full = Identity(arena.user), 'must have cluster-admin privileges to use the aggregationRule'
    rule = {'clusterRoleSelectors': [{'matchLabels': {arena.id: 'yes'}}]}
    expect(cluster.post(RBAC + '/clusterroles', {'metadata': {'name': arena.id + '-mine'}, 'aggregationRule': rule}, who=eve),
           403, message=full)
    arena.object(RBAC + '/clusterroles', {'metadata': {'name': arena.id + '-sum'}, 'aggregationRule': rule})
    expect(cluster.patch(RBAC + '/clusterroles/' + arena.id + '-sum', {'aggregationRule': None}, who=eve), 403, message=full)


def check_create_by_apply(arena):
    """Server-side apply that creates needs create as well as patch (403)."""
    cluster, space = arena.cluster, arena.namespace()
    arena.grant([{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get', 'patch']}], space)
    eve, path = Identity(arena.user), CORE + space + '/configmaps/m?fieldManager=eve'
    body = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'm'}}
    expect(cluster.patch(path, body, type=APPLY, who=eve), 403, message='cannot create resource "configmaps"')
    expect(cluster.get(CORE + space + '/configmaps/m'), 404)
    cluster.make(CORE + space + '/configmaps', body)
    expect(cluster.patch(path, body, type=APPLY, who=eve), 200)


def check_create_by_put(arena):
    """PUT that creates needs create as well as update (403)."""
    cluster, space = arena.cluster, arena.namespace()
    arena.grant([{'apiGroups': ['*'], 'resources': ['*'], 'verbs': ['update']}], space)
    eve = Identity(arena.user)
    for path, spec in (('/apis/coordination.k8s.io/v1/namespaces/%s/leases/x', {}),
                       ('/api/v1/namespaces/%s/services/x', {'ports': [{'port': 80}]}),
                       ('/api/v1/namespaces/%s/limitranges/x', {'limits': []})):
        expect(cluster.put(path % space, {'metadata': {'name': 'x'}, 'spec': spec}, who=eve), 403, message='cannot create')
        expect(cluster.get(path % space), 404)


def check_impersonation_of_service_accounts(arena):
    """Only names of two valid parts are service accounts; others get none of their groups."""
    cluster = arena.cluster

    def groups(user):
        reply = cluster.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, who=Identity(user))
        return expect(reply, 201).json['status']['userInfo']['groups']
    assert 'system:serviceaccounts:kube-system' in groups('system:serviceaccount:kube-system:x')
    for name in ('system:serviceaccount:kube-system', 'system:serviceaccount:kube-system:x:y', 'system:serviceaccount:',
                 'system:serviceaccount:kube-system:', 'system:serviceaccount::x', 'system:serviceaccount:UPPER:x'):
        found = groups(name)
        assert not any('serviceaccounts' in group for group in found), '%s: %s' % (name, found)


def check_impersonation_is_asked_for(arena):
    """Every user, group, UID and extra that somebody acts as is authorised by itself (403). Without a user: an error."""
    cluster, space = arena.cluster, arena.namespace()
    tokens = cluster.post(CORE + space + '/serviceaccounts/default/token', {'spec': {}})
    token = expect(tokens, 201).json['status']['token']
    robot = 'system:serviceaccount:%s:default' % space

    def ask(*headers):
        return cluster.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, credentials=False,
                            headers=[('Authorization', 'Bearer ' + token), *headers])
    expect(ask(), 201)
    bob = ('Impersonate-User', 'bob')
    expect(ask(bob), 403)
    arena.grant([{'apiGroups': [''], 'resources': ['users'], 'resourceNames': ['bob'], 'verbs': ['impersonate']}], user=robot)
    expect(ask(bob), 201)
    expect(ask(('Impersonate-User', 'alice')), 403)
    expect(ask(bob, ('Impersonate-Group', 'system:masters')), 403)
    expect(ask(bob, ('Impersonate-Uid', '1')), 403)
    expect(ask(bob, ('Impersonate-Extra-Scopes', 'all')), 403)
    reply = ask(('Impersonate-Group', 'system:masters'))
    assert reply.status >= 400, reply
    expect(cluster.get('/api/v1/secrets', credentials=False, headers=[('Authorization', 'Bearer ' + token), bob]), 403)


def check_certificates_of_masters(arena):
    """No client certificate of system:masters can be asked for (403)."""
    def request(pem):
        return {'metadata': {'name': arena.id}, 'spec': {'signerName': 'kubernetes.io/kube-apiserver-client', 'request': pem,
                                                         'usages': ['digital signature', 'client auth']}}
    expect(arena.cluster.post(CSRS, request(CSR_MASTERS)), 403, message='system:masters')
    expect(arena.cluster.post(CSRS + '?dryRun=All', request(CSR_USER)), 201)


def check_certificates_need_their_signer(arena):
    """Approving and signing a request need those verbs on its signer (403); who asked is not what they say."""
    cluster, eve = arena.cluster, Identity(arena.user)
    arena.grant([{'apiGroups': ['certificates.k8s.io'], 'verbs': ['*'], 'resources': [
        'certificatesigningrequests', 'certificatesigningrequests/approval', 'certificatesigningrequests/status']}])
    made = cluster.post(CSRS, {'metadata': {'name': arena.id}, 'spec': {
        'signerName': 'example.com/attack', 'request': CSR_USER, 'usages': ['digital signature'],
        'username': 'admin', 'groups': ['system:masters']}}, who=eve)
    arena.undo.append(CSRS + '/' + arena.id)
    spec = expect(made, 201).json['spec']
    assert spec['username'] == arena.user and 'system:masters' not in spec['groups'], spec
    condition = {'status': 'True', 'reason': 'r', 'message': 'm'}
    expect(cluster.patch(CSRS + '/' + arena.id + '/approval', {'status': {'conditions': [{'type': 'Approved', **condition}]}},
                         who=eve), 403, message='approve')
    expect(cluster.patch(CSRS + '/' + arena.id + '/status', {'status': {'conditions': [{'type': 'Failed', **condition}]}},
                         who=eve), 403, message='sign')
