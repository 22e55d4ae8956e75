"""Custom resources of every shape: how definitions and objects live, and what the documents say of them."""
import json

MERGE, STRATEGIC, JSON_PATCH, APPLY = ('application/merge-patch+json', 'application/strategic-merge-patch+json', 'application/json-patch+json', 'application/apply-patch+yaml')
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
GROUP = 'shapes.example.com'


def definition(plural, versions, scope='Namespaced', **spec):
    kind = plural[:-1].capitalize()
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': plural + '.' + GROUP},
            'spec': {'group': GROUP, 'scope': scope, 'names': {'plural': plural, 'kind': kind, **spec.pop('names', {})}, 'versions': versions, **spec}}


def version(name, properties, storage=True, required=(), **more):
    schema = {'type': 'object', 'properties': properties, **({'required': list(required)} if required else {})}
    return {'name': name, 'served': True, 'storage': storage, 'schema': {'openAPIV3Schema': schema}, **more}


STRING, INTEGER = {'type': 'string'}, {'type': 'integer'}
SPEC = {'spec': {'type': 'object', 'properties': {
    'replicas': {'type': 'integer', 'format': 'int32', 'default': 1, 'minimum': 0}, 'selector': STRING, 'color': {'type': 'string', 'enum': ['red', 'blue'], 'description': 'its color'}, 'when': {'type': 'string', 'format': 'date-time'},
    'list': {'type': 'array', 'items': STRING}, 'ratio': {'type': 'number'}, 'on': {'type': 'boolean', 'default': False},
    'ports': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port', 'protocol'], 'items': {'type': 'object', 'required': ['port'], 'properties': {
        'port': INTEGER, 'protocol': {'type': 'string', 'default': 'TCP'}, 'name': STRING}}},
    'set': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': STRING}, 'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}, 'any': {'x-kubernetes-preserve-unknown-fields': True},
    'map': {'type': 'object', 'additionalProperties': INTEGER}, 'quantity': {'x-kubernetes-int-or-string': True, 'anyOf': [{'type': 'integer'}, {'type': 'string'}], 'pattern': '^[0-9]+$'},
    'atom': {'type': 'object', 'x-kubernetes-map-type': 'atomic', 'properties': {'a': STRING, 'b': STRING}}, 'maybe': {'type': 'string', 'nullable': True},
    'template': {'type': 'object', 'x-kubernetes-embedded-resource': True, 'x-kubernetes-preserve-unknown-fields': True}}},
    'status': {'type': 'object', 'properties': {'replicas': INTEGER, 'selector': STRING, 'conditions': {'type': 'array', 'items': {'type': 'object', 'properties': {'type': STRING, 'status': STRING}}}}}}
COLUMNS = [{'name': 'Color', 'type': 'string', 'jsonPath': '.spec.color', 'description': 'its color'}, {'name': 'Replicas', 'type': 'integer', 'jsonPath': '.spec.replicas'}, {'name': 'When', 'type': 'date', 'jsonPath': '.spec.when'},
           {'name': 'Ready', 'type': 'string', 'jsonPath': '.status.conditions[?(@.type=="Ready")].status', 'priority': 1}, {'name': 'List', 'type': 'string', 'jsonPath': '.spec.list'}, {'name': 'First', 'type': 'string', 'jsonPath': '.spec.list[0]'},
           {'name': 'Ratio', 'type': 'number', 'format': 'double', 'jsonPath': '.spec.ratio'}, {'name': 'On', 'type': 'boolean', 'jsonPath': '.spec.on'}, {'name': 'All', 'type': 'string', 'jsonPath': '.spec.ports[*].port'}, {'name': 'Wrong', 'type': 'integer', 'jsonPath': '.spec.color'},
           {'name': 'Map', 'type': 'string', 'jsonPath': '.spec.map'}, {'name': 'Label', 'type': 'string', 'jsonPath': '.metadata.labels.app\\.kubernetes\\.io/name'}, {'name': 'Age', 'type': 'date', 'jsonPath': '.metadata.creationTimestamp'}]
SUBRESOURCES = {'status': {}, 'scale': {'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas', 'labelSelectorPath': '.status.selector'}}

SHAPES = [
    definition('plains', [version('v1', SPEC)]),
    definition('riches', [version('v1', SPEC, additionalPrinterColumns=COLUMNS, subresources=SUBRESOURCES, selectableFields=[{'jsonPath': '.spec.color'}, {'jsonPath': '.spec.replicas'}, {'jsonPath': '.spec.on'}])],
               names={'plural': 'riches', 'kind': 'Rich', 'shortNames': ['rc2', 'r2'], 'categories': ['all', 'shapes'], 'singular': 'rich', 'listKind': 'RichCollection'}),
    definition('manies', [version('v1beta1', {'spec': {'type': 'object', 'properties': {'old': STRING, 'kept': STRING}}}, False, deprecated=True), version('v1', {'spec': {'type': 'object', 'properties': {'kept': STRING, 'new': {'type': 'string', 'default': 'n'}}}}),
                          version('v2alpha1', SPEC, False, deprecated=True, deprecationWarning='use v1'), {**version('v3', SPEC, False), 'served': False}], 'Cluster', names={'kind': 'Many', 'listKind': 'ManyList'}),
    definition('loosies', [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}], names={'kind': 'Loosy'}),
    definition('rules', [version('v1', {'spec': {'type': 'object', 'required': ['a'], 'x-kubernetes-validations': [{'rule': 'self.a <= self.b', 'messageExpression': '"a is " + string(self.a)', 'reason': 'FieldValueForbidden', 'fieldPath': '.a'}, {'rule': 'self.b == oldSelf.b', 'message': 'b is fixed'}],
                                                      'properties': {'a': INTEGER, 'b': {'type': 'integer', 'default': 5}, 'c': {'type': 'string', 'maxLength': 5, 'x-kubernetes-validations': [{'rule': 'self.startsWith("x")'}]},
                                                                     'd': {'type': 'array', 'maxItems': 3, 'items': {'type': 'integer', 'x-kubernetes-validations': [{'rule': 'self > 0', 'message': 'positive'}]}}}}}, required=['spec'])], 'Cluster'),
    definition('metas', [version('v1', {'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 3, 'pattern': '^[a-z]+$'}}}, 'kind': STRING, 'apiVersion': STRING, 'spec': {'type': 'object', 'nullable': True}})]),
]
OBJECTS = [{}, {'spec': {}}, {'spec': {'color': 'red', 'replicas': 3, 'list': ['a', 'b'], 'when': '2024-01-02T03:04:05Z', 'ratio': 1.5, 'ports': [{'port': 1}, {'port': 1, 'protocol': 'UDP'}], 'set': ['a'], 'free': {'a': {'b': 1}}, 'any': [1], 'map': {'a': 1}, 'quantity': 5,
                                               'atom': {'a': 'x'}, 'maybe': None, 'template': {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'x', 'unknown': 1}, 'spec': {'x': 1}}}, 'status': {'replicas': 1}},
           {'spec': {'color': 'green', 'replicas': -1}}, {'spec': {'unknown': 1, 'a': 1, 'kept': 'k', 'old': 'o', 'new': 'x'}, 'top': 1}, {'spec': None}, {'spec': []}, {'spec': 'x'}, {'spec': {'a': 1}}, {'spec': {'a': 7}}, {'spec': {'a': 1, 'b': 2, 'c': 'abcdefg', 'd': [1, 0, -1, 4]}},
           {'spec': {'ports': [{'port': 1}, {'port': 1}], 'set': ['a', 'a'], 'quantity': 'x', 'map': {'a': 'b'}, 'maybe': 1, 'atom': {'c': 1}}}, {'spec': {'ports': [{}], 'when': 'x', 'ratio': 'y', 'on': None, 'replicas': None, 'color': None}},
           {'spec': {'template': {'kind': 'Pod'}}}, {'spec': {'template': {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': '-x', 'labels': {'a': 1}}}}}, {'spec': {'replicas': 1.0, 'ratio': 1, 'list': [1]}}, {'spec': {'replicas': 3000000000}},
           {'spec': {'template': {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'ownerReferences': [{}], 'creationTimestamp': None}}}}]


def life(definition, namespace):
    """One kind from its definition to its end."""
    spec = definition['spec']
    plural, kind, scope = spec['names']['plural'], spec['names']['kind'], spec['scope']
    name = definition['metadata']['name']
    yield 'POST', DEFINITIONS + '?dryRun=All&fieldManager=m', definition, None
    yield 'POST', DEFINITIONS + '?fieldManager=m', definition, None
    yield 'WAIT', '/apis/%s/%s/%s' % (GROUP, spec['versions'][0]['name'], plural), None, None
    yield 'POST', DEFINITIONS, definition, None
    for accept in ('application/json', TABLE, PARTIAL, 'application/yaml', 'application/vnd.kubernetes.protobuf'):
        yield 'GET', DEFINITIONS + '/' + name, None, {'Accept': accept}
    yield 'GET', '/apis/' + GROUP, None, None
    for v in spec['versions']:
        base = '/apis/%s/%s' % (GROUP, v['name'])
        yield 'GET', base, None, None
        yield 'GET', '/openapi/v3' + base, None, None
        place = base + ('/namespaces/%s/' % namespace if scope == 'Namespaced' else '/') + plural
        thing = lambda name, body: {'apiVersion': GROUP + '/' + v['name'], 'kind': kind, 'metadata': {'name': name}, **body}  # noqa: E731
        for number, body in enumerate(OBJECTS):
            for mode in ('Strict', 'Warn', 'Ignore'):
                yield 'POST', place + '?dryRun=All&fieldValidation=' + mode, thing('o', body), None
        name_of = 'o' + v['name'][-1:].replace('1', 'a').replace('2', 'b').replace('3', 'c')
        good = {'spec': {'color': 'red', 'replicas': 2, 'a': 1, 'b': 3, 'kept': 'k', 'ports': [{'port': 80}], 'set': ['x'], 'list': ['l'], 'ratio': 2.5}, 'status': {'replicas': 2, 'selector': 'a=b', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}
        yield 'POST', place + '?fieldManager=maker', thing(name_of, good), None
        one = place + '/' + name_of
        for accept in ('application/json', TABLE, PARTIAL, 'application/yaml', 'application/vnd.kubernetes.protobuf', 'application/vnd.kubernetes.protobuf,application/json', TABLE.replace('v=v1', 'v=v1beta1'), 'application/cbor'):
            yield 'GET', one, None, {'Accept': accept}
            yield 'GET', place, None, {'Accept': accept}
        yield 'GET', place + '?includeObject=Object', None, {'Accept': TABLE}
        for query in ('fieldSelector=spec.color%3Dred', 'fieldSelector=spec.color!%3Dred', 'fieldSelector=spec.replicas%3D2', 'fieldSelector=spec.on%3Dfalse', 'fieldSelector=metadata.name%3D' + name_of, 'fieldSelector=spec.nope%3Dx', 'labelSelector=a%3Db', 'limit=1',
                      'watch=1&timeoutSeconds=1', 'watch=1&timeoutSeconds=1&resourceVersion=0', 'watch=1&timeoutSeconds=1&fieldSelector=spec.color%3Dblue'):
            yield 'GET', place + '?' + query, None, None
        for other in spec['versions']:
            yield 'GET', one.replace('/%s/' % v['name'], '/%s/' % other['name'], 1), None, None
        for patch, media in (({'spec': {'color': 'blue'}}, MERGE), ({'spec': {'color': 'green'}}, MERGE), ({'spec': {'replicas': None, 'unknown': 1}}, MERGE), ({'spec': {'color': 'blue'}}, STRATEGIC), ([{'op': 'add', 'path': '/spec/list', 'value': ['z']}], JSON_PATCH),
                             ([{'op': 'test', 'path': '/spec/color', 'value': 'none'}], JSON_PATCH), ([{'op': 'remove', 'path': '/spec'}], JSON_PATCH), ({'status': {'replicas': 9}}, MERGE), ({'metadata': {'labels': {'app.kubernetes.io/name': 'x'}}}, MERGE), ({'spec': {'b': 4}}, MERGE),
                             ({'metadata': {'name': 'x'}}, MERGE), ({'metadata': {'labels': {'a': 1}}}, MERGE), ({'metadata': {'generation': 7}}, MERGE), ({'kind': 'X'}, MERGE), ({'apiVersion': 'x/v1'}, MERGE), ({'metadata': {'unknown': 1}}, MERGE)):
            yield 'PATCH', one + '?fieldManager=patcher', patch, {'Content-Type': media}
            yield 'PATCH', one + '?fieldValidation=Strict&dryRun=All', patch, {'Content-Type': media}
        for body, query in ((thing(name_of, {'spec': {'color': 'red', 'ports': [{'port': 80, 'name': 'h'}, {'port': 81}]}}), 'a'), (thing(name_of, {'spec': {'color': 'blue', 'ports': [{'port': 80, 'name': 'i'}], 'set': ['y'], 'list': ['m'], 'a': 1}}), 'b'),
                            (thing(name_of, {'spec': {'color': 'blue', 'set': ['y', 'y']}}), 'b&force=true'), (thing(name_of, {'spec': {'ports': [{'port': 80}, {'port': 80, 'protocol': 'TCP'}]}}), 'b&force=true'), (thing(name_of, {'spec': {'unknown': 1}}), 'b&force=true'),
                            (thing(name_of, {'spec': {'atom': {'a': '1'}, 'free': {'x': 1}, 'map': {'k': 1}, 'a': 1}}), 'b&force=true'), (thing(name_of, {'spec': {'atom': {'b': '1'}, 'free': {'x': 2}, 'map': {'k': 2, 'l': 3}, 'a': 2}}), 'c'), (thing(name_of, {'status': {'replicas': 3}}), 'd'),
                            (thing('fresh', {'spec': {'color': 'red', 'a': 1}}), 'a'), (thing(name_of, {'spec': {'color': 'x'}}), 'a&fieldValidation=Strict')):
            yield 'PATCH', place + '/' + body['metadata']['name'] + '?fieldManager=' + query, json.dumps(body), {'Content-Type': APPLY}
        for below in ('/status', '/scale', '/nope'):
            yield 'GET', one + below, None, None
            yield 'GET', one + below, None, {'Accept': TABLE}
            yield 'PUT', one + below, thing(name_of, {'spec': {'color': 'blue', 'replicas': 8, 'a': 1, 'b': 3}, 'status': {'replicas': 4, 'selector': 'c=d', 'unknown': 1}}), None
            yield 'PUT', one + below, {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': name_of}, 'spec': {'replicas': 6}}, None
            yield 'PATCH', one + below, {'status': {'replicas': 5}, 'spec': {'replicas': 7}, 'metadata': {'labels': {'s': 't'}}}, {'Content-Type': MERGE}
            yield 'PATCH', one + below, {'spec': {'replicas': -1}}, {'Content-Type': MERGE}
            yield 'PATCH', one + below + '?fieldManager=x', json.dumps({'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': name_of}, 'spec': {'replicas': 1}}), {'Content-Type': APPLY}
            yield 'PATCH', one + below + '?fieldManager=x', json.dumps(thing(name_of, {'status': {'replicas': 1}})), {'Content-Type': APPLY}
        yield 'GET', one, None, None
        yield 'PUT', one, thing(name_of, {'spec': {'color': 'red', 'a': 2, 'b': 3, 'c': 'xyz'}}), None
        yield 'PUT', one, thing(name_of, {'spec': {'color': 'red', 'a': 2, 'b': 4, 'c': 'abc'}}), None
        yield 'PUT', one, {**thing(name_of, {}), 'apiVersion': GROUP + '/v9'}, None
        yield 'PUT', one, {**thing(name_of, {}), 'kind': 'X'}, None
        yield 'PUT', one, {**thing(name_of, {}), 'metadata': {'name': name_of, 'resourceVersion': '1'}}, None
        yield 'PUT', place + '/new', thing('new', {'spec': {'a': 1}}), None
        for body in ('{', '[]', '{}', '{"kind":"%s"}' % kind, '{"apiVersion":"x"}', '{"metadata":{"name":1}}', '{"apiVersion":"%s/%s","kind":"%s","metadata":[]}' % (GROUP, v['name'], kind), '{"apiVersion":"%s/%s","kind":"%s","metadata":{"name":"x","name":"y"},"a":1,"a":2}' % (GROUP, v['name'], kind)):
            yield 'POST', place + '?dryRun=All&fieldValidation=Strict', body, None
            yield 'POST', place + '?dryRun=All', body, None
        yield 'POST', place + '?dryRun=All', thing('yaml', {'spec': {'a': 1}}), {'Content-Type': 'application/yaml'}
        yield 'POST', place + '?dryRun=All', 'k8s\x00', {'Content-Type': 'application/vnd.kubernetes.protobuf'}
        yield 'POST', place + '?dryRun=All', '{}', {'Content-Type': 'application/cbor'}
        yield 'POST', place, {'apiVersion': GROUP + '/' + v['name'], 'kind': kind, 'metadata': {'generateName': 'Gen-'}, 'spec': {'a': 1}}, None
        for bad in ('Bad', 'a' * 254, 'a.b', 'abcd', ''):
            yield 'POST', place + '?dryRun=All', thing(bad, {'spec': {'a': 1}}), None
        yield 'DELETE', one, {'preconditions': {'uid': 'x'}}, None
        yield 'DELETE', one + '?dryRun=All', None, None
        yield 'DELETE', one, {'propagationPolicy': 'Foreground'}, None
        yield 'PATCH', one, {'metadata': {'finalizers': None}}, {'Content-Type': MERGE}
        yield 'DELETE', place + '/fresh', None, None
        yield 'DELETE', place, None, None
    change = [{'spec': {'group': 'x.y'}}, {'spec': {'scope': 'Cluster'}}, {'spec': {'names': {'plural': 'x'}}}, {'spec': {'names': {'kind': 'Other'}}}, {'spec': {'names': {'shortNames': ['zz'], 'categories': ['c', 'c']}}}, {'spec': {'versions': []}}, {'spec': {'conversion': {'strategy': 'Webhook'}}},
              {'spec': {'preserveUnknownFields': True}}, {'status': {'storedVersions': ['v0']}}, {'metadata': {'finalizers': ['a/b']}}, {'spec': {'versions': [{**spec['versions'][0], 'storage': False}]}}, {'spec': {'versions': [{**spec['versions'][0], 'name': 'v7', 'storage': True}]}}]
    for patch in change:
        yield 'PATCH', DEFINITIONS + '/%s?dryRun=All' % name, patch, {'Content-Type': MERGE}
        yield 'PATCH', DEFINITIONS + '/%s/status?dryRun=All' % name, patch, {'Content-Type': MERGE}
    yield 'DELETE', DEFINITIONS + '/' + name, None, None


# Definitions with a thing wrong outside of their schemas, and rules that are not good.
def wrong():
    good = definition('goods', [version('v1', SPEC)])

    def changed(**spec):
        return {**good, 'spec': {**good['spec'], **spec}}
    one = version('v1', SPEC)
    rule = lambda *rules, **schema: version('v1', {'spec': {'type': 'object', 'properties': {'a': STRING, 'n': INTEGER, 'l': {'type': 'array', 'items': STRING}, 'm': {'type': 'object', 'additionalProperties': STRING}}, 'x-kubernetes-validations': list(rules), **schema}})  # noqa: E731
    bodies = [changed(group=''), changed(group='x'), changed(group='Bad.x'), changed(scope=''), changed(scope='x'), changed(versions=None), changed(versions=[]), changed(versions=[one, one]), changed(versions=[{**one, 'storage': False}]), changed(versions=[one, {**one, 'name': 'v2'}]),
              changed(versions=[{**one, 'name': 'V1'}]), changed(versions=[{**one, 'name': '1'}]), changed(versions=[{k: v for k, v in one.items() if k != 'schema'}]), changed(versions=[{**one, 'schema': {}}]), changed(versions=[{**one, 'served': False}]),
              changed(versions=[{**one, 'deprecationWarning': 'x'}]), changed(versions=[{**one, 'deprecated': True, 'deprecationWarning': ''}]), changed(versions=[{**one, 'deprecated': True, 'deprecationWarning': 'x' * 257}]), changed(names={}), changed(names={'plural': 'goods', 'kind': 'good'}),
              changed(names={'plural': 'goods', 'kind': 'Good', 'singular': 'X'}), changed(names={'plural': 'goods', 'kind': 'Good', 'shortNames': ['-']}), changed(names={'plural': 'goods', 'kind': 'Good', 'categories': ['A']}), changed(names={'plural': 'goods', 'kind': 'Good', 'listKind': 'Good'}),
              changed(names={'plural': 'goods', 'kind': 'Good', 'singular': 'goods', 'shortNames': ['g', 'g']}), changed(names={'plural': 'others', 'kind': 'Good'}), changed(conversion={'strategy': 'None', 'webhook': {}}), changed(conversion={'strategy': 'Webhook'}), changed(conversion={'strategy': ''}),
              changed(conversion={'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': [], 'clientConfig': {'url': 'https://x'}}}), changed(conversion={'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': ['v1', 'v1', '-'], 'clientConfig': {'url': 'http://x', 'service': {'name': 's', 'namespace': 'n'}}}}),
              changed(conversion={'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': ['v9'], 'clientConfig': {'service': {'name': '', 'namespace': '', 'port': 0, 'path': '/a//b?'}}}}), changed(preserveUnknownFields=True), changed(preserveUnknownFields=False),
              {**good, 'metadata': {'name': 'x'}}, {**good, 'metadata': {'name': 'goods.other.example.com'}}, {**good, 'metadata': {'name': good['metadata']['name'], 'annotations': {'api-approved.kubernetes.io': 'x'}}},
              {**good, 'metadata': {'name': 'goods.x.k8s.io'}, 'spec': {**good['spec'], 'group': 'x.k8s.io'}}, {**good, 'metadata': {'name': 'goods.x.k8s.io', 'annotations': {'api-approved.kubernetes.io': 'https://github.com/kubernetes/x/pull/1'}}, 'spec': {**good['spec'], 'group': 'x.k8s.io'}},
              {**good, 'metadata': {'name': 'goods.x.k8s.io', 'annotations': {'api-approved.kubernetes.io': 'unapproved'}}, 'spec': {**good['spec'], 'group': 'x.k8s.io'}}, {**good, 'metadata': {'name': 'goods.x.kubernetes.io', 'annotations': {'api-approved.kubernetes.io': 'nope'}}, 'spec': {**good['spec'], 'group': 'x.kubernetes.io'}}]
    for more in ({'subresources': {'scale': {}}}, {'subresources': {'scale': {'specReplicasPath': '.x', 'statusReplicasPath': '.status.x'}}}, {'subresources': {'scale': {'specReplicasPath': '.spec[0]', 'statusReplicasPath': 'status.x', 'labelSelectorPath': '.spec.y'}}}, {'subresources': {'unknown': {}}},
                 {'selectableFields': [{'jsonPath': ''}]}, {'selectableFields': [{'jsonPath': '.spec.nope'}]}, {'selectableFields': [{'jsonPath': '.spec.list'}]}, {'selectableFields': [{'jsonPath': '.metadata.name'}]}, {'selectableFields': [{'jsonPath': 'spec.color'}]}, {'selectableFields': [{'jsonPath': '.spec.color'}] * 2},
                 {'selectableFields': [{'jsonPath': '.spec.list[0]'}]}, {'selectableFields': [{'jsonPath': '.spec.ratio'}]}, {'selectableFields': [{'jsonPath': '.spec.color'}] * 9}, {'selectableFields': [{'jsonPath': '.spec.map.a'}]},
                 *({'additionalPrinterColumns': [column]} for column in ({}, {'name': '', 'type': 'string', 'jsonPath': '.a'}, {'name': 'x', 'type': 'nope', 'jsonPath': '.a'}, {'name': 'x', 'type': 'string', 'format': 'nope', 'jsonPath': '.a'}, {'name': 'x', 'type': 'integer', 'format': 'double', 'jsonPath': 'a'},
                                                                         {'name': 'x', 'type': 'string', 'jsonPath': '.a['}, {'name': 'x', 'type': 'string', 'jsonPath': '{.a}'}, {'name': 'x', 'type': 'date', 'jsonPath': '.a..b', 'priority': -1}, {'name': 'x', 'type': 'string', 'jsonPath': '.a[?(@.b==1)]'}))):
        bodies.append(changed(versions=[{**one, **more}]))
    for rules in (['self.a == "x"'], ['self.nope'], ['self.a ='], ['1'], ['self.l.all(x, self.l.all(y, x == y))'], ['self.m.all(k, k.size() < 5)'], ['self.a.matches("[")'], ['oldSelf.a == self.a'], ['self.a == 1'], [''], ['true'], ['has(self.a) && self.a.contains("x")'], ['self.l[0] == "x"'],
                  ['self.l.exists(x, x.matches("^a+$")) && self.m.exists(k, self.m[k].contains(k))'], ['size(self.a) < 5'] * 3, ['self.n / 0 > 1'], ['duration("x") > duration("1s")'], ['self.a.lowerAscii() == "x".format([1])'], ['quantity(self.a).isLessThan(quantity("1x"))'], ['ip(self.a).family() == 4'],
                  ['cidr("10.0.0.0/8").containsIP(self.a)'], ['url(self.a).getHost() == ""'], ['self.l.sum() > 1'], ['self.l.isSorted()'], ['self.a.split(",").size() > 1'], ['format.dns1123Label().validate(self.a).hasValue()'], ['optional.of(self.a).orValue("x") == "y"'], ['self.?a.hasValue()'], ['semver(self.a).major() == 1'],
                  ['sets.contains(self.l, ["a"])'], ['self.l.slice(0, 1) == []'], ['cel.bind(x, 1, x == 1)'], ['self.l.transformList(i, v, v + string(i)) == []'], ['lists.range(3) == [0, 1, 2]'], ['self.l.distinct().size() == self.l.size()'], ['self.l.sort() == self.l'], ['math.greatest(1, 2) == 2'], ['self.a.includes("x")']):
        bodies.append(changed(versions=[rule(*({'rule': text} for text in rules))]))
    for more in ({'message': ''}, {'message': 'x\ny'}, {'message': 'x' * 2049}, {'messageExpression': '1'}, {'messageExpression': 'self.nope'}, {'messageExpression': '"x"'}, {'reason': 'x'}, {'reason': 'FieldValueRequired'}, {'fieldPath': '.a'}, {'fieldPath': 'a'}, {'fieldPath': '.nope'}, {'fieldPath': ".m['x']"}, {'fieldPath': '.l[0]'},
                 {'fieldPath': ''}, {'optionalOldSelf': True}, {'rule': 'a\nb'}, {'message': 'a', 'messageExpression': '"b"'}, {'rule': 'self.a == "x"\n'}, {'rule': 'oldSelf == self', 'optionalOldSelf': True}, {'rule': 'oldSelf.hasValue()', 'optionalOldSelf': True}):
        bodies.append(changed(versions=[rule({'rule': 'self.a == "x"', **more})]))
    for limited in ({'maxLength': 10}, {}):
        deep = {'type': 'string', **limited, 'x-kubernetes-validations': [{'rule': 'self.contains("a")'}]}
        for level in range(4):
            deep = {'type': 'array', 'items': deep, **({'maxItems': 10} if limited else {})}
            bodies.append(changed(versions=[version('v1', {'spec': {'type': 'object', 'properties': {'x': deep}}})]))
    for body in bodies:
        for mode in ('Warn', 'Strict'):
            yield 'POST', DEFINITIONS + '?dryRun=All&fieldValidation=' + mode, body, None
        yield 'POST', DEFINITIONS.replace('/v1/', '/v1beta1/'), body, None
