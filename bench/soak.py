#!/usr/bin/env python3
"""A soak of `flyball apiserver`: mixed load with churn of Events, and what it does to memory, files and answers.

    bench/soak.py build-release/flyball [--minutes 30] [--event-ttl 120] [--events 400] [--folder DIR]

Events are created (and some of them patched, as recorders do) at --events a second and expire after --event-ttl
seconds, so a steady number is alive once the first have gone. Beside them ConfigMaps are created, changed, applied,
listed and deleted, and watches are opened, read and closed. A line every ten seconds says what there is.

It fails (status 1) if any request fails, if resident memory still grows after the warm-up (twice the time to live),
if files grow, or if the server does not stop in order.
"""
import argparse
import base64
import http.client
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

SAMPLE_SECONDS = 10
# What memory may differ by between the middle and the end of the steady time.
MOST_GROWTH = 0.05
MOST_GROWTH_MB = 4


class Server:
    def __init__(self, binary, folder, event_ttl):
        self.log = open(os.path.join(folder, 'output.log'), 'w+')
        self.folder = os.path.join(folder, 'data')
        self.process = subprocess.Popen([binary, 'apiserver', '--data-dir', self.folder, '--secure-port', '0', '--event-ttl', '%ds' % event_ttl],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 60
        while True:
            found = re.search(r'serving https://([^:\s]+):(\d+)', self.output())
            if found and os.path.exists(os.path.join(self.folder, 'kubeconfig')):
                break
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit('the server did not start:\n' + self.output())
            time.sleep(0.05)
        self.host, self.port = found.group(1), int(found.group(2))
        self.context = self._credentials()

    def _credentials(self):
        """The administrator's certificate, from the kubeconfig."""
        with open(os.path.join(self.folder, 'kubeconfig')) as f:
            text = f.read()
        files = []
        for name in ('client-certificate-data', 'client-key-data'):
            handle, path = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, 'wb') as f:
                f.write(base64.b64decode(re.search(name + r': (\S+)', text).group(1)))
            files.append(path)
        context = ssl._create_unverified_context()
        context.load_cert_chain(*files)
        for path in files:
            os.unlink(path)
        return context

    def output(self):
        with open(self.log.name) as f:
            return f.read()

    def connect(self):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=60)

    def status(self, name):
        with open('/proc/%d/status' % self.process.pid) as f:
            return int(re.search(name + r':\s+(\d+)', f.read()).group(1))

    def rss_mb(self):
        return self.status('VmRSS') / 1024

    def disk_mb(self):
        return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(self.folder) for name in names) / 1e6

    def open_files(self):
        return len(os.listdir('/proc/%d/fd' % self.process.pid))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


class Tally:
    """What the workers did. Thread-safe."""

    def __init__(self):
        self.lock, self.done, self.failures = threading.Lock(), 0, []

    def add(self, status, what, body):
        with self.lock:
            self.done += 1
            if status >= 400 and status != 404 and status != 409:
                self.failures.append('%s: %d %s' % (what, status, body[:200]))


class Worker(threading.Thread):
    def __init__(self, server, tally, number, until):
        super().__init__(daemon=True)
        self.server, self.tally, self.number, self.until = server, tally, number, until
        self.random, self.connection, self.counter = random.Random(number), server.connect(), 0

    def ask(self, method, path, body=None, kind='application/json'):
        try:
            self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                    {'Content-Type': kind, 'User-Agent': 'soak/1.0'})
            answer = self.connection.getresponse()
            text = answer.read()
            self.tally.add(answer.status, '%s %s' % (method, path), text)
            return answer.status, text
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() < self.until:
                self.tally.add(599, '%s %s' % (method, path), str(error))
            self.connection.close()
            return 599, b''


class EventWorker(Worker):
    """What recorders do: create, and now and then count one up."""

    def __init__(self, server, tally, number, until, rate):
        super().__init__(server, tally, number, until)
        self.pause = 1.0 / rate

    def run(self):
        path = '/api/v1/namespaces/default/events'
        next_time = time.monotonic()
        while time.monotonic() < self.until:
            name = 'web-7d4b9c6f5d-%05d.%x' % (self.random.randrange(100000), time.time_ns())
            now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
            self.ask('POST', path, {
                'apiVersion': 'v1', 'kind': 'Event', 'metadata': {'name': name, 'namespace': 'default'},
                'involvedObject': {'apiVersion': 'v1', 'kind': 'Pod', 'name': name.split('.')[0], 'namespace': 'default',
                                   'uid': '%08x-1111-2222-3333-444444444444' % self.random.getrandbits(32), 'resourceVersion': '12345',
                                   'fieldPath': 'spec.containers{web}'},
                'reason': 'Pulled', 'message': 'Container image "registry.example.com/team/web:v1.2.3" already present on machine',
                'source': {'component': 'kubelet', 'host': 'node-17'}, 'firstTimestamp': now, 'lastTimestamp': now, 'count': 1,
                'type': 'Normal', 'reportingComponent': 'kubelet', 'reportingInstance': 'node-17'})
            if self.random.random() < 0.2:
                self.ask('PATCH', path + '/' + name, {'count': 2, 'lastTimestamp': now}, 'application/strategic-merge-patch+json')
            next_time += self.pause
            time.sleep(max(0, next_time - time.monotonic()))


class ObjectWorker(Worker):
    """ConfigMaps of its own: at most a hundred, changed in every way."""

    def run(self):
        path = '/api/v1/namespaces/default/configmaps'
        while time.monotonic() < self.until:
            self.counter += 1
            name = 'soak-%d-%d' % (self.number, self.random.randrange(100))
            what = self.random.random()
            data = {'k': 'x' * self.random.randrange(2000), 'n': str(self.counter)}
            if what < 0.3:
                self.ask('POST', path, {'metadata': {'name': name}, 'data': data})
            elif what < 0.5:
                self.ask('PATCH', path + '/' + name, {'data': data}, 'application/merge-patch+json')
            elif what < 0.6:
                self.ask('PATCH', path + '/' + name + '?fieldManager=soak&force=true',
                         {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': data}, 'application/apply-patch+yaml')
            elif what < 0.75:
                self.ask('DELETE', path + '/' + name)
            elif what < 0.85:
                self.ask('GET', path + '?limit=50')
            elif what < 0.95:
                self.ask('GET', path + '/' + name)
            else:
                self.ask('GET', '/api/v1/namespaces/default/events?limit=100&fieldSelector=type%3DNormal')
            time.sleep(0.02)


class WatchWorker(Worker):
    def run(self):
        while time.monotonic() < self.until:
            seconds = self.random.randrange(2, 10)
            resource = self.random.choice(('configmaps', 'events', 'pods'))
            self.ask('GET', '/api/v1/namespaces/default/%s?watch=1&resourceVersion=0&timeoutSeconds=%d&limit=10' % (resource, seconds))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--minutes', type=float, default=30)
    parser.add_argument('--event-ttl', type=int, default=120)
    parser.add_argument('--events', type=int, default=400)
    parser.add_argument('--folder', default=None)
    return parser.parse_args()


def mean(values):
    return sum(values) / len(values)


def watch_over(server, tally, arguments, begin, until):
    """A line every ten seconds; the samples."""
    samples, connection = [], server.connect()
    print('%8s %8s %8s %8s %8s %8s %8s' % ('seconds', 'requests', 'failed', 'events', 'RSS MB', 'disk MB', 'files'))
    while time.monotonic() < until:
        time.sleep(min(SAMPLE_SECONDS, max(0.1, until - time.monotonic())))
        connection.request('GET', '/api/v1/events?limit=1')
        page = json.loads(connection.getresponse().read())
        events = len(page['items']) + page['metadata'].get('remainingItemCount', 0)
        sample = (time.monotonic() - begin, tally.done, len(tally.failures), events, server.rss_mb(), server.disk_mb(), server.open_files())
        samples.append(sample)
        print('%8.0f %8d %8d %8d %8.1f %8.1f %8d' % sample, flush=True)
    return samples


def judge(samples, arguments, idle_mb, tally):
    problems = ['%d requests failed, the first: %s' % (len(tally.failures), tally.failures[0])] if tally.failures else []
    steady = [s for s in samples if s[0] > 2 * arguments.event_ttl]
    if len(steady) >= 6:
        half = len(steady) // 2
        for column, what in ((4, 'resident memory'), (5, 'disk'), (6, 'open files')):
            before, after = mean([s[column] for s in steady[:half]]), mean([s[column] for s in steady[half:]])
            print('%s: %.1f in the first half after the warm-up, %.1f in the second' % (what, before, after))
            if after > before * (1 + MOST_GROWTH) + MOST_GROWTH_MB:
                problems.append('%s grows: %.1f, then %.1f' % (what, before, after))
    most = max(samples, key=lambda s: s[3])
    if most[3]:
        print('%d Events alive at %.1f MB, idle %.1f MB: at most %.2f KB an Event' %
              (most[3], most[4], idle_mb, (most[4] - idle_mb) * 1024 / most[3]))
    return problems


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix='flyball-soak-', dir=arguments.folder) as folder:
        server, tally = Server(arguments.program, folder, arguments.event_ttl), Tally()
        try:
            time.sleep(1)
            idle_mb = server.rss_mb()
            begin = time.monotonic()
            until = begin + arguments.minutes * 60
            recorders = max(1, arguments.events // 100)
            workers = [EventWorker(server, tally, i, until, arguments.events / recorders) for i in range(recorders)]
            workers += [ObjectWorker(server, tally, 100 + i, until) for i in range(4)]
            workers += [WatchWorker(server, tally, 200 + i, until) for i in range(4)]
            for worker in workers:
                worker.start()
            samples = watch_over(server, tally, arguments, begin, until)
            for worker in workers:
                worker.join(60)
            problems = judge(samples, arguments, idle_mb, tally)
            if server.stop() != 0:
                problems.append('the server ended with status %d:\n%s' % (server.process.returncode, server.output()[-2000:]))
        finally:
            server.process.kill()
    for problem in problems:
        print('FAILED ' + problem)
    print('%d requests, %d failed' % (tally.done, len(tally.failures)))
    sys.exit(1 if problems else 0)


main()
