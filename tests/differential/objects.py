"""Objects to start from, and ways to change one thing in them that the schemas of a server know."""
import copy
import glob
import json
import os

NOTHING = ['', 'a', 'A', 'a.b', 'a/b', 'x y', '-a', 'a' * 64, 'a' * 254, 'é', '1', '1Gi', '-1', '1.5', '0', '50%', '10.1.2.3', '010.1.2.3', '::1', '10.0.0.0/8',
           'fd00::/64', 'http://x', 'https://x.example.com/y', '/a/../b', 'a\nb', 'true', 'example.com/x', '2024-01-02T03:04:05Z', '5s']
NUMBERS = [0, 1, -1, 2, 5, 80, 100, 101, 65535, 65536, 2147483647, 2147483648, -2147483649, 9223372036854775807]
WRONG = [None, 0, 1.5, '', 'x', True, [], {}, ['x'], [None], [{}], {'a': 'b'}, {'a': None}, {'a': 1}]
NAMED = 8  # so many seeds of a kind, the largest


def read_json_objects(value):
    """Every object with a kind in what was recorded: bodies that were accepted, and results."""
    if isinstance(value, dict):
        if isinstance(value.get('expect'), dict) and value.get('method') == 'POST':
            if value['expect'].get('code') == 201 and isinstance(value.get('body'), dict) and '/' not in value['body'].get('kind', '/'):
                yield value['body'], value['path']
        for child in value.values():
            yield from read_json_objects(child)
    elif isinstance(value, list):
        for child in value:
            yield from read_json_objects(child)


def without_server_fields(thing):
    thing = copy.deepcopy(thing)
    for name in ('uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'generation', 'selfLink', 'namespace', 'generateName', 'deletionTimestamp',
                 'deletionGracePeriodSeconds', 'ownerReferences'):
        (thing.get('metadata') or {}).pop(name, None)
    return without_generated_labels(thing) if thing.get('kind') == 'Job' else thing


def without_generated_labels(job):
    """A Job as its author wrote it: what is made of its uid goes."""
    if not job.get('spec', {}).get('manualSelector'):
        job['spec'].pop('selector', None)
        for metadata in (job['metadata'], job['spec'].get('template', {}).get('metadata') or {}):
            metadata['labels'] = {k: v for k, v in (metadata.get('labels') or {}).items() if k.split('/')[-1] not in ('controller-uid', 'job-name')}
    return job


def read_seeds(recordings, more=()):
    """Good objects by (apiVersion, kind), the richest first."""
    seeds = {}

    def add(thing):
        metadata = thing.get('metadata')
        if isinstance(metadata, dict) and thing.get('apiVersion') and '${' not in json.dumps(thing):
            seeds.setdefault((thing['apiVersion'], thing['kind']), {})[json.dumps(without_server_fields(thing), sort_keys=True)] = None

    for name in sorted(glob.glob(os.path.join(recordings, 'cases', '*', '*.json'))):
        with open(name, encoding='utf-8') as f:
            for thing, path in read_json_objects(json.load(f)):
                if 'fieldValidation' not in path:
                    add(thing)
    for name in sorted(glob.glob(os.path.join(recordings, 'protobuf', '*.json'))):
        with open(name, encoding='utf-8') as f:
            for row in json.load(f):
                if isinstance(row.get('json'), dict) and 'items' not in row['json']:
                    add(row['json'])
    for thing in more:
        add(thing)
    return {key: [json.loads(text) for text in sorted(texts, key=len, reverse=True)[:NAMED]] for key, texts in seeds.items()}


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield path, key
        yield from places(child, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


class Schemas:
    """The OpenAPI v3 schemas of all kinds, and what values the seeds have under each name."""

    def __init__(self, server, seeds):
        self.components, self.kinds, self.samples = {}, {}, {}
        for path in server.call('GET', '/openapi/v3')[1]['paths']:
            if path.count('/') < 1 or 'apis/apiregistration' in path:
                continue
            document = server.call('GET', '/openapi/v3/' + path)[1]
            for name, schema in document.get('components', {}).get('schemas', {}).items():
                self.components[name] = schema
                for gvk in schema.get('x-kubernetes-group-version-kind') or ():
                    version = (gvk['group'] + '/' if gvk['group'] else '') + gvk['version']
                    self.kinds[version, gvk['kind']] = schema
        for things in seeds.values():
            for thing in things:
                for path, key in places(thing):
                    if isinstance(key, str):
                        kept = self.samples.setdefault(key, [])
                        child = at(thing, path)[key]
                        if child not in kept and len(kept) < 40:
                            kept.append(child)

    def resolve(self, schema):
        while True:
            reference = schema.get('$ref') or next((s['$ref'] for s in schema.get('allOf') or () if '$ref' in s), None)
            if not reference:
                return schema
            schema = self.components[reference.rsplit('/', 1)[1]]

    def below(self, schema, path):
        """The schema of what is at a path; None where it says nothing."""
        for key in path:
            if schema is None:
                return None
            schema = self.resolve(schema)
            schema = schema.get('items') if isinstance(key, int) else (schema.get('properties') or {}).get(key) or schema.get('additionalProperties')
        return schema if schema is None else self.resolve(schema)

    def value(self, chance, schema, name='', depth=0):
        """A value of the schema's type, not always a good one."""
        kept = self.samples.get(name)
        if kept and chance.random() < 0.5:
            return copy.deepcopy(chance.choice(kept))
        schema = self.resolve(schema or {})
        kind = schema.get('type')
        if 'enum' in schema and chance.random() < 0.7:
            return chance.choice(schema['enum'])
        if kind == 'object' or 'properties' in schema:
            if 'properties' not in schema:
                return {chance.choice(('a', 'cpu', 'kubernetes.io/x', 'A b', '')): self.value(chance, schema.get('additionalProperties'), '', depth + 1)
                        for _ in range(chance.choice((0, 1, 1, 2)))}
            names = [n for n in schema['properties'] if n in (schema.get('required') or ()) and chance.random() < 0.9]
            others = [n for n in schema['properties'] if n not in names]
            names += chance.sample(others, min(len(others), chance.choice((0, 1, 1, 2) if depth < 4 else (0,))))
            return {n: self.value(chance, schema['properties'][n], n, depth + 1) for n in names}
        if kind == 'array':
            return [self.value(chance, schema.get('items'), '', depth + 1) for _ in range(chance.choice((0, 1, 1, 2)))]
        if kind == 'integer':
            return chance.choice(NUMBERS)
        if kind == 'number':
            return chance.choice([0, 1.5, -1])
        if kind == 'boolean':
            return chance.choice([True, False])
        return chance.choice(NOTHING)


def change(chance, schemas, thing, schema, below=()):
    """Changes one thing of an object at or below a path; says what."""
    here = [p for p in places(thing) if p[0][:len(below)] == below and p != ((), 'apiVersion') and p != ((), 'kind')]
    how = chance.choice(('replace', 'replace', 'wrong', 'remove', 'copy', 'unknown', 'add', 'add', 'add', 'add'))
    if how in ('add', 'unknown') or not here:
        holders = [below] + [p + (k,) for p, k in here if isinstance(at(thing, p + (k,)), dict)]
        path = chance.choice([h for h in holders if isinstance(at(thing, h), dict)] or [()])
        holder, known = at(thing, path), schemas.below(schema, path) or {}
        names = [n for n in known.get('properties') or () if n not in holder]
        if how == 'unknown' or not names:
            name = chance.choice(('unknown', 'Name', 'a', 'a b', 'x/y/z'))
            holder[name] = copy.deepcopy(chance.choice(WRONG + NOTHING[:6]))
        else:
            name = chance.choice(names)
            holder[name] = schemas.value(chance, known['properties'][name], name)
        return 'add %s=%s' % ('.'.join(map(str, path + (name,))), json.dumps(holder[name])[:150])
    path, key = chance.choice(here)
    holder, label = at(thing, path), '.'.join(map(str, path + (key,)))
    if how == 'remove':
        del holder[key]
        return 'remove ' + label
    if how == 'copy' and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
        return 'copy ' + label
    if how == 'wrong':
        holder[key] = copy.deepcopy(chance.choice(WRONG))
    else:
        holder[key] = schemas.value(chance, schemas.below(schema, path + (key,)), key if isinstance(key, str) else '')
    return 'replace %s=%s' % (label, json.dumps(holder[key])[:150])
