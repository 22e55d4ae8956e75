"""Requests that belong together: the life of an object of any kind, patches and subresources."""
import json

MERGE, STRATEGIC, JSON_PATCH, APPLY = ('application/merge-patch+json', 'application/strategic-merge-patch+json', 'application/json-patch+json',
                                       'application/apply-patch+yaml')
PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json'
PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'


def cycle(collection, thing):
    """What happens to one object from its dry run to its end: method, path, body, headers."""
    name = thing['metadata']['name']
    place = '%s/%s' % (collection, name)
    patch = lambda body, kind, query='': ('PATCH', place + query, body, {'Content-Type': kind})  # noqa: E731
    yield 'POST', collection + '?dryRun=All', thing, None
    yield 'GET', place, None, None
    yield 'POST', collection, thing, None
    yield 'POST', collection, thing, None
    yield 'GET', place, None, None
    yield 'GET', place, None, {'Accept': PARTIAL}
    yield 'GET', collection, None, {'Accept': PARTIAL_LIST}
    yield 'GET', place, None, {'Accept': TABLE}
    yield 'GET', place + '?includeObject=Object', None, {'Accept': TABLE}
    yield 'GET', collection + '?includeObject=None&labelSelector=l1', None, {'Accept': TABLE}
    yield 'GET', place, None, {'Accept': 'application/yaml'}
    yield patch({'metadata': {'labels': {'l1': 'x', 'l2': 'y'}}}, MERGE)
    yield patch({'metadata': {'annotations': {'a': 'b'}, 'labels': {'l2': None}}}, STRATEGIC)
    yield patch([{'op': 'test', 'path': '/metadata/labels/l1', 'value': 'x'}, {'op': 'add', 'path': '/metadata/labels/l3', 'value': 'z'}], JSON_PATCH)
    yield patch([{'op': 'test', 'path': '/metadata/labels/l1', 'value': 'no'}], JSON_PATCH)
    yield patch({'metadata': {'name': 'other'}}, MERGE)
    yield patch({'metadata': {'uid': 'x'}}, MERGE)
    yield patch({'metadata': {'generation': 7, 'creationTimestamp': None, 'managedFields': []}}, MERGE)
    yield patch({'metadata': {'labels': {'-bad-': 'x y'}, 'annotations': {'': ''}, 'finalizers': ['nodomain', 'a/b/c']}}, MERGE)
    yield patch({'metadata': {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'X', 'name': 'y', 'uid': 'z'}, {'apiVersion': '', 'kind': '', 'name': '', 'uid': ''}]}}, MERGE)
    yield patch({'kind': 'Other'}, MERGE)
    yield patch({'apiVersion': 'other/v1'}, MERGE)
    yield patch({'apiVersion': thing['apiVersion'], 'kind': thing['kind'], 'metadata': {'name': name, 'labels': {'l1': 'applied'}}}, APPLY, '?fieldManager=one')
    yield patch({'apiVersion': thing['apiVersion'], 'kind': thing['kind'], 'metadata': {'name': name, 'labels': {'l1': 'applied'}}}, APPLY, '?fieldManager=one&force=true')
    yield patch({'apiVersion': thing['apiVersion'], 'kind': thing['kind'], 'metadata': {'name': name}}, APPLY, '?fieldManager=one')
    yield patch({'apiVersion': thing['apiVersion'], 'kind': thing['kind'], 'metadata': {'name': name}}, APPLY)
    yield patch({**thing, 'metadata': {'name': name}}, APPLY, '?fieldManager=two')
    yield patch({**thing, 'metadata': {'name': name}}, APPLY, '?fieldManager=two&force=true')
    yield patch({'metadata': {'name': name}}, APPLY, '?fieldManager=two')
    yield 'GET', collection + '?labelSelector=l3%3Dz', None, {'Accept': TABLE}
    yield 'PUT', place, {**thing, 'metadata': {'name': name, 'resourceVersion': '1'}}, None
    yield 'PUT', place, {**thing, 'metadata': {'name': name, 'uid': 'x'}}, None
    yield 'PUT', place, {**thing, 'metadata': {'name': name + 'x'}}, None
    yield 'PUT', place + '?dryRun=All', {**thing, 'metadata': {'name': name}}, None
    yield 'PUT', place, {**thing, 'metadata': {'name': name}}, None
    yield 'PUT', place, {**thing, 'kind': 'Other'}, None
    yield 'PUT', place, {k: v for k, v in thing.items() if k not in ('kind', 'apiVersion')}, None
    yield 'PUT', place + 'x', {**thing, 'metadata': {'name': name + 'x'}}, None
    yield 'PUT', place + '/status', {**thing, 'metadata': {'name': name}, 'status': {}}, None
    yield 'PATCH', place + '/status', {'status': {'unknownField': 1}}, {'Content-Type': MERGE}
    yield 'GET', place + '/status', None, None
    yield 'GET', place + '/scale', None, None
    yield 'GET', collection + '?labelSelector=l1%3Dnone', None, None
    yield patch({'metadata': {'finalizers': ['example.com/f']}}, MERGE)
    yield 'DELETE', place, {'apiVersion': 'v1', 'kind': 'DeleteOptions', 'preconditions': {'uid': '00000000-0000-0000-0000-000000000000'}}, None
    yield 'DELETE', place + '?dryRun=All', None, None
    yield 'DELETE', place + '?gracePeriodSeconds=0', None, None
    yield 'GET', place, None, None
    yield patch({'metadata': {'labels': {'late': 'x'}}}, MERGE)
    yield patch({'metadata': {'finalizers': ['example.com/f', 'example.com/g']}}, MERGE)
    yield patch({'metadata': {'finalizers': None}}, MERGE)
    yield 'DELETE', place, {'apiVersion': 'v1', 'gracePeriodSeconds': 0, 'kind': 'DeleteOptions'}, None
    yield 'GET', place, None, None
    yield 'DELETE', collection + '?labelSelector=l3%3Dz&dryRun=All', None, None


CONTAINERS = {'spec': {'template': {'spec': {'containers': [{'name': 'c', 'image': 'j'}]}}}}
POD = {'spec': {'containers': [{'name': 'c', 'image': 'j'}]}}
STRATEGIC_PATCHES = [
    CONTAINERS, POD,
    {'spec': {'containers': [{'image': 'j'}]}}, {'spec': {'containers': [{'name': 'd', 'image': 'j'}]}},
    {'spec': {'containers': [{'name': 'c', '$patch': 'delete'}]}}, {'spec': {'containers': [{'$patch': 'replace'}, {'name': 'x', 'image': 'y'}]}},
    {'spec': {'containers': [{'name': 'c', '$patch': 'nope'}]}}, {'spec': {'$patch': 'replace', 'containers': [{'name': 'z', 'image': 'y'}]}},
    {'$patch': 'delete'}, {'$patch': 'replace'}, {'$patch': 1}, {'spec': None}, {'spec': 'x'}, {'spec': []}, {'spec': {'containers': None}},
    {'spec': {'containers': {}}}, {'spec': {'containers': 'x'}}, {'spec': {'containers': [1]}}, {'spec': {'containers': [None]}}, {'spec': {'containers': [{'name': 1}]}},
    {'spec': {'$setElementOrder/containers': [{'name': 'c'}], 'containers': [{'name': 'c', 'image': 'k'}]}},
    {'spec': {'$setElementOrder/containers': [{'name': 'd'}], 'containers': [{'name': 'c', 'image': 'k'}]}}, {'spec': {'$setElementOrder/containers': 'x'}},
    {'spec': {'$setElementOrder/containers': [{'image': 'x'}]}}, {'spec': {'$setElementOrder/nope': [{'name': 'c'}]}},
    {'metadata': {'$deleteFromPrimitiveList/finalizers': ['a/b']}}, {'metadata': {'$deleteFromPrimitiveList/finalizers': 'x'}},
    {'metadata': {'$deleteFromPrimitiveList/finalizers': [1]}}, {'metadata': {'$setElementOrder/finalizers': ['b/c', 'a/b'], 'finalizers': ['b/c', 'a/b']}},
    {'metadata': {'$retainKeys': ['name']}}, {'spec': {'strategy': {'$retainKeys': ['type'], 'type': 'Recreate'}}}, {'spec': {'strategy': {'$retainKeys': 'x'}}},
    {'spec': {'volumes': [{'name': 'v', '$retainKeys': ['name', 'emptyDir'], 'emptyDir': {}}]}}, {'spec': {'template': {'spec': {'volumes': [{'name': 'v', 'emptyDir': {}}]}}}},
    {'spec': {'tolerations': [{'key': 'k', 'operator': 'Exists'}]}}, {'spec': {'ports': [{'port': 80, 'targetPort': 'x'}]}}, {'spec': {'ports': [{'name': 'p'}]}},
    {'spec': {'ports': [{'port': 80, '$patch': 'delete'}]}}, {'spec': {'ports': [{'port': 'x'}]}}, {'spec': {'unknown': {'$patch': 'delete'}}}, {'unknown': 1},
    {'metadata': {'labels': {'$patch': 'replace', 'only': 'this'}}}, {'metadata': {'labels': {'$patch': 'delete'}}}, {'metadata': {'labels': 'x'}}, {'metadata': {'labels': {'a': 1}}},
    {'metadata': None}, {'metadata': {'name': None}}, {'metadata': []}, {'status': {'conditions': [{'type': 'Ready', 'status': 'True'}]}}, [], 'x', 1, None, [{}],
    {'spec': {'replicas': 'x'}}, {'spec': {'replicas': None}}, {'spec': {'replicas': 1.5}}, {'spec': {'selector': {'a': 'b'}}}, {'data': {'a': None, 'b': 'c'}}, {'data': None},
    {'data': {'$patch': 'replace', 'x': 'y'}}, {'data': []}, {'secrets': [{'name': 's'}]}, {'imagePullSecrets': [{'name': 's'}, {'name': 's'}]}, {'rules': [{'verbs': ['get']}]},
    {'subjects': [{'kind': 'User', 'name': 'x'}]}, {'metadata': {'ownerReferences': [{'uid': 'u', 'name': 'n', 'kind': 'K', 'apiVersion': 'v1'}]}},
    {'metadata': {'ownerReferences': [{'uid': 'u', '$patch': 'delete'}]}}, {'metadata': {'managedFields': [{}]}}, {'metadata': {'resourceVersion': ''}}, {'metadata': {'resourceVersion': '1'}},
    {'metadata': {'resourceVersion': 1}},
]
JSON_PATCHES = [
    [], {}, 'x', None, [1], [{}], [{'op': 'add'}], [{'op': 'add', 'path': '/metadata/labels'}], [{'op': 'add', 'path': '/metadata/labels', 'value': {}}],
    [{'op': 'add', 'path': 'x', 'value': 1}], [{'op': 'add', 'path': '', 'value': 1}], [{'op': 'add', 'path': '/x', 'value': 1}], [{'op': 'add', 'path': '/x/y', 'value': 1}],
    [{'op': 'remove', 'path': '/metadata/labels'}], [{'op': 'remove', 'path': '/nope'}], [{'op': 'remove', 'path': '/metadata/nope/x'}], [{'op': 'remove', 'path': ''}],
    [{'op': 'replace', 'path': '/metadata/name', 'value': 'x'}], [{'op': 'replace', 'path': '/metadata/labels', 'value': None}], [{'op': 'replace', 'path': '/kind', 'value': 'X'}],
    [{'op': 'replace', 'path': '/nope/x', 'value': 1}], [{'op': 'copy', 'from': '/metadata/name', 'path': '/metadata/labels'}], [{'op': 'copy', 'from': '/nope', 'path': '/x'}],
    [{'op': 'copy', 'path': '/x'}], [{'op': 'move', 'from': '/metadata/name', 'path': '/metadata/x'}], [{'op': 'move', 'from': '/metadata', 'path': '/metadata/x'}],
    [{'op': 'move', 'from': '/nope', 'path': '/x'}], [{'op': 'test', 'path': '/kind', 'value': 'X'}], [{'op': 'test', 'path': '/nope', 'value': None}], [{'op': 'test', 'path': '/nope'}],
    [{'op': 'test', 'path': '/metadata/name'}], [{'op': 'ADD', 'path': '/x', 'value': 1}], [{'op': 1, 'path': '/x'}], [{'op': 'add', 'path': 1, 'value': 1}],
    [{'op': 'add', 'path': '/metadata/finalizers', 'value': 'x'}], [{'op': 'add', 'path': '/metadata/finalizers/-', 'value': 'a/b'}],
    [{'op': 'add', 'path': '/metadata/finalizers/01', 'value': 'a/b'}], [{'op': 'add', 'path': '/metadata/finalizers/-1', 'value': 'a/b'}],
    [{'op': 'add', 'path': '/metadata/finalizers', 'value': ['a/b']}, {'op': 'add', 'path': '/metadata/finalizers/x', 'value': 'a/b'}],
    [{'op': 'add', 'path': '/metadata/finalizers', 'value': ['a/b']}, {'op': 'remove', 'path': '/metadata/finalizers/1'}],
    [{'op': 'add', 'path': '/metadata/finalizers', 'value': ['a/b']}, {'op': 'replace', 'path': '/metadata/finalizers/-1', 'value': 'c/d'}],
    [{'op': 'add', 'path': '/metadata/finalizers', 'value': ['a/b']}, {'op': 'test', 'path': '/metadata/finalizers/0', 'value': 'a/b'}],
    [{'op': 'add', 'path': '/metadata/annotations', 'value': {'a/b': 'c', 'x~y': 'z'}}, {'op': 'test', 'path': '/metadata/annotations/a~1b', 'value': 'c'},
     {'op': 'test', 'path': '/metadata/annotations/x~0y', 'value': 'z'}], [{'op': 'add', 'path': '/metadata/annotations/a~2', 'value': 'c'}],
    [{'op': 'add', 'path': '/metadata/unknown', 'value': 'c'}], [{'op': 'replace', 'path': '/spec', 'value': None}], [{'op': 'replace', 'path': '/spec', 'value': 1}],
    [{'op': 'add', 'path': '/spec/replicas', 'value': -1}], [{'op': 'add', 'path': '/spec/replicas', 'value': 'x'}], [{'op': 'remove', 'path': '/spec/replicas'}],
]
PATCHED = [('v1', 'Pod'), ('v1', 'ConfigMap'), ('v1', 'Service'), ('apps/v1', 'Deployment'), ('v1', 'ServiceAccount'), ('rbac.authorization.k8s.io/v1', 'Role'),
           ('rbac.authorization.k8s.io/v1', 'RoleBinding'), ('batch/v1', 'Job'), ('apps/v1', 'StatefulSet')]


def patches(place):
    for kind, bodies in ((STRATEGIC, STRATEGIC_PATCHES), (MERGE, STRATEGIC_PATCHES), (JSON_PATCH, JSON_PATCHES)):
        for body in bodies:
            for query in ('?dryRun=All', '?dryRun=All&fieldValidation=Strict'):
                yield 'PATCH', place + query, json.dumps(body), {'Content-Type': kind}
    for text in ('', '{', '{}{}', '[1,]', 'a: b', '{"metadata":{"labels":{"a":"b","a":"c"}}}', '{"metadata":{"labels":{"a":"b"}},"unknown":1}', '\x00', '"', '{"a":1e999}', ' {} '):
        for kind in (STRATEGIC, MERGE, JSON_PATCH, APPLY, 'application/json', 'text/plain', '', 'application/merge-patch+json; charset=utf-8', 'application/apply-patch+cbor'):
            yield 'PATCH', place + '?dryRun=All&fieldManager=x', text, {'Content-Type': kind}


def subresources(namespace, pod, deployment):
    """Everything below a pod, a Deployment, a ServiceAccount and a namespace that are there."""
    base = '/api/v1/namespaces/%s' % namespace
    p, d, s = '%s/pods/%s' % (base, pod), '/apis/apps/v1/namespaces/%s/deployments/%s' % (namespace, deployment), base + '/serviceaccounts/default'
    for replicas in (0, 3, -1, 'x', None, 1.5, 2147483648):
        scale = {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': deployment}, 'spec': {'replicas': replicas}}
        yield 'PUT', d + '/scale?dryRun=All', scale, None
        for kind in (MERGE, STRATEGIC):
            yield 'PATCH', d + '/scale?dryRun=All', {'spec': {'replicas': replicas}}, {'Content-Type': kind}
    for body in ({}, {'kind': 'Deployment'}, {'metadata': {'name': 'other'}, 'spec': {'replicas': 1}}, {'metadata': {'name': deployment, 'resourceVersion': '1'}, 'spec': {'replicas': 1}},
                 {'spec': {'replicas': 1, 'unknown': 1}}, {'apiVersion': 'autoscaling/v2', 'kind': 'Scale', 'metadata': {'name': deployment}}, []):
        yield 'PUT', d + '/scale?dryRun=All&fieldValidation=Strict', body, None
        yield 'PATCH', d + '/scale?dryRun=All&fieldManager=m', {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', **(body or {})}, {'Content-Type': APPLY}
    for target in ({'name': 'n'}, {'name': ''}, {}, {'kind': 'Pod', 'name': 'n'}, {'kind': 'Node', 'name': 'n', 'apiVersion': 'v1'}, None):
        yield 'POST', p + '/binding?dryRun=All', {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': pod}, 'target': target}, None
        yield 'POST', base + '/bindings?dryRun=All', {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': pod, 'annotations': {'a': 'b'}}, 'target': target}, None
    for body in ({}, {'metadata': {'name': pod}}, {'metadata': {'name': 'other'}}, {'deleteOptions': {'gracePeriodSeconds': 0, 'dryRun': ['All']}}, {'deleteOptions': {'dryRun': ['x']}},
                 {'deleteOptions': {'preconditions': {'uid': 'x'}}}, {'kind': 'Pod'}, {'unknown': 1}):
        for version in ('policy/v1', 'policy/v1beta1', 'v1'):
            yield 'POST', p + '/eviction?dryRun=All&fieldValidation=Strict', {'apiVersion': version, 'kind': 'Eviction', **body}, None
    for spec in ({}, {'expirationSeconds': 600}, {'expirationSeconds': 599}, {'expirationSeconds': 4294967297}, {'expirationSeconds': 'x'}, {'audiences': ['a']}, {'audiences': []},
                 {'audiences': 'x'}, {'boundObjectRef': {}}, {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': pod}}, {'boundObjectRef': {'kind': 'Secret', 'apiVersion': 'v1', 'name': 'no'}},
                 {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'no'}}, {'boundObjectRef': {'kind': 'X', 'apiVersion': 'v1', 'name': 'no'}},
                 {'boundObjectRef': {'kind': 'Node', 'apiVersion': 'v1', 'name': 'no'}}, {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': pod, 'uid': 'x'}}, {'unknown': 1}):
        yield 'POST', s + '/token?dryRun=All&fieldValidation=Strict', {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest', 'spec': spec}, None
    for body in ({'metadata': {'name': 'other'}}, {'kind': 'Pod', 'apiVersion': 'v1'}, [], {'spec': None}):
        yield 'POST', s + '/token', body, None
    for path in ('/log', '/log?tailLines=-1', '/log?container=x', '/log?tailLines=x', '/log?sinceSeconds=0', '/log?sinceSeconds=1&sinceTime=2024-01-02T03:04:05Z', '/log?limitBytes=0', '/log?stream=x',
                 '/log?stream=Stdout&tailLines=1', '/log?previous=x', '/exec', '/exec?command=x', '/attach', '/portforward', '/proxy', '/proxy/x', '/status', '/ephemeralcontainers', '/resize', '/binding', '/eviction'):
        yield 'GET', p + path, None, None
        yield 'GET', p + 'nope' + path, None, None
    for body in ({'spec': {'containers': [{'name': 'c', 'resources': {'requests': {'cpu': '1'}}}]}}, {'spec': {'containers': [{'name': 'c', 'image': 'other'}]}}, {'spec': {'nodeName': 'x'}},
                 {'spec': {'containers': [{'name': 'c', 'resources': {'limits': {'memory': '-1'}}}]}}, {'metadata': {'labels': {'x': 'y'}}},
                 {'spec': {'ephemeralContainers': [{'name': 'e', 'image': 'i'}]}}, {'spec': {'ephemeralContainers': [{'name': 'c', 'image': 'i'}]}},
                 {'spec': {'ephemeralContainers': [{'name': 'e', 'image': 'i', 'ports': [{'containerPort': 1}], 'resources': {'limits': {'cpu': 1}}, 'targetContainerName': 'nope'}]}},
                 {'status': {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}, {'status': {'phase': 'Nope'}}, {'status': {'podIPs': [{'ip': 'x'}]}},
                 {'status': {'containerStatuses': [{'name': 'c', 'state': {'running': {}}}]}}, {'status': {'conditions': [{'type': 'Ready'}, {'type': 'Ready', 'status': 'x'}]}}):
        for name in ('/status', '/resize', '/ephemeralcontainers', ''):
            yield 'PATCH', p + name + '?dryRun=All', body, {'Content-Type': STRATEGIC}
    for body in ({'spec': {'finalizers': []}}, {'spec': {'finalizers': ['x']}}, {'metadata': {'name': 'other'}}, {}):
        yield 'PUT', base + '/finalize', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': namespace}, **body}, None


ATTRIBUTES = [None, {}, {'verb': 'get'}, {'verb': 'get', 'resource': 'pods', 'namespace': 'x'}, {'verb': '*', 'resource': '*', 'group': '*'},
              {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'rawSelector': 'a=b'}}, {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'requirements': [{'key': 'a', 'operator': 'In', 'values': ['b']}]}},
              {'verb': 'list', 'resource': 'pods', 'labelSelector': {'rawSelector': 'a', 'requirements': [{'key': 'x', 'operator': 'Exists'}]}},
              {'verb': 'list', 'resource': 'pods', 'labelSelector': {'requirements': []}}, {'verb': 'list', 'resource': 'pods', 'labelSelector': {'requirements': [{'key': '', 'operator': 'Nope'}]}},
              {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'requirements': [{'key': 'a', 'operator': 'Exists', 'values': ['x']}]}}, {'unknown': 1}, 'x']


def reviews(namespace):
    group = '/apis/authorization.k8s.io/v1'
    for attributes in ATTRIBUTES:
        for non_resource in (None, {}, {'path': '/healthz', 'verb': 'get'}):
            spec = {k: v for k, v in (('resourceAttributes', attributes), ('nonResourceAttributes', non_resource)) if v is not None}
            for kind, path, more in (('SelfSubjectAccessReview', group + '/selfsubjectaccessreviews', {}), ('SubjectAccessReview', group + '/subjectaccessreviews', {'user': 'u'}),
                                     ('SubjectAccessReview', group + '/subjectaccessreviews', {'groups': ['g'], 'extra': {'K': ['v']}}), ('SubjectAccessReview', group + '/subjectaccessreviews', {}),
                                     ('LocalSubjectAccessReview', '%s/namespaces/%s/localsubjectaccessreviews' % (group, namespace), {'user': 'u'})):
                yield 'POST', path + '?fieldValidation=Strict', {'apiVersion': 'authorization.k8s.io/v1', 'kind': kind, 'spec': {**spec, **more}}, None
    for spec in ({}, {'namespace': namespace}, {'namespace': ''}, None, {'unknown': 1}):
        yield 'POST', group + '/selfsubjectrulesreviews', {'spec': spec}, None
    for spec in ({}, {'token': ''}, {'token': 'x'}, {'token': 'test-token'}, {'token': 'test-token', 'audiences': ['a']}, None, {'token': 1}):
        yield 'POST', '/apis/authentication.k8s.io/v1/tokenreviews?fieldValidation=Strict', {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenReview', 'spec': spec}, None
    yield 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, None
    for kind in ('selfsubjectreviews', 'tokenreviews'):
        for body in ({'metadata': {'name': 'x'}}, {'kind': 'Pod', 'apiVersion': 'v1'}, {'unknown': 1}):
            yield 'POST', '/apis/authentication.k8s.io/v1/%s?fieldValidation=Strict' % kind, body, None
            yield 'POST', '/apis/authentication.k8s.io/v1/%s?dryRun=All' % kind, body, {'Accept': TABLE}


PATHS = ['/', '/api', '/api/', '/apis', '/apis/', '/api/v1/', '/api/v2', '/apis/apps', '/apis/apps/', '/apis/apps/v1/', '/apis/apps/v1beta1', '/apis/nope', '/version', '/version/', '/healthz', '/healthz/', '/healthz/ping',
         '/healthz/nope', '/healthz?verbose', '/healthz?exclude=ping', '/livez/etcd', '/readyz/log', '/livez?verbose=true', '/openapi', '/openapi/v2?x', '/openapi/v3/nope', '/openapi/v3/api/v1?hash=x', '/metrics/x', '/logs', '/debug/pprof',
         '/api/v1/namespaces/', '/api/v1/namespaces/default/', '/api/v1/namespaces/default', '/api/v1/namespaces/default/pods/', '/api/v1/namespaces//pods', '/api/v1//pods', '//api/v1/pods', '/api/v1/pods/x', '/api/v1/pods/x/y',
         '/api/v1/nodes/x', '/api/v1/nodes/x/status', '/api/v1/nodes/x/proxy', '/api/v1/namespaces/default/nodes', '/api/v1/watch/pods?timeoutSeconds=1', '/api/v1/watch/namespaces/default/pods/x?timeoutSeconds=1',
         '/api/v1/proxy/nodes/x', '/api/v1/namespaces/default/pods/%2e%2e', '/api/v1/namespaces/default/pods/a%2Fb', '/api/v1/namespaces/default/configmaps/%', '/api/v1/namespaces/default/services/x/proxy',
         '/api/v1/namespaces/default/services/x:y/proxy/', '/api/v1/namespaces/default/services/https:x:1/proxy/z', '/api/v1/componentstatuses/x', '/apis/apps/v1/namespaces/default/deployments/x/scale', '/.well-known/openid-configuration',
         '/openid/v1/jwks', '/ui', '/swagger.json', '/swaggerapi', '/index.html', '/apis/apiregistration.k8s.io/v1', '/apis/apiextensions.k8s.io/v1', '/apis/metrics.k8s.io/v1beta1', '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dx',
         '/api/v1/pods?fieldSelector=spec.nodeName%3Dx', '/api/v1/pods?fieldSelector=status.podIP%3D1.2.3.4', '/api/v1/secrets?fieldSelector=type%3DOpaque', '/api/v1/services?fieldSelector=spec.type%3DClusterIP', '/statusz', '/flagz']
MEDIA = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', 'text/html', 'text/plain', '*/*', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 'application/cbor',
         'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList', 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json', 'application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList',
         'application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList', 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer']


def places():
    for path in PATHS:
        for method in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'):
            yield method, path, {} if method in ('POST', 'PUT', 'PATCH') else None, None
        if not path.startswith(('/openapi', '/apis/nope')):
            for media in MEDIA:
                yield 'GET', path, None, {'Accept': media}


TEXTS = ['', ' ', 'null', '[]', '1', '"x"', '{', '{}', '{"kind":"ConfigMap"}', '{"apiVersion":"v1"}', '{"apiVersion":"v1","kind":"Nope"}', '{"apiVersion":"nope/v1","kind":"ConfigMap"}', '{"apiVersion":1}', '{"kind":1}', '{"apiVersion":"a/b/c","kind":"ConfigMap"}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":null}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":["a"]}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"Data":{"a":"b"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"},"data":{"c":"d"}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":"b","a":"c"}},"x":1,"x":2}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}trailing', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}{}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"not base64!"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"immutable":"yes"}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":"nope"}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":"2020-01-01T00:00:00Z","uid":"u","generation":5,"selfLink":"/x","deletionTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":3}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"5"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","generateName":"y-"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"Y-"}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"other"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","managedFields":[{"operation":"Nope"}]}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","managedFields":[{"manager":"m","operation":"Apply","fieldsType":"X"}]}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"P","name":"n","uid":"u","controller":true},{"apiVersion":"v1","kind":"P","name":"m","uid":"v","controller":true}]}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"P","name":"n","uid":"u"},{"apiVersion":"v1","kind":"P","name":"n","uid":"u"}]}}',
         '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","annotations":{"A b":"c","kubernetes.io/x/y":"z"}}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","finalizers":["a","kubernetes","a/b","a/b"]}}',
         '{"apiVersion":"v1","kind":"ConfigMapList","items":[]}', '{"apiVersion":"v1","kind":"List","items":[]}', '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}', '\ufeff{}', '{"a":"\\ud800"}', '// c\n{}', "{'a':1}", '{"a":NaN}', '{"a":01}', '{"a":1,}']


def texts(namespace):
    path = '/api/v1/namespaces/%s/configmaps' % namespace
    for text in TEXTS:
        for mode in ('', '&fieldValidation=Strict', '&fieldValidation=Ignore'):
            yield 'POST', path + '?dryRun=All' + mode, text, None
        yield 'POST', path + '?dryRun=All&fieldValidation=Strict', text, {'Content-Type': 'application/yaml'}
        yield 'PUT', path + '/x?dryRun=All', text, None
        for media in (None, '', 'application/vnd.kubernetes.protobuf', 'application/json; charset=utf-8', 'text/json', 'application/cbor'):
            yield 'POST', path + '?dryRun=All', text, {'Content-Type': media}
    for query in ('dryRun=', 'dryRun=all', 'dryRun=All&dryRun=All', 'dryRun=All&dryRun=x', 'fieldValidation=x', 'fieldValidation=', 'fieldManager=' + 'x' * 129, 'fieldManager=%00', 'fieldManager=a%0Ab', 'dryRun=All&pretty=true', 'dryRun=All&unknown=x',
                  'dryRun=All&timeout=x', 'dryRun=All&timeout=1s', 'dryRun=All&timeout=-1s', 'dryRun=All&timeout=100h'):
        yield 'POST', path + '?' + query, {'metadata': {'name': 'queried'}}, None
