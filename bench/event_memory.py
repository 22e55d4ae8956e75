#!/usr/bin/env python3
"""What one live Event costs `flyball apiserver` in resident memory.

    bench/event_memory.py build-release/flyball [--events 50000] [--clients 8] [--most BYTES] [--folder DIR]

Creates the Events as recorders do, each patched once with --patched as its probability, and compares resident memory with
that of the idle server: once at the end of the load, when the watch history is as large as it gets, and once again after
the server has been started anew on the same data. Fails (status 1) if an Event costs more than --most bytes.
"""
import argparse
import json
import sys
import tempfile
import time

from apiserver_load import Server, Tally, Worker, recorded_event

PATH = '/api/v1/namespaces/default/events'


class Recorder(Worker):
    def __init__(self, server, tally, number, arguments):
        super().__init__(server, tally, number, float('inf'))
        self.count, self.patched = arguments.events // arguments.clients, arguments.patched

    def run(self):
        for _ in range(self.count):
            name = 'web-7d4b9c6f5d-%05d.%x' % (self.random.randrange(100000), time.time_ns())
            self.ask('POST', PATH, recorded_event(name, '%08x-1111-2222-3333-444444444444' % self.random.getrandbits(32)))
            if self.random.random() < self.patched:
                self.ask('PATCH', PATH + '/' + name, {'count': 2}, 'application/strategic-merge-patch+json')


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--events', type=int, default=50000)
    parser.add_argument('--clients', type=int, default=8)
    parser.add_argument('--patched', type=float, default=0.2)
    parser.add_argument('--most', type=float, default=1536)
    parser.add_argument('--folder', default=None)
    return parser.parse_args()


def live_events(server):
    connection = server.connect()
    connection.request('GET', PATH + '?limit=1')
    page = json.loads(connection.getresponse().read())
    text = json.dumps(page['items'][:1], separators=(',', ':'))
    return len(page['items']) + page['metadata'].get('remainingItemCount', 0), len(text) - 2


def fill(server, arguments):
    tally = Tally()
    recorders = [Recorder(server, tally, i, arguments) for i in range(arguments.clients)]
    for recorder in recorders:
        recorder.start()
    for recorder in recorders:
        recorder.join()
    if tally.failures:
        sys.exit('%d requests failed, the first: %s' % (len(tally.failures), tally.failures[0]))


def report(what, server, idle_mb):
    events, size = live_events(server)
    each = (server.rss_mb() - idle_mb) * 1024 * 1024 / events
    print('%s: %d Events of %d bytes each; %.1f MB resident, %.1f MB idle; %.0f bytes per Event' %
          (what, events, size, server.rss_mb(), idle_mb, each), flush=True)
    return each


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix='flyball-events-', dir=arguments.folder) as folder:
        server = Server(arguments.program, folder, 3600)
        try:
            time.sleep(1)
            idle_mb = server.rss_mb()
            fill(server, arguments)
            costs = [report('after the load', server, idle_mb)]
            server.stop()
            server = Server(arguments.program, folder, 3600)
            time.sleep(1)
            costs.append(report('after a restart', server, idle_mb))
        finally:
            server.process.kill()
    sys.exit(1 if max(costs) > arguments.most else 0)


main()
