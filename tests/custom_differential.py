#!/usr/bin/env python3
"""Compares what two API servers say to the same custom resource definitions and objects, made by mutation.

    custom_differential.py REFERENCE SUBJECT --token T [--seed N] [--definitions N] [--objects N] [--updates N] [--show N]

REFERENCE and SUBJECT are URLs of fresh servers that take the same administrator's token: kube-apiserver and
`flyball apiserver --token-auth-file`. Prints the cases whose status, message, causes or warnings differ, and ends with
`N compared, M differ`. Not a test of ./dev test: it needs kube-apiserver. Standard library only.
"""
import argparse
import copy
import http.client
import json
import random
import ssl
import sys
import time
import urllib.parse

GROUP = 'diff.example.com'
DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
CONTEXT = ssl.create_default_context()
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE


class Server:
    def __init__(self, url, token):
        self.address, self.token, self.connection = urllib.parse.urlparse(url), token, None

    def call(self, method, path, body=None, content='application/json'):
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        headers = {'Authorization': 'Bearer ' + self.token, 'Accept': 'application/json'}
        if data is not None:
            headers['Content-Type'] = content
        for attempt in (0, 1):
            try:
                if not self.connection:
                    self.connection = http.client.HTTPSConnection(self.address.hostname, self.address.port, context=CONTEXT, timeout=60)
                self.connection.request(method, path, data, headers)
                response = self.connection.getresponse()
                text = response.read()
                return response.status, json.loads(text), sorted(response.headers.get_all('Warning') or [])
            except (ConnectionError, http.client.HTTPException, OSError):
                self.connection = None
                if attempt:
                    raise


def definition(plural, schema, **more):
    kind = plural[:-1].capitalize()
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': plural + '.' + GROUP},
            'spec': {'group': GROUP, 'scope': 'Namespaced', 'names': {'plural': plural, 'kind': kind},
                     'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}, **more}]}}


def rich_schema():
    return {'type': 'object', 'required': ['spec'], 'properties': {
        'spec': {'type': 'object', 'required': ['name'], 'x-kubernetes-validations': [
            {'rule': 'self.count <= self.limit', 'message': 'count over limit'},
            {'rule': '!has(self.word) || self.word != "bad"', 'reason': 'FieldValueForbidden', 'fieldPath': '.word'}],
            'properties': {
            'name': {'type': 'string', 'minLength': 2, 'maxLength': 8, 'pattern': '^[a-z]+$'},
            'count': {'type': 'integer', 'format': 'int32', 'minimum': 0, 'maximum': 100, 'default': 1},
            'limit': {'type': 'integer', 'format': 'int64', 'default': 50},
            'big': {'type': 'integer'},
            'ratio': {'type': 'number', 'format': 'double', 'multipleOf': 0.5},
            'small': {'type': 'number', 'format': 'float', 'exclusiveMinimum': True, 'minimum': 0},
            'word': {'type': 'string', 'enum': ['good', 'bad', 'ugly']},
            'when': {'type': 'string', 'format': 'date-time'},
            'day': {'type': 'string', 'format': 'date'},
            'wait': {'type': 'string', 'format': 'duration'},
            'link': {'type': 'string', 'format': 'uri'},
            'ip': {'type': 'string', 'format': 'ipv4'},
            'mail': {'type': 'string', 'format': 'email'},
            'id': {'type': 'string', 'format': 'uuid'},
            'blob': {'type': 'string', 'format': 'byte'},
            'port': {'x-kubernetes-int-or-string': True, 'anyOf': [{'type': 'integer'}, {'type': 'string'}]},
            'on': {'type': 'boolean', 'nullable': True},
            'tags': {'type': 'array', 'x-kubernetes-list-type': 'set', 'maxItems': 3, 'items': {'type': 'string', 'maxLength': 4}},
            'plain': {'type': 'array', 'minItems': 1, 'items': {'type': 'integer', 'maximum': 9}},
            'parts': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['key'], 'maxItems': 4,
                      'items': {'type': 'object', 'required': ['key'], 'properties': {
                          'key': {'type': 'string', 'maxLength': 5},
                          'size': {'type': 'integer', 'maximum': 10, 'x-kubernetes-validations': [{'rule': 'self != 7', 'message': 'no sevens'}]},
                          'mode': {'type': 'string', 'default': 'm'}}}},
            'labels': {'type': 'object', 'maxProperties': 3, 'additionalProperties': {'type': 'string', 'maxLength': 3}},
            'atom': {'type': 'object', 'x-kubernetes-map-type': 'atomic', 'properties': {'a': {'type': 'string'}, 'b': {'type': 'integer'}}},
            'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True, 'properties': {'known': {'type': 'integer'}}},
            'object': {'type': 'object', 'x-kubernetes-embedded-resource': True, 'x-kubernetes-preserve-unknown-fields': True},
            'fixed': {'type': 'string', 'x-kubernetes-validations': [{'rule': 'self == oldSelf', 'message': 'is fixed'}]},
            'maybe': {'type': 'string', 'nullable': True, 'enum': ['a', None]},
            'choice': {'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'integer'}, 'z': {'type': 'boolean'}},
                       'oneOf': [{'required': ['x']}, {'required': ['y']}], 'not': {'required': ['z']}},
            'both': {'type': 'object', 'properties': {'a': {'type': 'string'}, 'b': {'type': 'integer'}},
                     'allOf': [{'properties': {'a': {'maxLength': 3}}}, {'properties': {'b': {'maximum': 5}}}],
                     'anyOf': [{'required': ['a']}, {'properties': {'b': {'minimum': 2}}}]},
        }},
        'status': {'type': 'object', 'properties': {'seen': {'type': 'integer'}}}}}


def good_object(name='o'):
    return {'apiVersion': GROUP + '/v1', 'kind': 'Rich', 'metadata': {'name': name, 'namespace': 'default'}, 'spec': {
        'name': 'abc', 'count': 3, 'limit': 9, 'big': 5, 'ratio': 1.5, 'small': 0.5, 'word': 'good', 'when': '2024-01-02T03:04:05Z', 'day': '2024-01-02',
        'wait': '3s', 'link': 'http://a.b/c', 'ip': '1.2.3.4', 'mail': 'a@b.c', 'id': '123e4567-e89b-12d3-a456-426614174000', 'blob': 'YQ==',
        'port': 80, 'on': True, 'tags': ['a', 'b'], 'plain': [1, 2], 'parts': [{'key': 'k', 'size': 1}, {'key': 'l'}],
        'labels': {'a': 'b'}, 'atom': {'a': 'x', 'b': 1}, 'free': {'known': 1, 'other': {'a': 1}},
        'object': {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'}, 'spec': {'x': 1}}, 'fixed': 'f',
        'choice': {'x': 's'}, 'both': {'a': 'abc', 'b': 3}}, 'status': {'seen': 1}}


SCALARS = [0, 1, -1, 7, 3, 100, 101, 2147483648, -2147483649, 9223372036854775807, 1e40, 1.5, 0.25, 3.0, '', 'a', 'abc', 'abcdefghij', 'ABC', 'bad', 'good',
           'héllo', 'x y', 'http://x', '1.2.3.4', 'YQ=', '2024-13-01', '3 s', True, False, None, [], {}, [1], [1, 1], ['a'], ['a', 'a'], [None], {'a': 1},
           {'a': None}, {'key': 'k'}, [{'key': 'k'}], [{'key': 'k'}, {'key': 'k', 'size': 7}], [{}], [{'size': 11}]]


def places(value, path=()):
    """Every place below a value: the path of its container and the key in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield path, key
        yield from places(child, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def mutate(chance, value, below, replacements, names):
    """Changes one thing below the path `below`; says what."""
    path, key = chance.choice([p for p in places(value) if p[0][:len(below)] == below or p[0] + (p[1],) == below])
    holder = at(value, path)
    how = chance.choice(('replace', 'replace', 'replace', 'remove', 'add', 'copy'))
    if how == 'remove':
        del holder[key]
    elif how == 'add' and isinstance(holder, dict):
        holder[chance.choice(names)] = copy.deepcopy(chance.choice(replacements))
    elif how == 'copy' and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[key] = copy.deepcopy(chance.choice(replacements))
    return '%s %s' % (how, '.'.join(map(str, path + (key,))))


KEYWORDS = {
    'type': ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null', '', 'strng'],
    'format': ['int32', 'int64', 'float', 'double', 'date-time', 'nope', 'byte', 'ipv4', 'k8s-short-name', 'int-or-string', 'password', 'cidr', 'isbn'],
    'nullable': [True, False], 'default': SCALARS, 'enum': [[], ['a'], ['a', 'a'], [1, 'a', None], ['b', {}]], 'title': ['t'], 'description': ['d', 1],
    'minimum': [0, 5, -1.5], 'maximum': [0, 5], 'exclusiveMaximum': [True], 'exclusiveMinimum': [True], 'minLength': [0, 3, -1], 'maxLength': [0, 3, -1, 1.5],
    'pattern': ['^a', '[', '(?<n>a)', ''], 'minItems': [1], 'maxItems': [2, 5], 'uniqueItems': [True, False], 'multipleOf': [2, 0, -1, 0.5],
    'minProperties': [1], 'maxProperties': [2], 'required': [['a'], [], ['a', 'a'], 'a'], 'items': [{'type': 'string'}, {}, [{'type': 'string'}], True],
    'properties': [{'a': {'type': 'string'}}, {'a': {}}, {}, {'metadata': {'type': 'object'}}, {'': {'type': 'string'}}],
    'additionalProperties': [True, False, {'type': 'string'}, {}], 'allOf': [[{'properties': {'a': {'maxLength': 1}}}], [{'type': 'string'}], [{}], []],
    'anyOf': [[{'type': 'integer'}, {'type': 'string'}], [{'required': ['zz']}], [{'properties': {'zz': {'minimum': 1}}}]],
    'oneOf': [[{'required': ['a']}, {'not': {'required': ['b']}}], [{'items': {'maximum': 3}}], [{'additionalProperties': False}]],
    'not': [{}, {'type': 'string'}, {'required': ['a']}, {'properties': {'q': {'not': {'minimum': 4}}}}],
    'x-kubernetes-preserve-unknown-fields': [True, False], 'x-kubernetes-embedded-resource': [True, False], 'x-kubernetes-int-or-string': [True, False],
    'x-kubernetes-list-type': ['atomic', 'set', 'map', 'nope', ''], 'x-kubernetes-map-type': ['granular', 'atomic', 'nope'],
    'x-kubernetes-list-map-keys': [['key'], ['key', 'key'], ['zz'], []],
    'x-kubernetes-validations': [[{'rule': 'self == oldSelf'}], [{'rule': ''}], [{'rule': 'self.nope == 1'}], [{'rule': 'true', 'message': ''}],
                                 [{'rule': 'true', 'message': 'a\nb'}], [{'rule': 'true', 'messageExpression': '1'}], [{'rule': 'true', 'reason': 'Nope'}],
                                 [{'rule': 'true', 'fieldPath': '.zz'}], [{'rule': 'true', 'fieldPath': 'zz'}], [{'rule': 'self == oldSelf', 'optionalOldSelf': True}],
                                 [{'rule': '1'}], [{'rule': 'self.all(x, self.all(y, x == y))'}], [{'rule': 'has(self.a'}]],
    '$ref': ['#/x'], 'id': ['x'], 'dependencies': [{'a': ['b']}], 'definitions': [{}, {'a': {'type': 'string'}}], 'patternProperties': [{'a': {'type': 'string'}}],
    'additionalItems': [True, {'type': 'string'}], 'externalDocs': [{'url': 'x'}], 'example': [1], 'x-unknown': [1], '$schema': ['x'],
}
OUTSIDE = [0, 1, '', 'a', 'A', 'a.b', True, None, [], {}, ['a'], 'Cluster', 'v1', 'v1beta1', [{'name': 'x', 'type': 'string', 'jsonPath': '.a'}],
           [{'name': 'x', 'type': 'nope', 'jsonPath': 'a'}], {'status': {}}, {'scale': {'specReplicasPath': '.spec.a', 'statusReplicasPath': '.x'}},
           [{'jsonPath': '.spec.name'}], [{'jsonPath': '.spec.nope'}], {'strategy': 'Webhook'}, {'strategy': 'Nope'},
           {'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': ['v1'], 'clientConfig': {'url': 'http://x'}}}, 'x' * 64]
OUTSIDE_NAMES = ['shortNames', 'categories', 'singular', 'listKind', 'conversion', 'preserveUnknownFields', 'deprecated', 'deprecationWarning', 'subresources',
                 'additionalPrinterColumns', 'selectableFields', 'unknown', 'served', 'storage', 'name']


def schema_nodes(schema, path=()):
    yield path
    for name in schema.get('properties') or {}:
        if isinstance(schema['properties'][name], dict):
            yield from schema_nodes(schema['properties'][name], path + ('properties', name))
    for name in ('items', 'additionalProperties', 'not'):
        if isinstance(schema.get(name), dict):
            yield from schema_nodes(schema[name], path + (name,))
    for name in ('allOf', 'anyOf', 'oneOf'):
        for i, branch in enumerate(schema.get(name) or []):
            if isinstance(branch, dict):
                yield from schema_nodes(branch, path + (name, i))


def mutate_definition(chance, crd):
    if chance.random() < 0.15:
        return mutate(chance, crd, ('spec',), OUTSIDE, OUTSIDE_NAMES)
    schema = crd['spec']['versions'][0]['schema']['openAPIV3Schema']
    path = chance.choice(list(schema_nodes(schema)))
    node = at(schema, path)
    keyword = chance.choice(list(KEYWORDS))
    if chance.random() < 0.1 and node:
        keyword = chance.choice(list(node))
        del node[keyword]
        return 'remove %s %s' % ('.'.join(map(str, path)), keyword)
    node[keyword] = copy.deepcopy(chance.choice(KEYWORDS[keyword]))
    return 'set %s %s' % ('.'.join(map(str, path)), keyword)


def told(answer):
    """What a client sees of a refusal or a warning. Without an order: Go walks over maps in a random one."""
    status, body, warnings = answer
    if status < 300:
        spec = json.dumps(body.get('spec'), sort_keys=True) if body.get('kind') != 'CustomResourceDefinition' else ''
        return [status, spec, warnings]
    causes = sorted([c.get('field') or '', c.get('reason') or '', c.get('message') or ''] for c in (body.get('details') or {}).get('causes') or [])
    message = '' if causes else body.get('message', '')
    if 'strict decoding error' in message:
        message = ', '.join(sorted(message.split('error: ')[1].split(', ')))
    return [status, body.get('reason'), message, causes, warnings]


class Comparison:
    def __init__(self, servers, show):
        self.servers, self.show = servers, show
        self.compared = self.differ = 0

    def both(self, *request):
        return [server.call(*request) for server in self.servers]

    def judge(self, what, *request):
        self.weigh(what, self.both(*request))

    def weigh(self, what, answers):
        reference, subject = [told(answer) for answer in answers]
        self.compared += 1
        if reference == subject:
            return
        self.differ += 1
        if self.differ <= self.show:
            print('---', what)
            for one, other in zip(reference, subject):
                if one != other:
                    print('  reference:', one if isinstance(one, str) else json.dumps(one))
                    print('  subject:  ', other if isinstance(other, str) else json.dumps(other))
            if len(reference) != len(subject):
                print('  reference:', json.dumps(reference)[:600], '\n  subject:  ', json.dumps(subject)[:600])


def compare_definitions(comparison, chance, count):
    for number in range(count):
        crd = definition('made', rich_schema())
        said = []
        for _ in range(chance.choice((1, 1, 2))):
            try:
                said.append(mutate_definition(chance, crd))
            except (AttributeError, IndexError, KeyError, TypeError):
                break  # the first change left no schema to change
        mode = chance.choice(('Strict', 'Warn', 'Warn'))
        comparison.judge('definition %s %s' % (said, mode), 'POST', DEFINITIONS + '?dryRun=All&fieldValidation=' + mode, crd)


def serve(comparison, plural, schema):
    name = DEFINITIONS + '/%s.%s' % (plural, GROUP)
    comparison.both('POST', DEFINITIONS, definition(plural, schema, subresources={'status': {}}))
    path = '/apis/%s/v1/namespaces/default/%s' % (GROUP, plural)
    for server in comparison.servers:
        while server.call('GET', path)[0] == 404:
            time.sleep(0.1)
    return name, path


NAMES = ['unknown', 'name', 'count', 'a', 'z', 'y', 'key', 'size', 'labels', 'kind']


def compare_objects(comparison, chance, count):
    _, path = serve(comparison, 'richs', rich_schema())
    for number in range(count):
        thing = good_object()
        said = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            if isinstance(thing.get('spec'), dict) and thing['spec']:
                said.append(mutate(chance, thing, chance.choice((('spec',), ('spec',), ('spec',), ())), SCALARS, NAMES))
        mode = chance.choice(('Strict', 'Warn', 'Ignore'))
        text = json.dumps(thing)
        if chance.random() < 0.1:
            text = text.replace('"count":', '"count": 1, "count":').replace('"key":', '"key": "x", "unknown1": 1, "key":', 1)
            said.append('doubled')
        comparison.judge('object %s %s' % (said, mode), 'POST', path + '?dryRun=All&fieldValidation=' + mode, text)


def loose(node):
    """The schema without what it demands of values."""
    kept = ('type', 'properties', 'items', 'additionalProperties', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type',
            'x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource', 'nullable', 'default')
    out = {k: v for k, v in node.items() if k in kept}
    if out.get('x-kubernetes-list-type') == 'map':
        out['items'] = {**loose(node['items']), 'required': node['items']['required']}
    elif isinstance(out.get('items'), dict):
        out['items'] = loose(out['items'])
    if isinstance(out.get('additionalProperties'), dict):
        out['additionalProperties'] = loose(out['additionalProperties'])
    if 'properties' in out:
        out['properties'] = {k: loose(v) for k, v in out['properties'].items()}
    return out


def replace(server, path, thing):
    """Each server has resource versions of its own."""
    version = server.call('GET', path)[1]['metadata']['resourceVersion']
    return server.call('PUT', path + '?dryRun=All', {**thing, 'metadata': {**thing['metadata'], 'resourceVersion': version}})


def compare_updates(comparison, chance, count):
    """Objects that a stricter schema would refuse are changed: what stays may stay."""
    name, path = serve(comparison, 'olds', loose(rich_schema()))
    stored = []
    for number in range(count):
        thing = good_object('o%d' % number)
        thing['kind'] = 'Old'
        for _ in range(chance.randint(1, 4)):
            if isinstance(thing.get('spec'), dict) and thing['spec']:
                mutate(chance, thing, ('spec',), SCALARS, NAMES)
        if all(answer[0] == 201 for answer in comparison.both('POST', path, thing)):
            stored.append(thing['metadata']['name'])
    strict = {'spec': {'versions': [{'name': 'v1', 'served': True, 'storage': True, 'subresources': {'status': {}},
                                     'schema': {'openAPIV3Schema': rich_schema()}}]}}
    print('patched:', [answer[0] for answer in comparison.both('PATCH', name, json.dumps(strict), 'application/merge-patch+json')],
          len(stored), 'objects')
    time.sleep(3)
    for name in stored:
        old = comparison.servers[0].call('GET', path + '/' + name)[1]
        thing = {k: v for k, v in old.items() if k in ('apiVersion', 'kind', 'spec', 'status')}
        thing['metadata'] = {'name': name, 'namespace': 'default'}
        said = []
        for _ in range(chance.choice((0, 1, 1, 2))):
            if isinstance(thing.get('spec'), dict) and thing['spec']:
                said.append(mutate(chance, thing, ('spec',), SCALARS, NAMES))
        comparison.weigh('update %s of %s' % (said, json.dumps(old.get('spec'))),
                         [replace(server, path + '/' + name, thing) for server in comparison.servers])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('reference')
    parser.add_argument('subject')
    parser.add_argument('--token', required=True)
    parser.add_argument('--seed', type=int, default=1)
    for what in ('definitions', 'objects', 'updates', 'show'):
        parser.add_argument('--' + what, type=int, default=1000)
    options = parser.parse_args()
    comparison = Comparison([Server(url, options.token) for url in (options.reference, options.subject)], options.show)
    for compare, count in ((compare_definitions, options.definitions), (compare_objects, options.objects), (compare_updates, options.updates)):
        before = comparison.compared, comparison.differ
        if count:
            compare(comparison, random.Random(options.seed), count)
        print('%s: %d compared, %d differ' % (compare.__name__, comparison.compared - before[0], comparison.differ - before[1]))
    for plural in ('richs', 'olds'):
        comparison.both('DELETE', DEFINITIONS + '/%s.%s' % (plural, GROUP))
    print('%d compared, %d differ' % (comparison.compared, comparison.differ))
    return 1 if comparison.differ else 0


if __name__ == '__main__':
    sys.exit(main())
