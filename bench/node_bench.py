#!/usr/bin/env python3
"""How fast `flyball node` runs pods, and what they cost it. As root, with runc and busybox-static.

    bench/node_bench.py build-release/flyball [--pods 50] [--single 10]

The API server, controllers, scheduler and one node are processes of their own on this machine; the image is busybox. Measured are
the time from the request that creates a pod to the watch event that says it is ready, for one pod at a time (the median) and for
many at once (the last of them); the resident memory of the node's process and of the pods' monitors; and the processor time that
these use while nothing happens. The targets are those of docs/performance.md; figures of a busy machine mean little.
"""
import argparse
import base64
import glob
import http.client
import json
import os
import ssl
import statistics
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests'))

import containers  # noqa: E402
from cluster import Cluster  # noqa: E402
from program import Kubectl, wait_until  # noqa: E402

PODS = '/api/v1/namespaces/default/pods'
IDLE_SECONDS = 10


class Api:
    """Requests as the user of a kubeconfig, each on a connection of its own."""

    def __init__(self, kubectl):
        config = json.loads(kubectl('config', 'view', '--raw', '-o', 'json'))
        self.server = urllib.parse.urlsplit(config['clusters'][0]['cluster']['server'])
        user = config['users'][0]['user']
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        with tempfile.NamedTemporaryFile() as f:
            for part in 'client-certificate-data', 'client-key-data':
                f.write(base64.b64decode(user[part]))
            f.flush()
            self.context.load_cert_chain(f.name)

    def open(self, method, path, body=None):
        connection = http.client.HTTPSConnection(self.server.hostname, self.server.port, context=self.context, timeout=120)
        connection.request(method, path, body and json.dumps(body), {'Content-Type': 'application/json'})
        return connection.getresponse()

    def ask(self, method, path, body=None):
        response = self.open(method, path, body)
        text = response.read()
        if response.status >= 300 and response.status != 404:
            raise SystemExit('%s %s: %d %s' % (method, path, response.status, text.decode()))
        return json.loads(text)


def pod(name):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name},
            'spec': {'terminationGracePeriodSeconds': 0, 'automountServiceAccountToken': False,
                     'containers': [{'name': 'c', 'image': containers.IMAGE, 'imagePullPolicy': 'IfNotPresent', 'command': ['sleep', '100000']}]}}


def is_ready(found):
    return any(c['type'] == 'Ready' and c['status'] == 'True' for c in found.get('status', {}).get('conditions', []))


def time_of_start(api, names):
    """Seconds from the first request to the last pod's being ready."""
    version = api.ask('GET', PODS + '?limit=1')['metadata']['resourceVersion']
    events = api.open('GET', '%s?watch=1&resourceVersion=%s' % (PODS, version))
    begin, missing = time.monotonic(), set(names)
    for name in names:
        api.ask('POST', PODS, pod(name))
    while missing:
        event = json.loads(events.readline())
        if is_ready(event['object']):
            missing.discard(event['object']['metadata']['name'])
    seconds = time.monotonic() - begin
    events.close()
    return seconds


def remove(api, cluster, names):
    for name in names:
        api.ask('DELETE', PODS + '/' + name)
    wait_until('nothing is left of the pods', lambda: not api.ask('GET', PODS)['items'] and not os.listdir(pods_folder(cluster)), 120)


def status_kib(pid, key):
    with open('/proc/%d/status' % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key))


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        with open('/proc/%d/stat' % pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf('SC_CLK_TCK')


def pods_folder(cluster):
    return cluster.node_folder + '/node/oci/pods'


def monitors(cluster):
    found = []
    for path in glob.glob(pods_folder(cluster) + '/*/monitor.pid'):
        with open(path) as f:
            found.append(int(f.read()))
    return found


def measure(cluster, options):
    api = Api(Kubectl(cluster.kubeconfig))
    node = cluster.programs[-1].process.pid
    wait_until('the node is ready', lambda: is_ready(api.ask('GET', '/api/v1/nodes/n1')))
    time_of_start(api, ['warm'])
    remove(api, cluster, ['warm'])
    idle = status_kib(node, 'VmRSS') / 1024
    times = []
    for i in range(options.single):
        times.append(time_of_start(api, ['one-%d' % i]))
        remove(api, cluster, ['one-%d' % i])
    print('one pod:  %4.0f ms from create to ready (median of %d; target 120)' % (statistics.median(times) * 1000, options.single))
    names = ['many-%d' % i for i in range(options.pods)]
    print('%d pods: %4.2f s to the last one (target for 50: 3)' % (options.pods, time_of_start(api, names)))
    time.sleep(2)  # what the start has left to do
    watched = [node, *monitors(cluster)]
    memory = sum(status_kib(pid, 'VmRSS') for pid in watched) / 1024
    print('memory:   %4.1f MB without pods (target 30), %.2f MB a pod with its monitor (target 1.5)' %
          (idle, (memory - idle) / options.pods))
    before = cpu_seconds(watched)
    time.sleep(IDLE_SECONDS)
    print('idle:     %4.2f %% of a processor with %d pods' % ((cpu_seconds(watched) - before) / IDLE_SECONDS * 100, options.pods))
    remove(api, cluster, names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--pods', type=int, default=50)
    parser.add_argument('--single', type=int, default=10)
    options = parser.parse_args()
    busybox = containers.check_machine()
    cluster = Cluster(os.path.abspath(options.program), 'processes')
    try:
        containers.build_image(options.program, cluster.node_folder, busybox)
        measure(cluster, options)
    finally:
        cluster.close()
        containers.clean(cluster.node_folder)


if __name__ == '__main__':
    main()
