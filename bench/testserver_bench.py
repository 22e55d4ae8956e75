#!/usr/bin/env python3
"""What a test server costs: time to the first object, many one after the other, many at once.

    testserver_bench.py FLYBALL [--quick]
"""
import http.client
import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import time

FIRST_MS, STOP_MS, SEQUENCE, SEQUENCE_SECONDS, AT_ONCE, AT_ONCE_MB = 60, 100, 1000, 60, 50, 700


class Server:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary, 'testserver', '--print', 'json'], stdout=subprocess.PIPE)
        self.about = None

    def create_first(self):
        """Waits until it is ready and creates a ConfigMap."""
        self.about = json.loads(self.process.stdout.readline())
        address = self.about['url'].split('//')[1]
        connection = http.client.HTTPSConnection(address, context=ssl.create_default_context(cadata=self.about['ca']))
        connection.request('POST', '/api/v1/namespaces/default/configmaps', '{"metadata": {"name": "first"}}',
                           {'Authorization': 'Bearer ' + self.about['token'], 'Content-Type': 'application/json'})
        status = connection.getresponse().status
        assert status == 201, status
        connection.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def memory_mb(self):
        """Its proportional share: what many copies of one program share is counted once."""
        with open('/proc/%d/smaps_rollup' % self.process.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith('Pss:')) / 1024


def verdict(value, limit):
    return 'ok' if value <= limit else 'MISSED'


def first_object(binary, count):
    times, stops = [], []
    for _ in range(count):
        start = time.monotonic()
        server = Server(binary)
        server.create_first()
        times.append((time.monotonic() - start) * 1000)
        start = time.monotonic()
        server.stop()
        stops.append((time.monotonic() - start) * 1000)
    median = statistics.median(times)
    print('time to the first object   median %6.1f ms, worst %6.1f ms   (target %d ms: %s)' % (median, max(times), FIRST_MS, verdict(median, FIRST_MS)))
    median = statistics.median(stops)
    print('SIGTERM to gone            median %6.1f ms, worst %6.1f ms   (target %d ms: %s)' % (median, max(stops), STOP_MS, verdict(median, STOP_MS)))


def in_sequence(binary, count):
    start = time.monotonic()
    for _ in range(count):
        server = Server(binary)
        server.create_first()
        server.stop()
    seconds = (time.monotonic() - start) * SEQUENCE / count
    print('%d one after the other    %6.1f s%s   (target %d s: %s)' % (SEQUENCE, seconds, '' if count == SEQUENCE else ' by %d' % count, SEQUENCE_SECONDS,
                                                                      verdict(seconds, SEQUENCE_SECONDS)))


def at_once(binary):
    servers = [Server(binary) for _ in range(AT_ONCE)]
    try:
        for server in servers:
            server.create_first()
        megabytes = sum(server.memory_mb() for server in servers)
        print('%d at once                 %6.0f MB   (target %d MB: %s)' % (AT_ONCE, megabytes, AT_ONCE_MB, verdict(megabytes, AT_ONCE_MB)))
    finally:
        for server in servers:
            server.stop()


def main():
    binary, quick = os.path.abspath(sys.argv[1]), '--quick' in sys.argv
    first_object(binary, 5 if quick else 30)
    in_sequence(binary, 20 if quick else SEQUENCE)
    at_once(binary)


main()
