#!/usr/bin/env python3
"""Measures Flyball beside other control planes on this machine, one after the other, and prints one table.

    ./dev bench compare [--kube-apiserver F --etcd F [--kube-controller-manager F --kube-scheduler F --kwok F --kwok-config F]]
                        [--envtest DIR] [--k3s F] [--kind F] [--runs N] [--pods N] [--quick] [--markdown FILE]

Each program is given by its path, as a flag or in the environment: KUBE_APISERVER, ETCD, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER,
KWOK, KWOK_CONFIG (its stages), ENVTEST (a folder with kube-apiserver and etcd, else KUBEBUILDER_ASSETS), K3S, KIND. What is not given is left out, by name.
Start and first object are the best of --runs: other work on a machine only makes them worse. Requests come from server_bench, whose
clients are in C++ and speak to every server alike. docs/comparison.md explains the rows.
"""
import argparse
import base64
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

from contestants import (Envtest, Flyball, FlyballTest, FlyballUp, K3s, Kind, KubeApiserver, Kwok)

START_SECONDS = 300
PODS_SECONDS = 900
# Rows from server_bench: its name for them, ours, and the unit.
RATES = [('create, 1 client, p50', 'create, one client, median', 'ms'),
         ('creates, 64 clients, one HTTP/2 connection', 'creates, 64 clients', '/s'),
         ('get, 16 clients, one HTTP/2 connection', 'gets, 16 clients', '/s'),
         ('list of 50,000, HTTP/2', 'list of 50,000 objects', 's'),
         ('events to 1,000 watchers, HTTP/2', 'events to 1,000 watchers', '/s')]


class Api:
    """Requests as the user of a kubeconfig, over one connection."""

    def __init__(self, flyball, kubeconfig):
        answer = subprocess.run([flyball, 'config', 'view', '--raw', '--flatten', '--minify', '-o', 'json', '--kubeconfig', kubeconfig],
                                capture_output=True, text=True)
        config = json.loads(answer.stdout) if answer.returncode == 0 else {}
        if not config.get('clusters') or not config.get('users'):
            raise OSError('no kubeconfig yet')
        self.server = urllib.parse.urlsplit(config['clusters'][0]['cluster']['server'])
        user = config['users'][0]['user']
        self.headers = {'Content-Type': 'application/json'}
        if 'token' in user:
            self.headers['Authorization'] = 'Bearer ' + user['token']
        self.context = ssl._create_unverified_context()
        if 'client-certificate-data' in user:
            with tempfile.NamedTemporaryFile() as f:
                for part in 'client-certificate-data', 'client-key-data':
                    f.write(base64.b64decode(user[part]) + b'\n')
                f.flush()
                self.context.load_cert_chain(f.name)
        self.connection = None

    def ask(self, method, path, body=None):
        """The status and the answer; 0 if nobody answers."""
        try:
            if self.connection is None:
                make = http.client.HTTPSConnection if self.server.scheme == 'https' else http.client.HTTPConnection
                options = {'context': self.context} if self.server.scheme == 'https' else {}
                self.connection = make(self.server.hostname, self.server.port, timeout=30, **options)
            self.connection.request(method, path, body and json.dumps(body), self.headers)
            response = self.connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.connection = None
            return 0, b''


def until(what, contestant, seconds, step, check):
    """What check gives as soon as it is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        if contestant.dead():
            raise RuntimeError('%s has ended' % ' and '.join(contestant.dead()))
        if time.monotonic() > deadline:
            raise RuntimeError('%s: not after %d s' % (what, seconds))
        time.sleep(step)


def connect(options, contestant, kubeconfig):
    def attempt():
        try:
            return os.path.exists(kubeconfig) and Api(options.flyball, kubeconfig)
        except OSError:
            return None
    return until('a kubeconfig', contestant, START_SECONDS, 0.005, attempt)


def resident_mb(pids):
    pages = 0
    for pid in pids:
        try:
            with open('/proc/%d/statm' % pid) as f:
                pages += int(f.read().split()[1])
        except OSError:
            pass
    return pages * os.sysconf('SC_PAGESIZE') / 1e6


def start(options, contestant, folder):
    """Starts it; the seconds until it is ready and until it has its first object."""
    if hasattr(contestant, 'prepare'):
        contestant.prepare(folder)
    begin = time.monotonic()
    kubeconfig = contestant.start(folder)
    api = connect(options, contestant, kubeconfig)
    until('ready', contestant, START_SECONDS, 0.005, lambda: api.ask('GET', '/readyz')[0] == 200)
    ready = time.monotonic() - begin
    config_map = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'first'}, 'data': {'a': 'b'}}
    until('a first object', contestant, START_SECONDS, 0.005,
          lambda: api.ask('POST', '/api/v1/namespaces/default/configmaps', config_map)[0] == 201)
    return kubeconfig, api, ready, time.monotonic() - begin


def measure_requests(options, kubeconfig, folder, row):
    figures = os.path.join(folder, 'figures.json')
    command = [options.server_bench, '--kubeconfig', kubeconfig, '--json', figures, '--runs', '1']
    subprocess.run(command + (['--quick'] if options.quick else []), check=True, stdout=subprocess.DEVNULL)
    with open(figures) as f:
        measured = json.load(f)
    for theirs, ours, _ in RATES:
        row[ours] = measured[theirs]


def measure_pods(options, contestant, api, row):
    """Seconds from a Deployment's creation until all its pods are ready."""
    if hasattr(contestant, 'node'):
        until('a node', contestant, START_SECONDS, 0.1, lambda: api.ask('POST', '/api/v1/nodes', contestant.node())[0] == 201)
    until('a service account', contestant, START_SECONDS, 0.1, lambda: api.ask('GET', '/api/v1/namespaces/default/serviceaccounts/default')[0] == 200)

    def node_is_ready():
        status, text = api.ask('GET', '/api/v1/nodes')
        return status == 200 and any(c['type'] == 'Ready' and c['status'] == 'True' for node in json.loads(text)['items']
                                     for c in node['status'].get('conditions', []))
    until('a node that is ready', contestant, START_SECONDS, 0.1, node_is_ready)
    time.sleep(1)  # the node's taint goes
    path = '/apis/apps/v1/namespaces/default/deployments'
    template = {'metadata': {'labels': {'app': 'web'}}, 'spec': {'containers': [{'name': 'web', 'image': 'web:1'}]}}
    deployment = {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'web'},
                  'spec': {'replicas': options.pods, 'selector': {'matchLabels': {'app': 'web'}}, 'template': template}}
    begin = time.monotonic()
    assert api.ask('POST', path, deployment)[0] == 201

    def all_are_ready():
        status, text = api.ask('GET', path + '/web')
        return status == 200 and json.loads(text).get('status', {}).get('readyReplicas', 0) == options.pods
    until('pods', contestant, PODS_SECONDS, 0.02, all_are_ready)
    row['%d pods ready' % options.pods] = time.monotonic() - begin
    row['memory with these pods'] = resident_mb(contestant.processes())


def measure(options, contestant):
    row = {}
    for run in range(options.runs):
        folder = tempfile.mkdtemp(prefix='compare-', dir=options.folder)
        try:
            kubeconfig, api, ready, first = start(options, contestant, folder)
            row['start to ready'] = min(ready, row.get('start to ready', ready))
            row['start to first object'] = min(first, row.get('start to first object', first))
            if run == options.runs - 1:
                time.sleep(1 if options.quick else contestant.settle)
                pids = contestant.processes()
                row['processes'], row['idle memory (RSS)'] = len(pids), resident_mb(pids)
                if contestant.serves:
                    measure_requests(options, kubeconfig, folder, row)
                if contestant.runs_pods:
                    measure_pods(options, contestant, api, row)
        except Exception:
            show_logs(folder)
            raise
        finally:
            contestant.stop()
            shutil.rmtree(folder, ignore_errors=True)
    return row


def show_logs(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith('.log'):
            with open(os.path.join(folder, name), errors='replace') as f:
                print('-- %s\n%s' % (name, f.read()[-2000:]), file=sys.stderr)


def contestants(options):
    """Those that can be measured, and why the others cannot."""
    wanted = [(Flyball, ('flyball',)), (KubeApiserver, ('kube_apiserver', 'etcd')), (FlyballTest, ('flyball',)), (Envtest, ('envtest',)),
              (FlyballUp, ('flyball',)), (Kwok, ('kube_apiserver', 'etcd', 'kube_controller_manager', 'kube_scheduler', 'kwok', 'kwok_config')),
              (K3s, ('k3s',)), (Kind, ('kind',))]
    chosen, left_out = [], []
    for kind, needs in wanted:
        missing = [name for name in needs if not getattr(options, name)]
        if missing:
            left_out.append('%s (not given: %s)' % (kind.title, ', '.join('--' + name.replace('_', '-') for name in missing)))
        elif not options.only or options.only in kind.title:
            chosen.append(kind(*(getattr(options, name) for name in needs)))
    return chosen, left_out


def text_of(name, value):
    if value is None:
        return ''
    units = {ours: unit for _, ours, unit in RATES}
    if name in ('start to ready', 'start to first object'):
        return '{:,.0f} ms'.format(value * 1000)
    if 'memory' in name:
        return '{:,.0f} MB'.format(value)
    if 'pods' in name:
        return '{:,.1f} s'.format(value)
    if name not in units:
        return str(value)
    return ('{:,.0f}{}' if units[name] == '/s' else '{:.3f} {}').format(value, units[name])


def table(results):
    names = list(dict.fromkeys(name for _, row in results for name in row))
    lines = ['| | ' + ' | '.join(title for title, _ in results) + ' |', '|---' * (len(results) + 1) + '|']
    lines += ['| %s | %s |' % (name, ' | '.join(text_of(name, row.get(name)) for _, row in results)) for name in names]
    return '\n'.join(lines)


def machine():
    with open('/proc/cpuinfo') as f:
        model = next((line.split(':')[1].strip() for line in f if line.startswith('model name')), 'unknown')
    return '%d processors (%s), Linux %s, load before %.1f' % (os.cpu_count(), model, os.uname().release, os.getloadavg()[0])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--flyball', default='build-release/flyball')
    parser.add_argument('--server-bench', default='build-release/bench/server_bench')
    for name in ('kube-apiserver', 'etcd', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'kwok-config', 'k3s', 'kind'):
        parser.add_argument('--' + name, default=os.environ.get(name.upper().replace('-', '_')))
    parser.add_argument('--envtest', default=os.environ.get('ENVTEST') or os.environ.get('KUBEBUILDER_ASSETS'))
    parser.add_argument('--runs', type=int, default=3, help='starts of each, of which the best counts')
    parser.add_argument('--pods', type=int, default=1000)
    parser.add_argument('--only', help='those whose title has this word')
    parser.add_argument('--folder', default='.', help='where they keep their data: fsyncs are part of what is measured')
    parser.add_argument('--quick', action='store_true', help='small numbers, to see that it works')
    parser.add_argument('--markdown', help='write the table to this file, too')
    options = parser.parse_args()
    for name in ('flyball', 'server_bench', 'kube_apiserver', 'etcd', 'kube_controller_manager', 'kube_scheduler', 'kwok', 'kwok_config', 'k3s', 'kind',
                 'envtest'):
        path = getattr(options, name)
        if path:
            setattr(options, name, os.path.abspath(path))
            if not os.path.exists(path):
                parser.error('%s: there is no %s' % ('--' + name.replace('_', '-'), path))
    options.folder = os.path.abspath(options.folder)
    if options.quick:
        options.runs, options.pods = 1, min(options.pods, 100)
    return options


def main():
    options = parse()
    chosen, left_out = contestants(options)
    about, results, failed = machine(), [], False
    for contestant in chosen:
        print('measuring %s' % contestant.title, file=sys.stderr, flush=True)
        try:
            results.append((contestant.title, measure(options, contestant)))
        except Exception as error:  # the others are worth measuring
            failed = True
            left_out.append('%s (failed: %s)' % (contestant.title, error))
    text = '%s\n\n%s.' % (table(results), about)
    if options.quick:
        text += ' Quick: small numbers, which mean little.'
    if left_out:
        text += '\n\nLeft out: %s.' % '; '.join(left_out)
    print(text)
    if options.markdown:
        with open(options.markdown, 'w') as f:
            f.write(text + '\n')
    sys.exit(failed)


if __name__ == '__main__':
    main()
