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
import json
import sys
import tempfile
import time

from apiserver_load import Server, Tally, Worker, recorded_event

SAMPLE_SECONDS = 10
# What memory may differ by between the middle and the end of the steady time.
MOST_GROWTH = 0.05
MOST_GROWTH_MB = 4


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
            event = recorded_event(name, '%08x-1111-2222-3333-444444444444' % self.random.getrandbits(32))
            self.ask('POST', path, event)
            if self.random.random() < 0.2:
                self.ask('PATCH', path + '/' + name, {'count': 2, 'lastTimestamp': event['lastTimestamp']}, 'application/strategic-merge-patch+json')
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
