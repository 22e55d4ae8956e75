"""Who may do what: refusals of every verb, impersonation, and rights that would grow."""

MERGE = 'application/merge-patch+json'
RBAC = '/apis/rbac.authorization.k8s.io/v1'


def refused(namespace):
    """Every way to ask, as somebody who may nothing."""
    jane = {'Impersonate-User': 'jane'}
    base = '/api/v1/namespaces/' + namespace
    apps = base.replace('/api/v1', '/apis/apps/v1')
    for place in (base + '/pods', base + '/pods/x', base + '/pods/x/status', base + '/pods/x/log', base + '/pods/x/exec', base + '/pods/x/proxy/a/b', base + '/pods/x/eviction', '/api/v1/pods', '/api/v1/nodes', '/api/v1/nodes/x',
                  '/api/v1/nodes/x/proxy/metrics', apps + '/deployments', apps + '/deployments/x', apps + '/deployments/x/scale', '/apis/apps/v1/deployments', '/api/v1/namespaces', base, base + '/finalize', base + '/nope', base + '/nope/x',
                  '/apis/nope.example.com/v1/things', '/apis/nope.example.com/v1/namespaces/%s/things/x' % namespace, RBAC + '/clusterroles/x', base + '/services/x/proxy', base + '/services/http:x:80/proxy/y', '/api/v1/watch/pods',
                  '/api/v1/watch/namespaces/%s/pods/x' % namespace, '/', '/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1', '/version', '/healthz', '/livez', '/readyz', '/metrics', '/openapi/v2', '/openapi/v3', '/openapi/v3/api/v1',
                  '/logs', '/debug/pprof/', '/statusz', '/flagz', '/nope', '/nope/x', '/.well-known/openid-configuration', '/openid/v1/jwks', base + '/serviceaccounts/x/token', base + '/bindings', '/api/v1/componentstatuses'):
        for method in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'):
            headers = {**jane, **({'Content-Type': MERGE} if method == 'PATCH' else {})}
            yield method, place, {} if method in ('POST', 'PUT', 'PATCH') else None, headers
    for query in ('?watch=1', '?watch=true&timeoutSeconds=1', '?fieldSelector=metadata.name%3Dx', '?labelSelector=a', '?fieldSelector=spec.nodeName%3Dx', '?labelSelector=%3D%3D', '?fieldSelector=metadata.name%3Dx,a%3Db'):
        yield 'GET', base + '/pods' + query, None, jane
        yield 'DELETE', base + '/pods' + query, None, jane
        yield 'GET', '/api/v1/nodes' + query, None, jane
    for accept in ('application/yaml', 'application/vnd.kubernetes.protobuf', 'text/plain', 'application/json;as=Table;v=v1;g=meta.k8s.io', 'nope'):
        yield 'GET', base + '/pods', None, {**jane, 'Accept': accept}
        yield 'GET', '/nope', None, {**jane, 'Accept': accept}
    apply = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x'}}
    yield 'PATCH', base + '/configmaps/x?fieldManager=m', apply, {**jane, 'Content-Type': 'application/apply-patch+yaml'}


def impersonated(namespace):
    base = '/api/v1/namespaces/' + namespace
    review = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    for headers in ({'Impersonate-User': 'jane'}, {'Impersonate-User': 'jane', 'Impersonate-Group': 'g'}, {'Impersonate-Group': 'g'}, {'Impersonate-Uid': 'u'}, {'Impersonate-Extra-a': 'b'}, {'Impersonate-User': ''},
                    {'Impersonate-User': 'jane', 'Impersonate-Uid': 'u', 'Impersonate-Extra-Acme.com%2FX': 'b', 'Impersonate-Extra-scopes': 'c'}, {'Impersonate-User': 'system:anonymous'}, {'Impersonate-User': 'system:serviceaccount:a:b'},
                    {'Impersonate-User': 'system:serviceaccount:a'}, {'Impersonate-User': 'system:node:x'}, {'Impersonate-User': 'j', 'Impersonate-Group': 'system:unauthenticated'}, {'Impersonate-User': 'j', 'Impersonate-Group': 'system:masters'},
                    {'Impersonate-User': 'j', 'Impersonate-Extra-%zz': 'x'}, {'Impersonate-User': 'j', 'Impersonate-Nope': 'x'}, {'Impersonate-User': 'system:kube-controller-manager'}, {'Authorization': 'Bearer nope'}, {'Authorization': 'Basic eDp5'},
                    {'Authorization': None}, {'Authorization': 'Bearer '}, {'Authorization': 'nope'}, {'Authorization': None, 'Impersonate-User': 'x'}):
        yield 'POST', review, {}, headers
        yield 'GET', base + '/configmaps', None, headers
        yield 'GET', '/api', None, headers
        yield 'GET', '/version', None, headers
        yield 'GET', '/nope', None, headers
    # One who may impersonate something only.
    for name, rules in (('imp-users', [{'apiGroups': [''], 'resources': ['users'], 'verbs': ['impersonate'], 'resourceNames': ['jane']}]), ('imp-groups', [{'apiGroups': [''], 'resources': ['groups', 'users'], 'verbs': ['impersonate']}]),
                        ('imp-extras', [{'apiGroups': ['authentication.k8s.io'], 'resources': ['userextras/a', 'uids'], 'verbs': ['impersonate']}, {'apiGroups': [''], 'resources': ['serviceaccounts', 'users'], 'verbs': ['impersonate']}]),
                        ('imp-user-info', [{'apiGroups': ['authentication.k8s.io'], 'resources': ['users'], 'verbs': ['impersonate:user-info']}, {'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['impersonate-on:user-info:list']}])):
        yield 'POST', RBAC + '/clusterroles', {'metadata': {'name': name}, 'rules': rules}, None
        yield 'POST', RBAC + '/clusterrolebindings', {'metadata': {'name': name}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': name},
                                                     'subjects': [{'kind': 'ServiceAccount', 'name': name, 'namespace': namespace}]}, None
        yield 'POST', base + '/serviceaccounts', {'metadata': {'name': name}}, None
        yield 'POST', base + '/serviceaccounts/%s/token' % name, {'spec': {}}, None, {'token': ('status', 'token')}
        token = {'Authorization': 'Bearer ${token}'}
        for headers in ({}, {'Impersonate-User': 'jane'}, {'Impersonate-User': 'joe'}, {'Impersonate-User': 'jane', 'Impersonate-Group': 'g'}, {'Impersonate-User': 'jane', 'Impersonate-Uid': 'u'}, {'Impersonate-User': 'jane', 'Impersonate-Extra-A': 'x'},
                        {'Impersonate-User': 'jane', 'Impersonate-Extra-B': 'x'}, {'Impersonate-User': 'system:serviceaccount:%s:default' % namespace}, {'Impersonate-User': 'system:node:n1'}, {'Impersonate-User': 'system:anonymous'}):
            yield 'GET', base + '/configmaps', None, {**token, **headers}
            yield 'POST', review, {}, {**token, **headers}
            yield 'GET', base + '/configmaps/x', None, {**token, **headers}
        yield 'DELETE', RBAC + '/clusterrolebindings/' + name, None, None
        yield 'DELETE', RBAC + '/clusterroles/' + name, None, None


def rights(namespace):
    """Somebody with few rights makes roles and bindings."""
    base, roles = '/api/v1/namespaces/' + namespace, RBAC + '/namespaces/%s/roles' % namespace
    rules = [{'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'], 'verbs': ['*']}, {'apiGroups': [''], 'resources': ['configmaps', 'pods/log'], 'verbs': ['get', 'list']},
             {'apiGroups': ['apps'], 'resources': ['deployments'], 'resourceNames': ['a'], 'verbs': ['get']}, {'nonResourceURLs': ['/healthz', '/logs/*'], 'verbs': ['get']}]
    yield 'POST', RBAC + '/clusterroles', {'metadata': {'name': 'few'}, 'rules': rules}, None
    yield 'POST', RBAC + '/clusterrolebindings', {'metadata': {'name': 'few'}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'few'}, 'subjects': [{'kind': 'User', 'name': 'few', 'apiGroup': 'rbac.authorization.k8s.io'}]}, None
    few = {'Impersonate-User': 'few'}
    for rule in ({'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get']}, {'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get', 'delete']}, {'apiGroups': [''], 'resources': ['secrets', 'configmaps'], 'verbs': ['list', 'get']},
                 {'apiGroups': ['*'], 'resources': ['*'], 'verbs': ['*']}, {'apiGroups': ['apps'], 'resources': ['deployments'], 'verbs': ['get']}, {'apiGroups': ['apps'], 'resources': ['deployments'], 'resourceNames': ['a', 'b'], 'verbs': ['get']},
                 {'apiGroups': [''], 'resources': ['pods', 'pods/log', 'pods/*'], 'verbs': ['get']}, {'nonResourceURLs': ['/healthz', '/logs/x', '/metrics'], 'verbs': ['get', 'post']}):
        for collection in (roles, RBAC + '/clusterroles'):
            yield 'POST', collection + '?dryRun=All', {'metadata': {'name': 'new'}, 'rules': [rule]}, few
            yield 'POST', collection + '?dryRun=All', {'metadata': {'name': 'new'}, 'rules': [rule, {'apiGroups': ['batch'], 'resources': ['jobs'], 'verbs': ['create', 'get']}]}, few
    yield 'POST', RBAC + '/clusterroles?dryRun=All', {'metadata': {'name': 'new'}, 'aggregationRule': {'clusterRoleSelectors': [{'matchLabels': {'a': 'b'}}]}}, few
    for kind, name in (('ClusterRole', 'few'), ('ClusterRole', 'cluster-admin'), ('ClusterRole', 'view'), ('ClusterRole', 'nope'), ('Role', 'nope'), ('Role', 'few')):
        for collection in (RBAC + '/namespaces/%s/rolebindings' % namespace, RBAC + '/clusterrolebindings'):
            yield 'POST', collection + '?dryRun=All', {'metadata': {'name': 'new'}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': kind, 'name': name}, 'subjects': [{'kind': 'User', 'name': 'u'}]}, few
    yield 'PATCH', RBAC + '/clusterroles/few', {'rules': [{'apiGroups': [''], 'resources': ['secrets'], 'verbs': ['get']}]}, {**few, 'Content-Type': MERGE}
    yield 'PATCH', RBAC + '/clusterroles/few?dryRun=All', {'metadata': {'labels': {'a': 'b'}}}, {**few, 'Content-Type': MERGE}
    yield 'PATCH', RBAC + '/clusterrolebindings/few', {'roleRef': {'name': 'view'}}, {'Content-Type': MERGE}
    yield 'GET', base + '/configmaps', None, few
    yield 'GET', base + '/configmaps?watch=1', None, few
    yield 'GET', '/logs/x', None, few
    yield 'GET', '/healthz', None, few
    yield 'POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {'spec': {'namespace': namespace}}, few
    yield 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {'spec': {'resourceAttributes': {'namespace': namespace, 'verb': 'get', 'resource': 'configmaps'}}}, few
    yield 'POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {'spec': {'user': 'few', 'resourceAttributes': {'namespace': namespace, 'verb': 'get', 'group': 'apps', 'resource': 'deployments', 'name': 'a'}}}, None
    yield 'DELETE', RBAC + '/clusterrolebindings/few', None, None
    yield 'DELETE', RBAC + '/clusterroles/few', None, None
    yield 'GET', RBAC + '/clusterroles', None, None
    yield 'GET', RBAC + '/clusterrolebindings', None, None
    yield 'GET', RBAC + '/roles', None, None
    yield 'GET', RBAC + '/rolebindings', None, None
    for path in ('/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas', '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations', '/apis/scheduling.k8s.io/v1/priorityclasses', '/api/v1/namespaces/kube-system/configmaps', '/apis/networking.k8s.io/v1/servicecidrs',
                 '/api/v1/namespaces/default/services', '/api/v1/namespaces/default/endpoints', '/apis/discovery.k8s.io/v1/endpointslices', '/apis/apiregistration.k8s.io/v1/apiservices', '/apis/coordination.k8s.io/v1/leases', '/api/v1/namespaces',
                 '/apis/networking.k8s.io/v1/ipaddresses'):
        for accept in ('application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io'):
            yield 'GET', path, None, {'Accept': accept}
