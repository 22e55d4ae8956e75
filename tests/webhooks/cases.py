"""What an API server does with webhooks, case by case: each gives a text that any conforming server gives too. Recorded
from kube-apiserver by record.py; webhooks_test.py compares."""
import http.client
import json
import re
import ssl
import time
import urllib.parse

from hook_server import patch

MAPS = '/api/v1/namespaces/default/configmaps'
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
KINDS = {'mutating': '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
         'validating': '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'}
MAP_RULE = {'operations': ['*'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps']}
# Every case's objects carry this label, so that what the server itself writes is never in the way.
LABEL = {'webhooks-test': 'yes'}


class Server:
    """An API server and a way to ask it."""

    def __init__(self, url, context=None, token=None):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.context = parts.hostname, parts.port, context or ssl._create_unverified_context()
        self.headers = {'authorization': 'Bearer ' + token} if token else {}

    def call(self, method, path, body=None, kind='application/json', timeout=60):
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=timeout)
        try:
            data = None if body is None else body if isinstance(body, str) else json.dumps(body)
            connection.request(method, path, data, {**self.headers, 'content-type': kind, 'accept': 'application/json'})
            answer = connection.getresponse()
            text = answer.read().decode()
            try:
                value = json.loads(text)
            except ValueError:
                value = {'text': text}
            return answer.status, value, answer.headers
        finally:
            connection.close()

    def wait(self, path, seconds=30):
        deadline = time.monotonic() + seconds
        while self.call('GET', path)[0] != 200 and time.monotonic() < deadline:
            time.sleep(0.1)


class Bench:
    """One case at a time: its configurations and objects go when it ends."""

    def __init__(self, server, hooks, settle):
        self.server, self.hooks, self.settle = server, hooks, settle
        self.made = []

    def configure(self, kind, name, *entries, check=201):
        body = {'metadata': {'name': name}, 'webhooks': list(entries)}
        status, value, _ = self.server.call('POST', KINDS[kind], body)
        if check:
            assert status == check, value
        self.made.append(KINDS[kind] + '/' + name)
        self.settle()
        return status, value

    def entry(self, name, path, **more):
        return {'name': name, 'admissionReviewVersions': ['v1'], 'sideEffects': 'None', 'clientConfig': self.hooks.client_config(path),
                'rules': [MAP_RULE], 'objectSelector': {'matchLabels': LABEL}, **more}

    def map(self, name, **more):
        metadata = {'name': name, 'labels': dict(LABEL), **more.pop('metadata', {})}
        return {'metadata': metadata, 'data': {'a': 'b'}, **more}

    def create_map(self, name='m', query='', **more):
        self.made.append(MAPS + '/' + name)
        return self.server.call('POST', MAPS + query, self.map(name, **more))

    def end(self):
        for path in sorted(self.made, key=lambda p: 'webhookconfigurations' not in p):
            self.server.call('DELETE', path)
        self.made.clear()
        self.settle()

    def normal(self, text):
        """Without what differs from run to run."""
        text = text.replace(str(self.hooks.port), 'PORT')
        text = re.sub(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'UID', text)
        text = re.sub(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', 'TIME', text)
        return text

    def told(self, answer):
        """What a client was told: code, reason, message, causes; or the data."""
        status, value, headers = answer
        shown = {'code': status}
        if value.get('kind') == 'Status':
            for key in ('status', 'reason', 'message', 'details'):
                if value.get(key):
                    shown[key] = value[key]
        else:
            for key in ('apiVersion', 'kind', 'data', 'spec', 'status'):
                if value.get(key):
                    shown[key] = value[key]
            labels = (value.get('metadata') or {}).get('labels')
            if labels:
                shown['labels'] = labels
        if headers.get_all('warning'):
            shown['warnings'] = headers.get_all('warning')
        return shown


CASES = []


def case(function):
    CASES.append(function)
    return function


def refusal(response):
    def run(bench):
        bench.hooks.answers['/hook'] = lambda request: response
        bench.configure('validating', 'v', bench.entry('v.example.com', '/hook'))
        return bench.told(bench.create_map())
    return run


REFUSALS = {
    'denied': {'allowed': False},
    'denied_with_message': {'allowed': False, 'status': {'message': 'not today'}},
    'denied_with_reason': {'allowed': False, 'status': {'reason': 'Because I say so'}},
    'denied_with_known_reason': {'allowed': False, 'status': {'reason': 'NotFound', 'message': 'x', 'code': 404}},
    'denied_with_small_code': {'allowed': False, 'status': {'status': 'Success', 'code': 200, 'message': 'x'}},
    'denied_with_large_code': {'allowed': False, 'status': {'code': 599, 'message': 'x'}},
    'denied_with_details': {'allowed': False, 'status': {'code': 422, 'message': 'x', 'reason': 'Invalid', 'details': {
        'name': 'n', 'kind': 'k', 'causes': [{'reason': 'FieldValueInvalid', 'message': 'm', 'field': 'f'}]}}},
    'denied_with_warnings': {'allowed': False, 'warnings': ['one', 'two']},
    'allowed_with_warnings': {'allowed': True, 'warnings': ['one', 'one', 'two']},
    'allowed_with_status': {'allowed': True, 'status': {'code': 500, 'message': 'ignored'}},
    'validating_with_patch': patch({'op': 'add', 'path': '/data/x', 'value': 'y'}),
    'validating_with_patch_type': {'allowed': True, 'patchType': 'JSONPatch'},
    'uid_is_wrong': {'allowed': True, 'uid': 'wrong'},
    'no_response': {'whole': {'apiVersion': 'admission.k8s.io/v1', 'kind': 'AdmissionReview'}},
    'response_is_null': {'whole': {'apiVersion': 'admission.k8s.io/v1', 'kind': 'AdmissionReview', 'response': None}},
    'kind_is_missing': {'whole': {'response': {'uid': 'x', 'allowed': True}}},
    'empty_object': {'whole': {}},
    'allowed_is_text': {'allowed': 'yes'},
    'status_is_text': {'allowed': False, 'status': 'no'},
    'warnings_are_text': {'allowed': True, 'warnings': 'no'},
    'not_json': (200, b'hello'),
    'empty': (200, b''),
    'a_list': (200, b'[]'),
    'status_500': (500, b'oops'),
    'status_404': (404, b'gone'),
    'status_401': (401, b''),
    'status_429': (429, b'slow down'),
    'status_302': (302, b''),
    'status_204': (204, b''),
    'status_403_with_status': (403, json.dumps({'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'message': 'no way',
                                                'reason': 'Forbidden', 'code': 403}).encode()),
}
for refusal_name, refusal_response in REFUSALS.items():
    made_case = refusal(refusal_response)
    made_case.__name__ = refusal_name
    CASES.append(made_case)


def mutation(*operations):
    def run(bench):
        bench.hooks.answers['/hook'] = lambda request: patch(*operations)
        bench.configure('mutating', 'm', bench.entry('m.example.com', '/hook'))
        bench.made.append(MAPS + '/other')
        return bench.told(bench.create_map())
    return run


MUTATIONS = {
    'patch_adds': [{'op': 'add', 'path': '/data/x', 'value': 'y'}],
    'patch_unknown_field': [{'op': 'add', 'path': '/nonsense', 'value': 'y'}],
    'patch_wrong_type': [{'op': 'add', 'path': '/data', 'value': 7}],
    'patch_invalid_result': [{'op': 'add', 'path': '/data/not a key', 'value': 'y'}],
    'patch_missing_path': [{'op': 'remove', 'path': '/data/zzz'}],
    'patch_test_fails': [{'op': 'test', 'path': '/data/a', 'value': 'zzz'}],
    'patch_unknown_operation': [{'op': 'paint', 'path': '/data/a'}],
    'patch_changes_name': [{'op': 'replace', 'path': '/metadata/name', 'value': 'other'}],
    'patch_changes_namespace': [{'op': 'replace', 'path': '/metadata/namespace', 'value': 'kube-system'}],
    'patch_changes_kind': [{'op': 'replace', 'path': '/kind', 'value': 'Secret'}],
    'patch_to_null': [{'op': 'replace', 'path': '', 'value': None}],
    'patch_number_as_text': [{'op': 'add', 'path': '/data/x', 'value': 1}],
}
for mutation_name, mutation_operations in MUTATIONS.items():
    made_case = mutation(*mutation_operations)
    made_case.__name__ = mutation_name
    CASES.append(made_case)


def raw_answer(response):
    def run(bench):
        bench.hooks.answers['/hook'] = lambda request: response
        bench.configure('mutating', 'm', bench.entry('m.example.com', '/hook'))
        return bench.told(bench.create_map())
    return run


for raw_name, raw_response in {
        'mutating_patch_without_type': {'allowed': True, 'patch': 'W10='},
        'mutating_type_without_patch': {'allowed': True, 'patchType': 'JSONPatch'},
        'mutating_type_is_other': {'allowed': True, 'patchType': 'Merge', 'patch': 'W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2RhdGEvYSJ9XQ=='},
        'mutating_patch_is_no_json': {'allowed': True, 'patchType': 'JSONPatch', 'patch': 'bm8='},
        'mutating_patch_is_no_list': {'allowed': True, 'patchType': 'JSONPatch', 'patch': 'e30='},
        'mutating_patch_is_empty_list': {'allowed': True, 'patchType': 'JSONPatch', 'patch': 'W10='},
        'mutating_denies_with_patch': {'allowed': False, 'patchType': 'JSONPatch', 'patch': 'W10='}}.items():
    made_case = raw_answer(raw_response)
    made_case.__name__ = raw_name
    CASES.append(made_case)


def redirected(status, to):
    def run(bench):
        location = to.replace('PORT', str(bench.hooks.port))
        headers = [('location', location)] if to else []
        bench.hooks.answers['/hook'] = lambda request: (status, b'', headers)
        review = {'apiVersion': 'admission.k8s.io/v1', 'kind': 'AdmissionReview', 'response': {'allowed': False, 'status': {'message': 'after all'}}}
        bench.hooks.answers['/there'] = lambda request: (
            200, json.dumps({**review, 'response': {'uid': request['uid'] if request else '', **review['response']}}).encode())
        bench.configure('validating', 'v', bench.entry('v.example.com', '/hook'))
        before = len(bench.hooks.reviews)
        told = bench.told(bench.create_map())
        calls = [(asked, bool(review)) for _, asked, review in bench.hooks.reviews[before:]]
        return [told, len(calls), calls[-1]]
    return run


for redirect_status in (301, 302, 303, 307, 308):
    for redirect_name, redirect_to in {'there': '/there', 'in_full': 'https://127.0.0.1:PORT/there?x=y', 'to_itself': '/hook', 'nowhere': '',
                                       'to_another_scheme': 'ftp://127.0.0.1/there'}.items():
        if redirect_status not in (302, 307) and redirect_name != 'there':
            continue
        made_case = redirected(redirect_status, redirect_to)
        made_case.__name__ = 'redirect_%d_%s' % (redirect_status, redirect_name)
        CASES.append(made_case)


@case
def review_of_a_create(bench):
    bench.configure('mutating', 'm', bench.entry('m.example.com', '/mutate'))
    bench.configure('validating', 'v', bench.entry('v.example.com', '/validate'))
    bench.create_map(query='?fieldManager=tests&fieldValidation=Strict')
    return {path: trimmed(bench.hooks.last(path)) for path in ('/mutate', '/validate')}


def trimmed(review):
    request = review['request']
    request['userInfo'] = sorted(set(request['userInfo']) - {'uid', 'extra'})  # depends on how the user is known
    for key in ('object', 'oldObject'):
        if request[key]:
            metadata = request[key]['metadata']
            for part in ('managedFields', 'resourceVersion'):
                if part in metadata:
                    metadata[part] = 'SET'
    return review


@case
def review_of_a_generated_name(bench):
    bench.configure('mutating', 'm', bench.entry('m.example.com', '/mutate'))
    bench.configure('validating', 'v', bench.entry('v.example.com', '/validate'))
    _, made, _ = bench.server.call('POST', MAPS, {'metadata': {'generateName': 'gen-', 'labels': LABEL}})
    bench.made.append(MAPS + '/' + made['metadata']['name'])
    seen = []
    for path in ('/mutate', '/validate'):
        request = bench.hooks.last(path)['request']
        metadata = request['object']['metadata']
        seen.append([path, 'name' in request, 'name' in metadata, 'uid' in metadata, metadata.get('creationTimestamp') is not None])
    return seen


@case
def review_of_an_update_and_a_delete(bench):
    bench.create_map()
    bench.configure('validating', 'v', bench.entry('v.example.com', '/validate'))
    bench.server.call('PATCH', MAPS + '/m?fieldManager=me', {'data': {'a': 'c'}}, 'application/merge-patch+json')
    update = trimmed(bench.hooks.last('/validate'))
    bench.server.call('DELETE', MAPS + '/m?gracePeriodSeconds=0', {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'})
    return update, trimmed(bench.hooks.last('/validate'))


@case
def review_of_a_collection(bench):
    bench.create_map('m1')
    bench.create_map('m2')
    bench.configure('validating', 'v', bench.entry('v.example.com', '/validate'))
    before = len(bench.hooks.reviews)
    bench.server.call('DELETE', MAPS + '?labelSelector=webhooks-test%3Dyes')
    reviews = [review['request'] for path, _, review in bench.hooks.reviews[before:] if path == '/validate']
    return sorted((r['operation'], r.get('name', ''), r['oldObject']['metadata']['name'], json.dumps(r['options'])) for r in reviews)


@case
def deny_a_delete(bench):
    bench.create_map()
    bench.hooks.answers['/hook'] = lambda request: {'allowed': request['operation'] != 'DELETE', 'status': {'message': 'keep it'}}
    bench.configure('validating', 'v', bench.entry('v.example.com', '/hook'))
    return bench.told(bench.server.call('DELETE', MAPS + '/m'))


@case
def mutate_a_delete(bench):
    bench.create_map()
    bench.hooks.answers['/hook'] = lambda request: patch({'op': 'add', 'path': '/data/x', 'value': 'y'})
    bench.configure('mutating', 'm', bench.entry('m.example.com', '/hook'))
    return bench.told(bench.server.call('DELETE', MAPS + '/m'))


@case
def failure_ignored(bench):
    bench.hooks.answers['/hook'] = lambda request: (500, b'oops')
    bench.configure('validating', 'v', bench.entry('v.example.com', '/hook', failurePolicy='Ignore'))
    bench.configure('mutating', 'm', bench.entry('m.example.com', '/hook', failurePolicy='Ignore'))
    return bench.told(bench.create_map())


@case
def nobody_there(bench):
    entry = bench.entry('v.example.com', '/hook')
    entry['clientConfig'] = {'url': 'https://127.0.0.1:1/x', 'caBundle': bench.hooks.ca_bundle}
    bench.configure('validating', 'v', entry)
    return bench.told(bench.create_map())


@case
def slow(bench):
    def later(request):
        time.sleep(1.5)
        return {'allowed': True}
    bench.hooks.answers['/hook'] = later
    bench.configure('validating', 'v', bench.entry('v.example.com', '/hook', timeoutSeconds=1))
    return bench.told(bench.create_map())


@case
def unknown_service(bench):
    entry = bench.entry('v.example.com', '/hook')
    entry['clientConfig'] = {'service': {'namespace': 'default', 'name': 'nothing-there', 'path': '/x'}, 'caBundle': bench.hooks.ca_bundle}
    bench.configure('validating', 'v', entry)
    return bench.told(bench.create_map())


@case
def order_and_reinvocation(bench):
    def append(request):
        order = request['object']['data'].get('order', '')
        return patch({'op': 'add', 'path': '/data/order', 'value': order + 'a'})

    def once(request):
        return {'allowed': True} if 'once' in request['object']['data'] else patch({'op': 'add', 'path': '/data/once', 'value': 'x'})
    bench.hooks.answers.update({'/append': append, '/once': once})
    bench.configure('mutating', 'b', bench.entry('once.example.com', '/once'))
    bench.configure('mutating', 'a', bench.entry('append.example.com', '/append', reinvocationPolicy='IfNeeded'),
                    bench.entry('never.example.com', '/never'))
    before = {path: bench.hooks.count(path) for path in ('/append', '/once', '/never')}
    told = bench.told(bench.create_map())
    return told, {path: bench.hooks.count(path) - before[path] for path in before}


@case
def a_later_change_does_not_call_for_the_first_time(bench):
    def label(request):
        return patch({'op': 'add', 'path': '/metadata/labels/late', 'value': 'yes'})
    bench.hooks.answers['/label'] = label
    bench.configure('mutating', 'a', bench.entry('late.example.com', '/late', reinvocationPolicy='IfNeeded',
                                                 objectSelector={'matchLabels': {'late': 'yes'}}))
    bench.configure('mutating', 'b', bench.entry('label.example.com', '/label'))
    before = bench.hooks.count('/late')
    bench.create_map()
    return bench.hooks.count('/late') - before


@case
def dry_run(bench):
    bench.configure('validating', 'v', bench.entry('v.example.com', '/validate'))
    told = bench.told(bench.create_map(query='?dryRun=All'))
    return told, bench.hooks.last('/validate')['request']['dryRun'], bench.hooks.last('/validate')['request']['options']


@case
def match_conditions(bench):
    bench.hooks.answers['/hook'] = lambda request: {'allowed': False}
    bench.configure('validating', 'v', bench.entry('v.example.com', '/hook', matchConditions=[
        {'name': 'named', 'expression': "object.metadata.name == 'yes'"}]))
    return bench.told(bench.create_map('no')), bench.told(bench.create_map('yes'))


@case
def match_condition_fails(bench):
    bench.configure('validating', 'v', bench.entry('v.example.com', '/hook', matchConditions=[
        {'name': 'fails', 'expression': "object.data.missing == 'x'"}]))
    return bench.told(bench.create_map())


@case
def match_condition_does_not_compile(bench):
    entry = bench.entry('v.example.com', '/hook', matchConditions=[{'name': 'bad', 'expression': 'nonsense('}])
    status, value = bench.configure('validating', 'v', entry, check=None)
    return status, value.get('reason')


@case
def scale(bench):
    path = '/apis/apps/v1/namespaces/default/deployments'
    template = {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}
    bench.server.call('POST', path, {'metadata': {'name': 'd', 'labels': LABEL}, 'spec': {'selector': {'matchLabels': {'a': 'b'}}, 'template': template}})
    bench.made.append(path + '/d')
    rule = {'operations': ['UPDATE'], 'apiGroups': ['apps'], 'apiVersions': ['v1'], 'resources': ['deployments/scale']}
    bench.hooks.answers['/scale'] = lambda request: patch({'op': 'replace', 'path': '/spec/replicas', 'value': 7})
    entry = bench.entry('m.example.com', '/scale', rules=[rule])
    del entry['objectSelector']
    bench.configure('mutating', 'm', entry)
    told = bench.told(bench.server.call('PATCH', path + '/d/scale', {'spec': {'replicas': 3}}, 'application/merge-patch+json'))
    request = bench.hooks.last('/scale')['request']
    return told['spec'], request['kind'], request['subResource'], request['object']['spec'], request['oldObject']['spec']


@case
def attach(bench):
    path = '/api/v1/namespaces/default/pods'
    bench.server.call('POST', '/api/v1/namespaces/default/serviceaccounts', {'metadata': {'name': 'default'}})
    bench.server.call('POST', path, {'metadata': {'name': 'p', 'labels': LABEL}, 'spec': {
        'nodeName': 'nowhere', 'automountServiceAccountToken': False, 'containers': [{'name': 'c', 'image': 'i'}]}})
    bench.made.append(path + '/p?gracePeriodSeconds=0')
    rule = {'operations': ['CONNECT'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['pods/attach', 'pods/exec', 'pods/proxy']}
    bench.hooks.answers['/connect'] = lambda request: {'allowed': False, 'status': {'message': 'no'}}
    entry = bench.entry('v.example.com', '/connect', rules=[rule])
    del entry['objectSelector']
    bench.configure('validating', 'v', entry)
    seen = []
    for what in ('attach?container=c&stdin=true', 'exec?command=ls&command=-l&stdout=true', 'proxy/some/path?x=y'):
        told = bench.told(bench.server.call('POST', path + '/p/' + what))
        request = bench.hooks.last('/connect')['request']
        seen.append([told, request['kind'], request['subResource'], request['object'], request['oldObject'], request['options'], request['name']])
    return seen


@case
def binding(bench):
    path = '/api/v1/namespaces/default/pods'
    bench.server.call('POST', '/api/v1/namespaces/default/serviceaccounts', {'metadata': {'name': 'default'}})
    bench.server.call('POST', path, {'metadata': {'name': 'b', 'labels': LABEL}, 'spec': {
        'automountServiceAccountToken': False, 'containers': [{'name': 'c', 'image': 'i'}]}})
    bench.made.append(path + '/b?gracePeriodSeconds=0')
    rule = {'operations': ['CREATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['pods/binding']}
    bench.hooks.answers['/bind'] = lambda request: {'allowed': False, 'status': {'message': 'no'}}
    entry = bench.entry('v.example.com', '/bind', rules=[rule])
    del entry['objectSelector']
    bench.configure('validating', 'v', entry)
    told = bench.told(bench.server.call('POST', path + '/b/binding', {'metadata': {'name': 'b'}, 'target': {'kind': 'Node', 'name': 'n'}}))
    request = bench.hooks.last('/bind')['request']
    return told, request['kind'], request['subResource'], request['object']['target'], request['operation']


@case
def equivalent_and_exact(bench):
    path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
    rule = {'operations': ['CREATE'], 'apiGroups': ['autoscaling'], 'apiVersions': ['v1'], 'resources': ['horizontalpodautoscalers']}
    bench.hooks.answers['/hpa'] = lambda request: patch({'op': 'add', 'path': '/spec/targetCPUUtilizationPercentage', 'value': 42})
    bench.configure('mutating', 'm', bench.entry('m.example.com', '/hpa', rules=[rule]),
                    bench.entry('exact.example.com', '/exact', rules=[rule], matchPolicy='Exact'))
    exact = bench.hooks.count('/exact')
    told = bench.told(bench.server.call('POST', path, {'metadata': {'name': 'h', 'labels': LABEL}, 'spec': {
        'maxReplicas': 3, 'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd'}}}))
    bench.made.append(path + '/h')
    request = bench.hooks.last('/hpa')['request']
    return told, request['kind'], request['resource'], request['requestKind'], request['object']['apiVersion'], bench.hooks.count('/exact') - exact


@case
def namespaces(bench):
    rule = {'operations': ['*'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['namespaces', 'namespaces/finalize']}
    bench.configure('validating', 'v', bench.entry('v.example.com', '/ns', rules=[rule]))
    bench.server.call('POST', '/api/v1/namespaces', {'metadata': {'name': 'hooked', 'labels': LABEL}})
    request = bench.hooks.last('/ns')['request']
    seen = [request['name'], request.get('namespace'), request['operation']]
    bench.server.call('DELETE', '/api/v1/namespaces/hooked')
    return seen, bench.hooks.last('/ns')['request']['operation'], bench.hooks.last('/ns')['request'].get('namespace')


@case
def exempt_resources(bench):
    rule = {'operations': ['*'], 'apiGroups': ['*'], 'apiVersions': ['*'], 'resources': ['*/*']}
    bench.hooks.answers['/hook'] = lambda request: {'allowed': False}
    entry = bench.entry('v.example.com', '/hook', rules=[rule])
    entry['objectSelector'] = {'matchLabels': {'webhooks-test': 'exempt'}}
    bench.configure('validating', 'v', entry)
    other = {'metadata': {'name': 'labelled', 'labels': {'webhooks-test': 'exempt'}}, 'webhooks': []}
    config = bench.server.call('POST', KINDS['mutating'], other)[0]
    gone = bench.server.call('DELETE', KINDS['mutating'] + '/labelled')[0]
    review = bench.server.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        'metadata': {'labels': {'webhooks-test': 'exempt'}}, 'spec': {'resourceAttributes': {'verb': 'get', 'resource': 'pods'}}})[0]
    made = bench.server.call('POST', MAPS, {'metadata': {'name': 'x', 'labels': {'webhooks-test': 'exempt'}}})[0]
    return config, gone, review, made


def definition(bench, storage='v1', conversion=None):
    def version(name, properties):
        return {'name': name, 'served': True, 'storage': name == storage, 'subresources': {'status': {}}, 'schema': {'openAPIV3Schema': {
            'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {p: {'type': 'string'} for p in properties}}}}}}
    conversion = conversion or {'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': ['v1'],
                                                                   'clientConfig': bench.hooks.client_config('/convert')}}
    return {'metadata': {'name': 'hosts.stable.example.com'}, 'spec': {
        'group': 'stable.example.com', 'scope': 'Namespaced', 'names': {'plural': 'hosts', 'kind': 'Host'}, 'conversion': conversion,
        'versions': [version('v1', ['hostPort']), version('v2', ['host', 'port'])]}}


V1, V2 = ('/apis/stable.example.com/%s/namespaces/default/hosts' % v for v in ('v1', 'v2'))


def convert(request):
    out = []
    for item in request['objects']:
        item = json.loads(json.dumps(item))
        spec = item.get('spec') or {}
        if request['desiredAPIVersion'].endswith('/v2'):
            host, _, port = spec.get('hostPort', ':').partition(':')
            item['spec'] = {'host': host, 'port': port}
        else:
            item['spec'] = {'hostPort': spec.get('host', '') + ':' + spec.get('port', '')}
        item['apiVersion'] = request['desiredAPIVersion']
        out.append(item)
    return {'convertedObjects': out, 'result': {'status': 'Success'}}


def define(bench):
    bench.hooks.answers['/convert'] = convert
    status, value, _ = bench.server.call('POST', CRDS, definition(bench))
    assert status == 201, value
    bench.made.append(CRDS + '/hosts.stable.example.com')
    bench.server.wait(V1)
    bench.server.wait(V2)


def undefine(bench):
    bench.hooks.answers['/convert'] = convert
    bench.settle()
    bench.server.call('DELETE', CRDS + '/hosts.stable.example.com')
    deadline = time.monotonic() + 60
    while bench.server.call('GET', CRDS + '/hosts.stable.example.com')[0] != 404 and time.monotonic() < deadline:
        time.sleep(0.1)


def host(name, text):
    return {'apiVersion': 'stable.example.com/v1', 'kind': 'Host', 'metadata': {'name': name}, 'spec': {'hostPort': text}}


@case
def conversion_of_everything(bench):
    define(bench)
    seen = [bench.told(bench.server.call('POST', V1, host('a', 'ha:1')))]
    seen.append(bench.told(bench.server.call('GET', V2 + '/a')))
    seen.append(bench.told(bench.server.call('POST', V2, {'apiVersion': 'stable.example.com/v2', 'kind': 'Host', 'metadata': {'name': 'b'},
                                                          'spec': {'host': 'hb', 'port': '2'}})))
    seen.append(bench.told(bench.server.call('GET', V1 + '/b')))
    seen.append(bench.told(bench.server.call('PATCH', V2 + '/b', {'spec': {'port': '3'}}, 'application/merge-patch+json')))
    seen.append(bench.told(bench.server.call('PATCH', V2 + '/b?fieldManager=me&force=true', {
        'apiVersion': 'stable.example.com/v2', 'kind': 'Host', 'metadata': {'name': 'b'}, 'spec': {'host': 'hc'}}, 'application/apply-patch+yaml')))
    _, items, _ = bench.server.call('GET', V2)
    seen.append([(i['apiVersion'], i['kind'], i['metadata']['name'], i['spec']) for i in items['items']])
    managed = bench.server.call('GET', V1 + '/b')[1]['metadata']['managedFields']
    seen.append(sorted((m['manager'], m['operation'], m['apiVersion'], json.dumps(m['fieldsV1'], sort_keys=True)) for m in managed))
    seen.append(bench.told(bench.server.call('DELETE', V2 + '/b'))['code'])
    undefine(bench)
    return seen


def broken_conversion(change):
    def run(bench):
        define(bench)
        bench.server.call('POST', V1, host('a', 'ha:1'))

        def broken(request):
            made = convert(request)
            change(made)
            return made
        bench.hooks.answers['/convert'] = broken
        told = bench.told(bench.server.call('POST', V2, {'apiVersion': 'stable.example.com/v2', 'kind': 'Host', 'metadata': {'name': 'b'},
                                                         'spec': {'host': 'hb', 'port': '2'}}))
        undefine(bench)
        return told
    return run


def set_first(key, value):
    def change(made):
        made['convertedObjects'][0][key] = value
    return change


def set_metadata(**values):
    def change(made):
        made['convertedObjects'][0]['metadata'].update(values)
    return change


for broken_name, broken_change in {
        'conversion_fails': lambda made: made.update(result={'status': 'Failure', 'message': 'cannot'}),
        'conversion_fails_silently': lambda made: made.update(result={'status': 'Failure'}),
        'conversion_of_none': lambda made: made.update(convertedObjects=[]),
        'conversion_of_two': lambda made: made['convertedObjects'].append(made['convertedObjects'][0]),
        'conversion_wrong_uid': lambda made: made.update(uid='x'),
        'conversion_wrong_version': set_first('apiVersion', 'stable.example.com/v2'),
        'conversion_wrong_kind': set_first('kind', 'Guest'),
        'conversion_renames': set_metadata(name='other'),
        'conversion_moves': set_metadata(namespace='other'),
        'conversion_changes_uid': set_metadata(uid='other'),
        'conversion_bad_labels': set_metadata(labels={'a': 'b c'}),
        'conversion_labels_are_list': set_metadata(labels=[]),
        'conversion_without_metadata': lambda made: made['convertedObjects'][0].pop('metadata'),
        'conversion_unknown_field': set_first('nonsense', 'x')}.items():
    made_case = broken_conversion(broken_change)
    made_case.__name__ = broken_name
    CASES.append(made_case)


def run(server, hooks, settle, only=None):
    bench = Bench(server, hooks, settle)
    out = {}
    for function in CASES:
        if only and function.__name__ not in only:
            continue
        hooks.answers.clear()
        try:
            out[function.__name__] = json.loads(bench.normal(json.dumps(function(bench))))
        except Exception as e:  # noqa: BLE001 - a case that breaks is a difference like any other
            out[function.__name__] = {'failed': bench.normal(repr(e))}
        finally:
            bench.end()
    return out
