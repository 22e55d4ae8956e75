#!/usr/bin/env python3
"""Compares what two API servers answer to the same requests, made from recorded objects by changing one thing.

    server_differential.py REFERENCE SUBJECT --token T [--part NAME...] [--kind REGEX] [--seed N] [--count N] [--show N]

REFERENCE and SUBJECT are URLs of servers without controllers that take the same administrator's token: kube-apiserver and
`flyball apiserver --token-auth-file` (differential/servers.py starts both). COUNT is the number of changes of each seed object. Parts:

    create    objects with something wrong or unusual, as dry runs
    update    PUT, the four patches and status updates of an object that is there
    life      objects that are made, shown as table and protobuf, changed in their status, and deleted
    read      lists with all kinds of options, formats and paths
    cycle     each kind's life from its dry run to its end, as the recorded scenarios have it
    patches   patches that are right and wrong
    below     subresources and reviews
    http      paths, media types and bodies
    admission what admission plugins change, refuse and warn about: quotas, limits, pod security, accounts, classes, nodes
    access    refusals, impersonation, rights that would grow, and what a new cluster holds
    apply     sequences of applies by several managers
    list      pages, selectors, watches, collections deleted
    custom    custom resources of several shapes, from definition to end, and definitions that are wrong
    wire      protobuf bodies, whole and broken
    documents discovery, OpenAPI, metrics and health

Prints what differs, and ends with `N compared, M differ`. Not a test of ./dev test: it needs kube-apiserver. Standard library only.
"""
import argparse
import copy
import http.client
import importlib.util
import json
import os
import random
import re
import sys
import time
import urllib.parse

from custom_differential import Server
from differential import access, admission, applying, custom, documents, listing
from differential.objects import Schemas, change, read_seeds, without_server_fields
from differential.protobuf import bodies, comparable
from differential.scenarios import PATCHED, cycle, patches, places, reviews, subresources, texts
from program import recordings
from takeover import MANY

HIDDEN = [(r'kube-api-access-[a-z0-9]{5}', 'kube-api-access-<rand>'), (r'current: \d+', 'current: <rv>'), (r'10\.96\.\d+\.\d+', '<ip>'),
          (r'(resourceVersion\\*"?: ?\\*")\d+', r'\1<rv>'), (r'in scheme "[^"]*"', 'in scheme'), (r'(?m)^(\s*resourceVersion: )"\d+"', r'\1<rv>'),
          (r'^\d+[smhd](\d+[smh])?$', '<age>'), (r'in record \(\d+\)', 'in record (<rv>)'), (r'\d+\.\d+\.\d+\.\d+:\d+', '<address>'),
          (r'(?s)-----BEGIN.*?-----END [A-Z ]+-----', '<certificate>')]
OPTIONS = {'messages': True, 'managedFields': True, 'rewrite': HIDDEN}
PATCHES = {'merge': 'application/merge-patch+json', 'strategic': 'application/strategic-merge-patch+json', 'json': 'application/json-patch+json',
           'apply': 'application/apply-patch+yaml'}
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
PROTOBUF = 'application/vnd.kubernetes.protobuf'
# Kinds that are not made for real: they would change what the requests after them get.
DRY_ONLY = re.compile('Namespace|APIService|CustomResourceDefinition|.*Review$|TokenRequest|Binding$|Eviction|Scale|Status')


def golden():
    spec = importlib.util.spec_from_file_location('golden', os.path.join(recordings(), 'golden.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Talker(Server):
    """A server that is asked with any headers, and whose answers are normalised."""

    kept = {}

    def fill(self, text):
        return re.sub(r'\$\{(\w+)\}', lambda m: str(self.kept.get(m[1], m[0])), text) if isinstance(text, str) else text

    def ask(self, method, path, body=None, headers=None):
        path, headers = self.fill(path), {k: self.fill(v) for k, v in (headers or {}).items()}
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        headers = {'Authorization': 'Bearer ' + self.token, 'Accept': 'application/json', **({'Content-Type': 'application/json'} if data is not None else {}),
                   **(headers or {})}
        headers = {name: value for name, value in headers.items() if value is not None}
        for attempt in (0, 1):
            try:
                if not self.connection:
                    self.call('GET', '/version')
                self.connection.request(method, path, data, headers)
                response = self.connection.getresponse()
                return response, response.read()
            except (OSError, http.client.HTTPException):
                self.connection = None
        return None  # it panicked


def pick(text, way):
    try:
        value = json.loads(text)
        for key in way:
            value = value[key]
        return urllib.parse.quote(str(value))
    except (ValueError, KeyError, TypeError):
        return 'nothing'


class Comparison:
    def __init__(self, servers, show):
        self.servers, self.show, self.golden = servers, show, golden()
        self.compared, self.differ, self.sorts, self.generated = 0, 0, {}, None

    def read(self, response, text):
        got = {'code': response.status}
        warnings = response.headers.get_all('Warning')
        if warnings:
            got['warnings'] = [self.golden.normalise(w, OPTIONS) for w in warnings]
        got['type'] = response.headers.get('Content-Type')
        if text[:4] == b'k8s\0':
            got['protobuf'] = repr(comparable(text))
            return got
        if self.generated:
            text = self.generated.sub('<generated>', text.decode(errors='replace')).encode()
        try:
            got['body'] = self.golden.normalise(json.loads(text), OPTIONS)
        except ValueError:
            got['body'] = self.events(text) or self.golden.normalise(text.decode(errors='replace'), OPTIONS)
        return got

    def events(self, text):
        """What a watch sent."""
        try:
            return {'events': [self.golden.normalise(json.loads(line), OPTIONS) for line in text.splitlines()]} if text[:1] == b'{' else None
        except ValueError:
            return None

    def ask(self, what, method, path, body=None, headers=None, keep=None):
        """Asks both, tells if they differ, and returns what each answered. What is to be kept stands for ${name} later, of each server its own."""
        raw = [server.ask(method, path, body, headers) for server in self.servers]
        if raw[0] is None:
            return [{'code': 0}] * 2
        generated = body['metadata'].get('generateName') if isinstance(body, dict) and isinstance(body.get('metadata'), dict) else None
        self.generated = re.compile(re.escape(generated[:58]) + '[a-z0-9]{5}') if generated and isinstance(generated, str) else None
        for server, one in zip(self.servers, raw):
            server.kept = {**server.kept, **{name: pick(one[1], way) for name, way in (keep or {}).items()}}
        answers = [self.read(*one) if one else {'code': 0, 'body': 'no answer'} for one in raw]
        self.compared += 1
        differences = self.differences(*answers)
        for _ in range(5):  # the reference walks over maps in random order
            if not differences or raw[0][0].status < 300 and method != 'GET' and 'dryRun' not in path:
                break
            again = self.servers[0].ask(method, path, body, headers)
            answers[0] = self.read(*again) if again else answers[1]
            differences = self.differences(*answers)
        if differences:
            self.differ += 1
            self.tell('%s: %s %s' % (what, method, path), what.split(' ')[0], differences)
        return answers

    def tell(self, what, kind, differences):
        """Each sort of difference is shown once."""
        sort = kind + re.sub(r'"[^"]*"|\d+', '', '|'.join(differences[:6]))[:400]
        self.sorts[sort] = self.sorts.get(sort, 0) + 1
        if self.sorts[sort] > 1 or len(self.sorts) > self.show:
            return
        print('---', what[:700])
        for line in differences[:6]:
            print('   ', line[:600])
        if len(differences) > 6:
            print('    and', len(differences) - 6, 'more')
        sys.stdout.flush()

    def differences(self, one, other):
        causes = [self.causes(answer) for answer in (one, other)]
        if None in causes or one['code'] != other['code'] or one.get('warnings') != other.get('warnings'):
            return self.golden.difference(one, other)
        told = ['reference only: ' + c for c in causes[0] if c not in causes[1]] + ['subject only: ' + c for c in causes[1] if c not in causes[0]]
        return told or self.message_difference(one, other) or self.golden.difference(one, other)

    @staticmethod
    def message_difference(one, other):
        first, second = one['body'].get('message', ''), other['body'].get('message', '')
        if first == second:
            return []
        at = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second)))
        at = max(0, at - 60)
        return ['message: ' + first[at:at + 250], '     got ' + second[at:at + 250]]

    @staticmethod
    def causes(answer):
        body = answer.get('body')
        if not isinstance(body, dict) or body.get('kind') != 'Status' or not isinstance(body.get('details'), dict) or 'causes' not in body['details']:
            return None
        return ['%s: %s (%s)' % (c.get('field'), c.get('message'), c.get('reason')) for c in body['details']['causes']]


class Resources:
    """Where objects of each kind are made."""

    def __init__(self, server):
        self.paths = {}
        for base in ['/api/v1'] + ['/apis/' + g['versions'][i]['groupVersion'] for g in server.call('GET', '/apis')[1]['groups'] for i in range(len(g['versions']))]:
            for r in server.call('GET', base)[1].get('resources', ()):
                version = base.split('/', 2)[2]
                if '/' not in r['name'] and 'create' in r['verbs']:
                    status = base + '|' + r['name']
                    self.paths[version, r['kind']] = (base, r['name'], r['namespaced'], r['verbs'], status)
                elif r['name'].endswith('/status'):
                    self.paths.setdefault('status', set()).add(base + '|' + r['name'].split('/')[0])

    def collection(self, kind, namespace):
        base, name, namespaced, _, _ = self.paths[kind]
        return '%s/namespaces/%s/%s' % (base, namespace, name) if namespaced else '%s/%s' % (base, name)

    def has_status(self, kind):
        return self.paths[kind][4] in self.paths['status']

    def has(self, kind, verb):
        return verb in self.paths[kind][3]


class Run:
    def __init__(self, comparison, options):
        self.comparison, self.options = comparison, options
        self.chance = random.Random(options.seed)
        subject = comparison.servers[1]
        seeds = read_seeds(recordings(), [json.loads(line) for line in MANY.strip().splitlines()])
        self.resources, self.schemas = Resources(subject), Schemas(subject, seeds)
        self.seeds = {kind: things for kind, things in seeds.items() if kind in self.resources.paths and re.search(options.kind, kind[0] + '/' + kind[1])}

    def ask(self, *request, **more):
        return self.comparison.ask(*request, **more)

    def namespace(self, name):
        for server in self.comparison.servers:
            server.call('POST', '/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': name}})
            server.call('POST', '/api/v1/namespaces/%s/serviceaccounts' % name, {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'default'}})
        return name

    def seed(self, thing):
        thing = without_server_fields(thing)
        thing['metadata'].pop('finalizers', None)
        if thing['kind'].endswith('WebhookConfiguration'):
            for hook in thing.get('webhooks') or ():
                hook['objectSelector'] = {'matchLabels': {'never': 'never'}}
        return thing

    def changed(self, thing, kind, below=()):
        """The object with one thing changed, or two, and what."""
        thing, said = copy.deepcopy(thing), []
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            try:
                said.append(change(self.chance, self.schemas, thing, self.schemas.kinds.get(kind, {}), below))
            except (TypeError, AttributeError, KeyError, IndexError):
                break
        return thing, ', '.join(said)

    def create(self):
        namespace = self.namespace('diff-create-%d' % self.options.seed)
        for kind, things in self.seeds.items():
            path = self.resources.collection(kind, namespace)
            for thing in map(self.seed, things):
                for number in range(self.options.count):
                    body, said = self.changed(thing, kind) if number else (thing, 'as it is')
                    mode = self.chance.choice(('Strict', 'Warn', 'Warn', 'Ignore'))
                    self.ask('%s %s' % (kind[1], said), 'POST', '%s?dryRun=All&fieldValidation=%s' % (path, mode), body)

    def update(self):
        namespace = self.namespace('diff-update-%d' % self.options.seed)
        for kind, things in self.seeds.items():
            if DRY_ONLY.match(kind[1]) or not self.resources.has(kind, 'update'):
                continue
            path = self.resources.collection(kind, namespace)
            for thing in map(self.seed, things[:4]):
                answers = self.ask(kind[1] + ' made', 'POST', path, thing)
                name = (thing['metadata'].get('name') or '')
                if any(a['code'] != 201 for a in answers) or not name:
                    continue
                stored = self.without_versions(self.comparison.servers[0].call('GET', path + '/' + name)[1])
                for _ in range(self.options.count):
                    self.update_once(kind, stored, path + '/' + name)
                self.remove(path + '/' + name)

    @staticmethod
    def without_versions(thing):
        for name in ('uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'selfLink'):
            thing['metadata'].pop(name, None)
        return thing

    def update_once(self, kind, stored, path):
        status = self.resources.has_status(kind) and self.chance.random() < 0.3
        if status:
            path += '/status'
            stored = {**stored, 'status': stored.get('status') or {}}
        body, said = self.changed(stored, kind, ('status',) if status and self.chance.random() < 0.8 else ())
        how = self.chance.choice(('put', 'put', 'merge', 'strategic', 'json', 'apply'))
        mode = self.chance.choice(('Strict', 'Warn', 'Warn', 'Ignore'))
        path += '?dryRun=All&fieldValidation=' + mode
        what = '%s %s' % (kind[1], said)
        if how == 'put':
            return self.ask(what, 'PUT', path, body)
        if how == 'apply':
            sent = {**body, 'metadata': {'name': stored['metadata']['name'], **{k: v for k, v in (body.get('metadata') or {}).items()}}} if isinstance(body.get('metadata'), (dict, type(None))) else body
            return self.ask(what, 'PATCH', path + '&fieldManager=diff' + self.chance.choice(('', '&force=true')), sent, {'Content-Type': PATCHES['apply']})
        patch = self.merge_patch(stored, body)
        if how == 'json':
            patch = [{'op': self.chance.choice(('add', 'replace', 'add', 'test')), 'path': '/' + k.replace('~', '~0').replace('/', '~1'), 'value': v} if v is not None else
                     {'op': 'remove', 'path': '/' + k} for k, v in [(k, body.get(k)) for k in patch]]
        return self.ask(what + ' as ' + json.dumps(patch)[:300], 'PATCH', path, patch, {'Content-Type': PATCHES[how]})

    def merge_patch(self, old, new):
        if not isinstance(old, dict) or not isinstance(new, dict):
            return new
        return {k: None if k not in new else self.merge_patch(old.get(k), new[k]) for k in list(old) + [k for k in new if k not in old]
                if k not in new or k not in old or old[k] != new[k]}

    def remove(self, path):
        for server in self.comparison.servers:
            server.ask('DELETE', path, {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'gracePeriodSeconds': 0})
            if server.ask('GET', path)[0].status == 200:
                server.ask('PATCH', path, {'metadata': {'finalizers': None}}, {'Content-Type': PATCHES['merge']})

    DELETIONS = [None, {'gracePeriodSeconds': 0}, {'gracePeriodSeconds': -1}, {'gracePeriodSeconds': 5}, {'propagationPolicy': 'Foreground'},
                 {'propagationPolicy': 'Orphan'}, {'propagationPolicy': 'Nope'}, {'orphanDependents': True}, {'orphanDependents': True, 'propagationPolicy': 'Orphan'},
                 {'preconditions': {'uid': 'x'}}, {'preconditions': {'resourceVersion': '1'}}, {'dryRun': ['All']}, {'dryRun': ['x']}, {'unknown': 1}, [], {'kind': 'Pod'},
                 {'apiVersion': 'v2', 'kind': 'DeleteOptions'}, {'ignoreStoreReadErrorWithClusterBreakingPotential': True}]
    DELETION_QUERIES = ['', '', '?dryRun=All', '?gracePeriodSeconds=0', '?gracePeriodSeconds=x', '?propagationPolicy=Foreground', '?propagationPolicy=x', '?orphanDependents=true',
                        '?dryRun=x', '?pretty=true']

    def life(self):
        namespace = self.namespace('diff-life-%d' % self.options.seed)
        for kind, things in self.seeds.items():
            if DRY_ONLY.match(kind[1]) or not self.resources.has(kind, 'delete'):
                continue
            path = self.resources.collection(kind, namespace)
            for thing in map(self.seed, things):
                for number in range(max(1, self.options.count // 8)):
                    body, said = self.changed(thing, kind) if number else (thing, 'as it is')
                    if isinstance(body.get('metadata'), dict) and isinstance(body['metadata'].get('name'), str):
                        self.life_once(kind, body, path, said)

    def life_once(self, kind, body, path, said):
        what = '%s %s' % (kind[1], said)
        answers = self.ask(what, 'POST', path, body)
        name = body['metadata']['name']
        if any(a['code'] != 201 for a in answers) or not re.fullmatch(r'[a-z0-9.:-]+', name):
            return
        place = path + '/' + name
        self.show(what, place)
        if self.resources.has_status(kind):
            stored = self.without_versions(self.comparison.servers[0].call('GET', place)[1])
            stored['status'] = self.schemas.value(self.chance, self.schemas.below(self.schemas.kinds.get(kind, {}), ('status',)), 'status')
            if any(a['code'] == 200 for a in self.ask(what + ' status ' + json.dumps(stored['status'])[:200], 'PUT', place + '/status', stored)):
                self.show(what + ' status ' + json.dumps(stored['status'])[:300], place)
        options = self.chance.choice(self.DELETIONS)
        self.ask('%s deleted with %s' % (kind[1], json.dumps(options)), 'DELETE', place + self.chance.choice(self.DELETION_QUERIES), options)
        self.ask(kind[1] + ' after its deletion', 'GET', place)
        self.remove(place)

    def show(self, what, place):
        self.ask(what + ' as table', 'GET', place, headers={'Accept': TABLE})
        self.ask(what + ' as protobuf', 'GET', place, headers={'Accept': PROTOBUF})

    LIST_OPTIONS = ['limit=1', 'limit=x', 'limit=-1', 'continue=x', 'continue=x&limit=1', 'resourceVersion=0', 'resourceVersion=1', 'resourceVersion=x',
                    'resourceVersion=99999999', 'resourceVersion=0&resourceVersionMatch=Exact', 'resourceVersionMatch=Exact', 'resourceVersion=1&resourceVersionMatch=NotOlderThan',
                    'resourceVersion=0&resourceVersionMatch=x', 'resourceVersion=1&continue=x', 'labelSelector=a%3Db', 'labelSelector=a+in+(b,c),!d', 'labelSelector=%3D%3D', 'labelSelector=a+gt+1',
                    'labelSelector=a>x', 'labelSelector=a+in+()', 'labelSelector=-a%3Db', 'labelSelector=a%3D' + 'x' * 64, 'fieldSelector=metadata.name%3Dx', 'fieldSelector=metadata.namespace!%3Dx',
                    'fieldSelector=nope%3Dx', 'fieldSelector=x', 'fieldSelector=metadata.name', 'fieldSelector=a,b', 'fieldSelector=spec.nodeName%3Dx', 'fieldSelector=status.phase%3DRunning',
                    'timeoutSeconds=x', 'timeoutSeconds=-1', 'allowWatchBookmarks=true', 'allowWatchBookmarks=x', 'sendInitialEvents=true', 'sendInitialEvents=true&watch=1',
                    'sendInitialEvents=true&watch=1&timeoutSeconds=1', 'watch=x&timeoutSeconds=1', 'watch=false', 'watch=1&timeoutSeconds=1&resourceVersion=x',
                    'watch=1&timeoutSeconds=1&resourceVersionMatch=Exact', 'watch=1&timeoutSeconds=1&resourceVersion=1&resourceVersionMatch=NotOlderThan',
                    'watch=1&timeoutSeconds=1&continue=x', 'watch=1&timeoutSeconds=1&limit=1&fieldSelector=nope', 'pretty=x', 'includeObject=x', 'unknown=1', 'shardSelector=x',
                    'watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&resourceVersion=0&fieldSelector=metadata.name%3Dnever']
    ACCEPTS = [TABLE, 'application/json;as=Table;v=v1beta1;g=meta.k8s.io', 'application/json;as=Table;v=v2;g=meta.k8s.io', 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
               'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'application/json;as=Nope;v=v1;g=meta.k8s.io', PROTOBUF, 'application/yaml', 'text/plain', '*/*', 'application/*',
               'application/json;q=0.5,application/yaml', 'application/json;stream=watch', 'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json', 'application/cbor', '', 'x',
               'application/json;as=Table;v=v1;g=meta.k8s.io;includeObject=None', 'application/json;profile=x', None]
    METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'NOPE']

    def read(self):
        namespace = self.namespace('diff-read-%d' % self.options.seed)
        for kind in self.seeds:
            path = self.resources.collection(kind, namespace)
            if not self.resources.has(kind, 'list'):
                continue
            for query in self.LIST_OPTIONS:
                self.ask(kind[1], 'GET', path + '?' + query)
                if 'watch' not in query:
                    self.ask(kind[1], 'GET', path + '/x?' + query)
            for accept in self.ACCEPTS:
                self.ask('%s accept %s' % (kind[1], accept), 'GET', path, headers={'Accept': accept})
                self.ask('%s accept %s' % (kind[1], accept), 'GET', path + '/x', headers={'Accept': accept})
            for method in self.METHODS:
                for place in (path, path + '/x', path + '/x/status', path + '/x/scale', path + '/x/nope', path + '/x/status/y'):
                    self.ask(kind[1], method, place, {} if method in ('POST', 'PUT', 'PATCH') else None)

    def cycle(self):
        for kind, things in self.seeds.items():
            if DRY_ONLY.match(kind[1]) and kind[1] not in ('Namespace', 'RoleBinding', 'ClusterRoleBinding') or not self.resources.has(kind, 'update'):
                continue
            namespace = self.namespace('diff-cycle-%d-%s' % (self.options.seed, self.resources.paths[kind][1]))
            for thing in map(self.seed, things[:2]):
                if thing['metadata'].get('name'):
                    self.run(kind[1], cycle(self.resources.collection(kind, namespace), thing))

    def run(self, what, steps):
        for method, path, body, headers, *more in steps:
            if method == 'WAIT':
                self.wait(path)
                continue
            told = '' if body is None else ' ' + (body if isinstance(body, str) else json.dumps(body))[:300]
            self.ask('%s %s%s' % (what, headers or '', told), method, path, body, headers, *more)

    def wait(self, path):
        """Until both servers serve a path."""
        deadline = time.monotonic() + 20
        while any(server.ask('GET', path)[0].status == 404 for server in self.comparison.servers) and time.monotonic() < deadline:
            time.sleep(0.1)

    def patches(self):
        for kind in PATCHED:
            if kind not in self.seeds:
                continue
            namespace = self.namespace('diff-patches-%d' % self.options.seed)
            path = self.resources.collection(kind, namespace)
            thing = self.seed(self.seeds[kind][0])
            thing['metadata']['finalizers'] = ['a/b', 'b/c']
            self.ask(kind[1], 'POST', path, thing)
            self.run(kind[1], patches(path + '/' + thing['metadata']['name']))
            self.remove(path + '/' + thing['metadata']['name'])

    def below(self):
        namespace = self.namespace('diff-below-%d' % self.options.seed)
        spec = {'containers': [{'name': 'c', 'image': 'i'}]}
        self.ask('pod', 'POST', '/api/v1/namespaces/%s/pods' % namespace, {'metadata': {'name': 'p'}, 'spec': spec})
        self.ask('deployment', 'POST', '/apis/apps/v1/namespaces/%s/deployments' % namespace,
                 {'metadata': {'name': 'd'}, 'spec': {'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': {'labels': {'a': 'b'}}, 'spec': spec}}})
        self.run('below', subresources(namespace, 'p', 'd'))
        self.run('review', reviews(namespace))

    def http(self):
        namespace = self.namespace('diff-http-%d' % self.options.seed)
        self.run('text', texts(namespace))
        self.run('place', places())

    def admission(self):
        name = 'diff-admission-%d' % self.options.seed
        base = '/api/v1/namespaces/' + self.namespace(name)
        for what, steps in (('quota', admission.quotas(base)), ('limits', admission.limits(base)), ('security', admission.security(name)), ('other', admission.others(name)), ('node', admission.nodes(name))):
            self.run(what, steps)

    def access(self):
        namespace = self.namespace('diff-access-%d' % self.options.seed)
        for what, steps in (('refused', access.refused), ('impersonated', access.impersonated), ('rights', access.rights)):
            self.run(what, steps(namespace))

    def apply(self):
        self.run('apply', applying.sequences('/api/v1/namespaces/' + self.namespace('diff-apply-%d' % self.options.seed)))

    def list(self):
        base = '/api/v1/namespaces/' + self.namespace('diff-list-%d' % self.options.seed)
        for what, steps in (('page', listing.pages), ('watch', listing.watches), ('collection', listing.collections)):
            self.run(what, steps(base))

    def custom(self):
        namespace = self.namespace('diff-custom-%d' % self.options.seed)
        for shape in custom.SHAPES:
            self.run(shape['spec']['names']['kind'], custom.life(shape, namespace))
        self.run('wrong', custom.wrong())

    def wire(self):
        namespace = self.namespace('diff-wire-%d' % self.options.seed)
        for kind, things in self.seeds.items():
            path = self.resources.collection(kind, namespace)
            for thing in map(self.seed, things[:2]):
                response, data = self.comparison.servers[0].ask('POST', path + '?dryRun=All', thing, {'Accept': PROTOBUF})
                if response.status == 201 and data[:4] == b'k8s\0':
                    for said, body in bodies(self.chance, data):
                        self.ask('%s %s' % (kind[1], said), 'POST', path + '?dryRun=All&fieldValidation=' + self.chance.choice(('Strict', 'Warn', 'Ignore')), body, {'Content-Type': PROTOBUF})

    def documents(self):
        for what, one, other in documents.pairs(*self.comparison.servers):
            self.comparison.compared += 1
            differences = documents.differences(one, other)
            if differences:
                self.comparison.differ += 1
                print('---', what, len(differences))
                for line in differences[:self.options.show]:
                    print('   ', line[:400])


PARTS = ['create', 'update', 'life', 'read', 'cycle', 'patches', 'below', 'http', 'admission', 'access', 'apply', 'list', 'custom', 'wire', 'documents']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('reference')
    parser.add_argument('subject')
    parser.add_argument('--token', required=True)
    parser.add_argument('--part', nargs='*', default=PARTS, choices=PARTS)
    parser.add_argument('--kind', default='')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=30)
    parser.add_argument('--show', type=int, default=1000)
    options = parser.parse_args()
    comparison = Comparison([Talker(url, options.token) for url in (options.reference, options.subject)], options.show)
    run = Run(comparison, options)
    for part in options.part:
        before = comparison.compared, comparison.differ
        getattr(run, part)()
        print('%s: %d compared, %d differ' % (part, comparison.compared - before[0], comparison.differ - before[1]))
    print('%d sorts of difference' % len(comparison.sorts))
    return 1 if comparison.differ else 0


if __name__ == '__main__':
    sys.exit(main())
