"""The documents of two servers, taken apart: discovery, OpenAPI, metrics, health."""
import json
import re

WORDS = ('description', 'title')  # of these, only that they are there


def document(server, path, accept='application/json'):
    response, data = server.ask('GET', path, headers={'Accept': accept})
    try:
        body = json.loads(data)
    except ValueError:
        body = data.decode(errors='replace')
    headers = {k: v for k, v in response.headers.items() if k.lower() in ('content-type', 'vary', 'etag', 'x-varied-accept', 'cache-control', 'last-modified', 'expires')}
    return {'code': response.status, 'headers': {k: v if k.lower() in ('content-type', 'vary', 'cache-control') else '<set>' for k, v in headers.items()}, 'body': body}


def named(value):
    """Lists whose items have names become maps, so that each difference is said once."""
    if isinstance(value, dict):
        return {k: ('<there>' if v else v) if k in WORDS and isinstance(v, str) else named(v) for k, v in value.items()}
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        keys = [json.dumps([v.get(k) for k in ('name', 'in', 'resource', 'subresource', 'version', 'groupVersion', 'group', 'kind', '$ref', 'metadata') if k in v], sort_keys=True) for v in value]
        if len(set(keys)) == len(keys):
            return {k: named(v) for k, v in zip(keys, value)}
    return [named(v) for v in value] if isinstance(value, list) else value


def differences(one, other, path=''):
    if isinstance(one, dict) and isinstance(other, dict):
        out = []
        for key in list(one) + [k for k in other if k not in one]:
            place = '%s.%s' % (path, key)
            if key not in other:
                out.append('%s: reference only: %s' % (place, json.dumps(one[key])[:200]))
            elif key not in one:
                out.append('%s: subject only: %s' % (place, json.dumps(other[key])[:200]))
            else:
                out += differences(one[key], other[key], place)
        return out
    return [] if one == other else ['%s: %s, got %s' % (path, json.dumps(one)[:200], json.dumps(other)[:200])]


def metric_names(text):
    return {m[1]: m[2] for m in re.finditer(r'(?m)^# TYPE (\S+) (\S+)', text)} if isinstance(text, str) else text


def pairs(one, other):
    """What each of two servers says: a name, and the two."""
    both = lambda *request: [document(server, *request) for server in (one, other)]  # noqa: E731
    v3 = both('/openapi/v3')
    yield 'openapi v3 paths', *[sorted(d['body'].get('paths', {})) for d in v3]
    for path in v3[0]['body'].get('paths', {}):
        first, second = both('/openapi/v3/' + path)
        yield 'openapi v3 ' + path, named(first), named(second)
    yield 'openapi v2', *map(named, both('/openapi/v2'))
    groups = one.call('GET', '/apis')[1]['groups']
    for path in ['/api', '/apis', '/api/v1'] + ['/apis/' + v['groupVersion'] for g in groups for v in g['versions']] + ['/apis/' + g['name'] for g in groups]:
        yield 'discovery ' + path, *map(named, both(path))
    for media in ('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList', 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'):
        for path in ('/api', '/apis'):
            yield 'discovery %s %s' % (path, media), *map(named, both(path, media))
    metrics = [metric_names(d['body']) for d in both('/metrics', 'text/plain')]
    yield 'metrics', *[{k: v for k, v in names.items() if re.match('apiserver|rest_client|etcd|watch_cache|kubernetes|authentication|authorization|admission|workqueue|go_|process_|grpc_client|aggregator|node_authorizer|serviceaccount', k)} for names in metrics]
    for path in ('/healthz?verbose', '/livez?verbose', '/readyz?verbose', '/healthz?verbose&exclude=etcd', '/livez?verbose&exclude=nope', '/readyz/etcd', '/healthz/etcd', '/version', '/flagz', '/statusz', '/', '/debug/api_priority_and_fairness/dump_priority_levels',
                 '/debug/api_priority_and_fairness/dump_queues', '/debug/api_priority_and_fairness/dump_requests', '/metrics/slis', '/debug/flags/v', '/.well-known/openid-configuration'):
        yield path, *both(path, 'text/plain, application/json')
