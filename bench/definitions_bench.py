#!/usr/bin/env python3
"""What many custom resource definitions cost: memory, restart, and how soon a new one is served.

    definitions_bench.py build-release/flyball DEFINITIONS... [--count 512] [--check]

DEFINITIONS are folders or files with definitions of real projects, in YAML (needs PyYAML) or JSON. They are created again and
again in other groups until there are COUNT. Prints each figure with its limit and its part of it. --check fails if one is over.
"""
import argparse
import glob
import http.client
import json
import os
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
CONTEXT = ssl.create_default_context()
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE
LIMITS = {'growth, MB': 120, 'growth after /openapi/v2, MB': 120, 'restart, ms': 300, 'served after create, ms': 10}


class Server:
    """A server process on a data folder; ready when the constructor returns."""

    def __init__(self, program, folder):
        self.token = folder + '/tokens.csv'
        with open(self.token, 'w') as f:
            f.write('bench,admin,1,system:masters\n')
        began = time.monotonic()
        self.process = subprocess.Popen([program, 'apiserver', '--data-dir', folder + '/data', '--secure-port', '0',
                                         '--token-auth-file', self.token], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(':', 1)[1])
        self.connection = http.client.HTTPSConnection('127.0.0.1', self.port, context=CONTEXT, timeout=60)
        while self.call('GET', '/readyz')[0] != 200:
            time.sleep(0.002)
        self.ready_ms = (time.monotonic() - began) * 1000

    def call(self, method, path, body=None):
        try:
            self.connection.request(method, path, body and json.dumps(body),
                                    {'Authorization': 'Bearer bench', 'Content-Type': 'application/json', 'Accept': 'application/json'})
            response = self.connection.getresponse()
            return response.status, response.read()
        except (ConnectionError, http.client.HTTPException):
            self.connection.close()
            return 0, b''

    def resident_mb(self):
        with open('/proc/%d/status' % self.process.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith('VmRSS')) / 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()


def read_definitions(places):
    files = [f for place in places for f in ([place] if os.path.isfile(place) else sorted(glob.glob(place + '/**/*', recursive=True)))]
    for name in files:
        if name.endswith('.json'):
            documents = [json.load(open(name))]
        elif name.endswith(('.yaml', '.yml')):
            import yaml
            try:
                documents = list(yaml.load_all(open(name), getattr(yaml, 'CSafeLoader', yaml.SafeLoader)))
            except yaml.YAMLError:
                continue  # a template
        else:
            continue
        yield from (d for d in documents if isinstance(d, dict) and d.get('kind') == 'CustomResourceDefinition' and d.get('spec', {}).get('versions'))


def in_group(definition, number):
    """The same definition in a group of its own."""
    copy = json.loads(json.dumps(definition, default=str))
    group = 'g%d.bench.example.com' % number
    copy['spec']['group'] = group
    copy['spec'].pop('conversion', None)
    copy['metadata'] = {'name': copy['spec']['names']['plural'] + '.' + group}
    copy.pop('status', None)
    return copy


def create(server, definition):
    """Creates it and returns after how many milliseconds its objects can be listed."""
    spec = definition['spec']
    version = next(v['name'] for v in spec['versions'] if v.get('served'))
    status, text = server.call('POST', PATH, definition)
    created = time.monotonic()
    if status != 201:
        raise SystemExit('%s: %s' % (definition['metadata']['name'], text.decode()[:500]))
    while server.call('GET', '/apis/%s/%s/%s' % (spec['group'], version, spec['names']['plural']))[0] != 200:
        if time.monotonic() > created + 10:
            raise SystemExit(definition['metadata']['name'] + ' is not served')
    return (time.monotonic() - created) * 1000


def measure(program, definitions, count, folder):
    server = Server(program, folder)
    server.call('GET', '/api')
    before = server.resident_mb()
    served = [create(server, in_group(definitions[i % len(definitions)], i)) for i in range(count)]
    time.sleep(1)
    figures = {'served after create, ms': statistics.quantiles(served, n=100)[98], 'growth, MB': server.resident_mb() - before}
    server.call('GET', '/openapi/v2')
    time.sleep(1)
    figures['growth after /openapi/v2, MB'] = server.resident_mb() - before
    server.stop()
    restarts = []
    for _ in range(3):
        server = Server(program, folder)
        last = in_group(definitions[(count - 1) % len(definitions)], count - 1)['spec']
        version = next(v['name'] for v in last['versions'] if v.get('served'))
        assert server.call('GET', '/apis/%s/%s/%s' % (last['group'], version, last['names']['plural']))[0] == 200
        restarts.append(server.ready_ms)
        server.stop()
    figures['restart, ms'] = min(restarts)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('definitions', nargs='+')
    parser.add_argument('--count', type=int, default=512)
    parser.add_argument('--check', action='store_true')
    args = parser.parse_args()
    definitions = list(read_definitions(args.definitions))
    if not definitions:
        raise SystemExit('no definitions found')
    folder = tempfile.mkdtemp(prefix='flyball-definitions-')
    try:
        figures = measure(args.program, definitions, args.count, folder)
    finally:
        shutil.rmtree(folder)
    print('%d definitions, made from %d' % (args.count, len(definitions)))
    for name, figure in figures.items():
        print('%-30s %8.1f  limit %4d  %5.2f of it' % (name, figure, LIMITS[name], figure / LIMITS[name]))
    over = [name for name, figure in figures.items() if figure > LIMITS[name]]
    return 1 if over and args.check else 0


if __name__ == '__main__':
    sys.exit(main())
