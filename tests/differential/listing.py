"""Lists in pages, collections deleted by selectors, and watches of all forms."""

MERGE = 'application/merge-patch+json'
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
PARTIALS = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
WATCH = '?watch=1&timeoutSeconds=1'


def pages(base):
    place = base + '/configmaps'
    for number in range(7):
        yield 'POST', place, {'metadata': {'name': 'm%d' % number, 'labels': {'n': str(number), 'odd': str(number % 2)}}, 'data': {'a': 'b'}}, None
    version = {'rv': ('metadata', 'resourceVersion')}
    following = {'next': ('metadata', 'continue'), 'rv': ('metadata', 'resourceVersion')}
    for query in ('limit=3', 'limit=3&labelSelector=odd%3D1', 'limit=2&fieldSelector=metadata.name!%3Dm0', 'limit=3&resourceVersion=0', 'limit=500', 'limit=7', 'limit=3&resourceVersion=0&resourceVersionMatch=NotOlderThan', 'limit=0', 'limit=3&pretty=true'):
        for accept in ('application/json', TABLE, PARTIALS, 'application/vnd.kubernetes.protobuf', 'application/yaml'):
            yield 'GET', place + '?' + query, None, {'Accept': accept}
        yield 'GET', place + '?' + query, None, None, following
        if 'limit=3' in query:
            yield 'GET', place + '?' + query + '&continue=${next}', None, None
            yield 'GET', place + '?limit=2&continue=${next}', None, None, following
            yield 'GET', place + '?limit=2&continue=${next}', None, {'Accept': TABLE}
            yield 'GET', place + '?continue=${next}', None, None
            yield 'GET', place + '?limit=2&continue=${next}&resourceVersion=${rv}', None, None
            yield 'GET', place + '?limit=2&continue=${next}&resourceVersion=0', None, None
            yield 'GET', place + '?limit=2&continue=${next}&resourceVersionMatch=Exact', None, None
            yield 'GET', '/api/v1/configmaps?limit=2&continue=${next}', None, None
            yield 'GET', base + '/secrets?limit=2&continue=${next}', None, None
    yield 'GET', place + '?limit=1', None, None, version
    for query in ('resourceVersion=${rv}', 'resourceVersion=${rv}&resourceVersionMatch=Exact', 'resourceVersion=${rv}&resourceVersionMatch=NotOlderThan', 'resourceVersion=${rv}&resourceVersionMatch=Exact&limit=2', 'resourceVersion=${rv}&limit=2',
                  'resourceVersion=1&resourceVersionMatch=Exact', 'resourceVersion=1&limit=2', 'resourceVersion=-1', 'resourceVersion=1.5', 'resourceVersion=&resourceVersionMatch=NotOlderThan', 'limit=2&limit=3', 'labelSelector=odd%3D1&labelSelector=n%3D1',
                  'labelSelector=n+in+(1,2),odd', 'labelSelector=!n', 'labelSelector=n+notin+(1)', 'labelSelector=n%3E3', 'labelSelector=n%3C3', 'labelSelector=n%3Ex', 'labelSelector=n!%3D1', 'labelSelector=', 'labelSelector=,', 'labelSelector=n,,odd', 'labelSelector=n+in',
                  'labelSelector=n+in+1', 'labelSelector=n+in+(1', 'labelSelector=n+nope+(1)', 'labelSelector=n+in+(1,)', 'labelSelector=n%3D%3D1', 'labelSelector=n%3D1,', 'labelSelector=n+exists', 'labelSelector=(n)', 'labelSelector=a/b/c%3D1', 'labelSelector=A/b',
                  'labelSelector=n%3D!1', 'labelSelector=n+%3D+1', 'labelSelector=!n%3D1', 'labelSelector=n%3D1+2', 'labelSelector=n%3D-', 'labelSelector=in+in+(in)', 'labelSelector=notin', 'labelSelector=n%3E', 'labelSelector=n%3E1,2', 'labelSelector=%C3%A9',
                  'fieldSelector=metadata.name%3Dm1', 'fieldSelector=metadata.name%3D%3Dm1', 'fieldSelector=metadata.name!%3Dm1', 'fieldSelector=metadata.name%3Dm1,metadata.name%3Dm2', 'fieldSelector=metadata.name%3Dm1,', 'fieldSelector=,', 'fieldSelector=%3Dx',
                  'fieldSelector=metadata.name%3E1', 'fieldSelector=metadata.name+in+(x)', 'fieldSelector=metadata.name%3D', 'fieldSelector=metadata.labels%3Dx', 'fieldSelector=metadata.name%3Da%5C', 'fieldSelector=metadata.name%3Da%5Cx', 'fieldSelector=metadata.name%3Da%5C,b',
                  'fieldSelector=metadata.name%3Da%3Db', 'fieldSelector=metadata.name%3Dm1&labelSelector=n%3D1', 'fieldSelector=metadata.uid%3Dx'):
        for path in (place, '/api/v1/configmaps', base + '/pods', base.replace('/api/v1', '/apis/apps/v1') + '/deployments'):
            yield 'GET', path + '?' + query, None, None
        yield 'DELETE', place + '?dryRun=All&' + query, None, None
        yield 'GET', place + WATCH + '&' + query, None, None


def watches(base):
    place = base + '/configmaps'
    version = {'from': ('metadata', 'resourceVersion')}
    yield 'GET', place, None, None, version
    yield 'POST', place, {'metadata': {'name': 'w', 'labels': {'x': '1'}}}, None
    yield 'PATCH', place + '/w', {'metadata': {'labels': {'x': '2'}}}, {'Content-Type': MERGE}
    yield 'PATCH', place + '/w', {'metadata': {'labels': {'x': '1'}}, 'data': {'a': 'b'}}, {'Content-Type': MERGE}
    yield 'DELETE', place + '/w', None, None
    start = '&resourceVersion=${from}'
    for query in (start, start + '&labelSelector=x%3D1', start + '&labelSelector=x%3D2', start + '&fieldSelector=metadata.name%3Dw', start + '&fieldSelector=metadata.name%3Dother', start + '&allowWatchBookmarks=true', '&resourceVersion=0', '', '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
                  '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0&labelSelector=odd%3D1', '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan' + start, '&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan' + start,
                  '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', '&sendInitialEvents=false', '&sendInitialEvents=x', '&sendInitialEvents=true&resourceVersionMatch=Exact', '&resourceVersionMatch=NotOlderThan', '&resourceVersion=1', '&resourceVersion=99999999', '&limit=1&continue=x', '&timeoutSeconds=x',
                  '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=99999999', '&pretty=true' + start):
        for accept in ('application/json', TABLE, PARTIAL, 'application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch', 'application/vnd.kubernetes.protobuf', 'application/yaml', 'text/plain', PARTIALS,
                       'application/json;as=Table;v=v1beta1;g=meta.k8s.io'):
            if accept == 'application/json' or query in (start, '', '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true', '&resourceVersion=1'):
                yield 'GET', place + WATCH + query, None, {'Accept': accept}
    yield 'GET', place + WATCH + start + '&includeObject=Object', None, {'Accept': TABLE}
    yield 'GET', place + WATCH + start + '&includeObject=None', None, {'Accept': TABLE}
    yield 'GET', place + '/m1' + WATCH, None, None
    yield 'GET', '/api/v1/watch/namespaces/%s/configmaps?timeoutSeconds=1' % base.split('/')[-1] + start, None, None
    yield 'GET', '/api/v1/watch/namespaces/%s/configmaps/w?timeoutSeconds=1' % base.split('/')[-1] + start, None, None
    yield 'HEAD', place + WATCH, None, None
    yield 'POST', place + WATCH, {'metadata': {'name': 'never'}}, None
    pod = {'metadata': {'name': 'wp'}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}
    pods = base + '/pods'
    yield 'GET', pods, None, None, version
    yield 'POST', pods, pod, None
    yield 'PATCH', pods + '/wp/status', {'status': {'phase': 'Running', 'podIP': '1.2.3.4', 'podIPs': [{'ip': '1.2.3.4'}]}}, {'Content-Type': MERGE}
    yield 'POST', pods + '/wp/binding', {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': 'wp'}, 'target': {'kind': 'Node', 'name': 'nn'}}, None
    yield 'DELETE', pods + '/wp', None, None
    yield 'DELETE', pods + '/wp?gracePeriodSeconds=0', None, None
    for query in ('', '&fieldSelector=spec.nodeName%3Dnn', '&fieldSelector=spec.nodeName%3D', '&fieldSelector=status.phase%3DRunning', '&fieldSelector=status.podIP%3D1.2.3.4', '&fieldSelector=spec.restartPolicy%3DAlways', '&fieldSelector=spec.hostNetwork%3Dfalse'):
        for accept in ('application/json', TABLE, PARTIAL):
            yield 'GET', pods + WATCH + start + query, None, {'Accept': accept}


def collections(base):
    place = base + '/configmaps'
    for body in (None, {'dryRun': ['All']}, {'preconditions': {'uid': 'x'}, 'dryRun': ['All']}, {'preconditions': {'resourceVersion': 'x'}, 'dryRun': ['All']}, {'propagationPolicy': 'x'}, {'gracePeriodSeconds': -1, 'dryRun': ['All']}, [], {'kind': 'Pod', 'apiVersion': 'v1'}):
        for query in ('?labelSelector=n%3D5&dryRun=All', '?labelSelector=none&dryRun=All', '?limit=2&dryRun=All', '?resourceVersion=0&dryRun=All', '?fieldSelector=metadata.name%3Dm4&dryRun=All', '?continue=x&dryRun=All', '?timeoutSeconds=1&dryRun=All'):
            yield 'DELETE', place + query, body, None
    yield 'DELETE', place + '?labelSelector=n%3D5', None, None
    yield 'DELETE', place + '?labelSelector=odd%3D1', {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Foreground'}, None
    yield 'GET', place, None, None
    yield 'DELETE', place + '?limit=1', None, {'Accept': TABLE}
    yield 'DELETE', place, None, {'Accept': PARTIALS}
    yield 'GET', place, None, None
