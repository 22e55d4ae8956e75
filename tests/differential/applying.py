"""Sequences of applies and updates by several managers, with everything the field sets say."""
import json

MERGE, STRATEGIC, JSON_PATCH, APPLY = ('application/merge-patch+json', 'application/strategic-merge-patch+json', 'application/json-patch+json', 'application/apply-patch+yaml')


def apply(place, manager, body, more=''):
    return 'PATCH', '%s?fieldManager=%s%s' % (place, manager, more), body if isinstance(body, str) else json.dumps(body), {'Content-Type': APPLY}


def of(kind, name, version='v1', **more):
    return {'apiVersion': version, 'kind': kind, 'metadata': {'name': name, **more.pop('metadata', {})}, **more}


def merge(place, body, query=''):
    return 'PATCH', place + query, body, {'Content-Type': MERGE}


def config_maps(base):
    place = base + '/configmaps/applied'
    thing = lambda **more: of('ConfigMap', 'applied', **more)  # noqa: E731
    yield apply(place, 'a', thing(data={'x': '1', 'y': '2'}))
    yield apply(place, 'b', thing(data={'x': '1', 'z': '3'}))
    yield apply(place, 'b', thing(data={'x': '5', 'z': '3'}))
    yield apply(place, 'c', thing(data={'x': '7', 'y': '8'}))
    yield apply(place, 'c', thing(data={'x': '7', 'y': '8'}), '&force=true&dryRun=All')
    yield apply(place, 'b', thing(data={'x': '5', 'z': '3'}), '&force=true')
    yield apply(place, 'a', thing(data={'y': '2'}))
    yield apply(place, 'a', thing())
    yield merge(place, {'data': {'z': '9', 'w': '1'}}, '?fieldManager=u')
    yield merge(place, {'data': {'w': '2'}}, '?fieldManager=v')
    yield apply(place, 'b', thing(data={'z': '3', 'w': '3'}))
    yield 'GET', place, None, None
    yield 'PUT', place + '?fieldManager=put', thing(data={'q': '1'}), None
    yield apply(place, 'b', thing(data={'q': '2'}))
    yield merge(place, {'metadata': {'managedFields': [{}]}})
    yield apply(place, 'b', thing(data={'q': '2'}))
    yield apply(place, 'b', thing(data={'q': '3'}, metadata={'labels': {'a': 'b'}, 'annotations': {'c': 'd'}, 'finalizers': ['x/y'], 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u'}]}), '&force=true')
    yield apply(place, 'c', thing(metadata={'finalizers': ['x/y', 'z/z'], 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'A', 'name': 'other', 'uid': 'u'}, {'apiVersion': 'v1', 'kind': 'B', 'name': 'n', 'uid': 'w'}]}))
    yield apply(place, 'b', thing())
    for body in (thing(metadata={'managedFields': [{'manager': 'x'}]}), thing(metadata={'managedFields': []}), thing(metadata={'uid': 'x'}), thing(metadata={'resourceVersion': '1'}), thing(metadata={'namespace': 'other'}), of('ConfigMap', 'else'),
                 of('Secret', 'applied'), of('ConfigMap', 'applied', 'v2'), {'apiVersion': 'v1'}, {'kind': 'ConfigMap'}, {}, [], 'x', thing(unknown=1), thing(data={'a': 1}), thing(data={'a': None}), thing(data=None), thing(data=[]),
                 thing(metadata={'labels': {'-x-': 'y'}}), thing(metadata={'creationTimestamp': None, 'generation': 5}), thing(metadata={'finalizers': ['x/y', 'x/y']}),
                 thing(metadata={'ownerReferences': [{'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u'}, {'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u'}]}), thing(metadata={'ownerReferences': [{'kind': 'A'}]}),
                 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata:\n  a: b\n  a: c\n', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\ndata:\n\ta: b\n', 'a: [', '---\napiVersion: v1\n---\nkind: x\n', thing(immutable=True, data={'i': 'j'})):
        for query in ('&dryRun=All', '&dryRun=All&fieldValidation=Strict', '&dryRun=All&force=true&fieldValidation=Ignore'):
            yield apply(place, 'wrong', body, query)
    for query in ('', '?force=true', '?fieldManager=', '?fieldManager=' + 'm' * 129, '?fieldManager=a%0Ab', '?fieldManager=ok&force=x', '?fieldManager=ok&force=false&dryRun=x', '?fieldManager=ok&fieldValidation=x'):
        yield 'PATCH', place + query, json.dumps(thing()), {'Content-Type': APPLY}
    yield merge(place, {'data': {'f': 'g'}}, '?force=true')
    yield 'POST', base + '/configmaps?fieldManager=maker', of('ConfigMap', 'made', data={'a': 'b'}), None
    yield apply(base + '/configmaps/made', 'maker', of('ConfigMap', 'made', data={'a': 'c'}))
    yield apply(base + '/configmaps/made', 'maker', of('ConfigMap', 'made', data={'a': 'c'}), '&force=true')
    yield 'PATCH', base + '/configmaps/made?fieldManager=j', [{'op': 'add', 'path': '/data/b', 'value': 'x'}], {'Content-Type': JSON_PATCH}
    yield apply(base + '/configmaps/fresh', 'm', of('ConfigMap', 'fresh', metadata={'uid': 'x'}))
    yield apply(base + '/configmaps/fresh', 'm', of('ConfigMap', 'fresh', metadata={'resourceVersion': '5'}))
    yield apply(base + '/configmaps/fresh', 'm', of('ConfigMap', 'fresh', metadata={'generateName': 'g-'}), '&dryRun=All')
    for name in ('applied', 'made'):
        yield merge(base + '/configmaps/' + name, {'metadata': {'finalizers': None}})
        yield 'DELETE', base + '/configmaps/' + name, None, None


def deployments(base):
    base = base.replace('/api/v1', '/apis/apps/v1')
    place = base + '/deployments/d'

    def thing(containers, replicas=None, **pod):
        spec = {'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': containers, **pod}}}
        return of('Deployment', 'd', 'apps/v1', spec={**({'replicas': replicas} if replicas is not None else {}), **spec})
    c = {'name': 'c', 'image': 'i'}
    yield apply(place, 'a', thing([c], 3))
    yield merge(place + '/scale', {'spec': {'replicas': 5}}, '?fieldManager=scaler')
    yield apply(place, 'a', thing([c], 3))
    yield apply(place, 'a', thing([c]))
    yield apply(place + '/scale', 's', {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': 'd'}, 'spec': {'replicas': 2}})
    yield apply(place + '/scale', 's', {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': 'd'}, 'spec': {'replicas': 2}}, '&force=true')
    yield 'GET', place, None, None
    for containers in ([{**c, 'env': [{'name': 'E', 'value': '1'}, {'name': 'E', 'value': '2'}]}], [{**c, 'ports': [{'containerPort': 80}, {'containerPort': 80, 'protocol': 'UDP'}]}], [{**c, 'ports': [{'containerPort': 80}, {'containerPort': 80}]}],
                       [c, c], [{'image': 'x'}], [{**c, 'name': None}], [{**c, 'name': 1}], [{**c, 'volumeMounts': [{'name': 'v', 'mountPath': '/a'}, {'name': 'v', 'mountPath': '/a'}]}], [{**c, 'args': ['a', 'a']}], [{**c, 'ports': [{'name': 'x'}]}],
                       [{**c, 'resources': {'limits': {'cpu': '1'}}}], [{**c, 'resources': {'limits': {'cpu': 1, 'memory': '1024Mi'}}}], [c, {'name': 'd', 'image': 'j', 'envFrom': [{'configMapRef': {'name': 'x'}}]}], [], None, [None], ['x']):
        yield apply(place, 'b', thing(containers), '&dryRun=All')
        yield apply(place, 'b', thing(containers), '&dryRun=All&force=true')
    yield apply(place, 'b', thing([{**c, 'image': 'j', 'env': [{'name': 'X', 'value': 'y'}]}], tolerations=[{'key': 'k'}], nodeSelector={'n': 'm'}, volumes=[{'name': 'v', 'emptyDir': {}}]), '&force=true')
    yield apply(place, 'c', thing([{'name': 'c', 'image': 'k', 'env': [{'name': 'X', 'value': 'z'}]}], tolerations=[{'key': 'l'}], volumes=[{'name': 'v', 'hostPath': {'path': '/x'}}]))
    yield apply(place, 'a', thing([{'name': 'e', 'image': 'k'}]))
    yield 'PATCH', place + '?fieldManager=sm', {'spec': {'template': {'spec': {'containers': [{'name': 'c', '$patch': 'delete'}]}}}}, {'Content-Type': STRATEGIC}
    yield apply(place + '/status', 'st', of('Deployment', 'd', 'apps/v1', status={'replicas': 1, 'conditions': [{'type': 'A', 'status': 'True'}]}))
    yield apply(place + '/status', 'st2', of('Deployment', 'd', 'apps/v1', status={'replicas': 2, 'conditions': [{'type': 'B', 'status': 'True'}]}))
    yield apply(place + '/status', 'st', of('Deployment', 'd', 'apps/v1', spec={'replicas': 9}, status={'conditions': []}))
    yield apply(place, 'st', of('Deployment', 'd', 'apps/v1', status={'replicas': 7}))
    yield 'GET', place, None, None
    yield 'PUT', place + '?fieldManager=p', thing([c], 4), None
    yield 'GET', place, None, None
    yield 'DELETE', place, None, None


def services(base):
    place = base + '/services/s'
    thing = lambda ports, **more: of('Service', 's', spec={'ports': ports, **more})  # noqa: E731
    yield apply(place, 'a', thing([{'port': 80, 'name': 'h'}], selector={'a': 'b'}))
    for ports in ([{'port': 80, 'protocol': 'TCP', 'name': 'h', 'targetPort': 8080}, {'port': 443, 'name': 'x'}], [{'port': 80, 'name': 'h'}, {'port': 80, 'name': 'x'}], [{'port': 81, 'name': 'h'}], [{'name': 'x'}], [{'port': '80', 'name': 'x'}], [{'port': 80, 'protocol': 'UDP', 'name': 'u'}],
                  []):
        yield apply(place, 'b', thing(ports), '&dryRun=All')
        yield apply(place, 'b', thing(ports), '&dryRun=All&force=true')
    yield apply(place, 'b', thing([{'port': 443, 'name': 'x'}], externalIPs=['1.2.3.4'], loadBalancerSourceRanges=['1.0.0.0/8']))
    yield apply(place, 'b', thing([{'port': 443, 'name': 'x'}]))
    yield apply(place + '/status', 'l', of('Service', 's', status={'loadBalancer': {'ingress': [{'ip': '1.2.3.4'}]}, 'conditions': [{'type': 'A', 'status': 'True', 'reason': 'R', 'message': '', 'lastTransitionTime': '2024-01-02T03:04:05Z'}]}))
    yield 'GET', place, None, None
    yield 'DELETE', place, None, None
    accounts = base + '/serviceaccounts/sa'
    yield apply(accounts, 'a', of('ServiceAccount', 'sa', secrets=[{'name': 'a'}], imagePullSecrets=[{'name': 'x'}]))
    yield apply(accounts, 'b', of('ServiceAccount', 'sa', secrets=[{'name': 'b'}], imagePullSecrets=[{'name': 'y'}]))
    yield apply(accounts, 'b', of('ServiceAccount', 'sa', secrets=[{'name': 'b'}, {'name': 'b'}], imagePullSecrets=[{'name': 'y'}, {'name': 'y'}]))
    yield 'DELETE', accounts, None, None


def autoscalers(base):
    """Kinds with two versions: what one applies in one is owned in that version."""
    scalers = base.replace('/api/v1', '/apis/autoscaling/v%d') + '/horizontalpodautoscalers/h'
    reference = {'kind': 'Deployment', 'name': 'd', 'apiVersion': 'apps/v1'}
    yield apply(scalers % 1, 'a', of('HorizontalPodAutoscaler', 'h', 'autoscaling/v1', spec={'maxReplicas': 3, 'scaleTargetRef': reference, 'targetCPUUtilizationPercentage': 50}))
    yield 'GET', scalers % 2, None, None
    yield apply(scalers % 2, 'b', of('HorizontalPodAutoscaler', 'h', 'autoscaling/v2', spec={'maxReplicas': 4, 'scaleTargetRef': reference}))
    yield apply(scalers % 2, 'a', of('HorizontalPodAutoscaler', 'h', 'autoscaling/v2', spec={'maxReplicas': 4, 'scaleTargetRef': reference}))
    yield apply(scalers % 1, 'a', of('HorizontalPodAutoscaler', 'h', 'autoscaling/v2', spec={'maxReplicas': 4, 'scaleTargetRef': reference}))
    yield merge(scalers % 1, {'spec': {'minReplicas': 2}}, '?fieldManager=u')
    yield 'GET', scalers % 1, None, None
    yield 'GET', scalers % 2, None, None
    yield 'DELETE', scalers % 1, None, None
    events, old = base.replace('/api/v1', '/apis/events.k8s.io/v1') + '/events/e', base + '/events/e'
    yield apply(events, 'a', of('Event', 'e', 'events.k8s.io/v1', regarding={'kind': 'Pod', 'name': 'p'}, reason='R', type='Normal', action='A', reportingController='a.b/c', reportingInstance='i', eventTime='2024-01-02T03:04:05.000000Z'))
    yield 'GET', old, None, None
    yield apply(old, 'b', of('Event', 'e', reason='S'))
    yield merge(events, {'note': 'n', 'series': {'count': 2, 'lastObservedTime': '2024-01-02T03:04:06.000000Z'}}, '?fieldManager=u')
    yield 'GET', old, None, None
    yield 'DELETE', old, None, None


def sequences(base):
    for part in (config_maps, deployments, services, autoscalers):
        yield from part(base)
