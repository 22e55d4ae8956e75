"""etcd_faults.py FLYBALL [--seconds 600] [--pace 8]: three etcds and three API servers, one of them hurt at a time, under load.

What is hurt is killed and started again, stopped for a while (SIGSTOP), or cut off: each API server reaches each etcd, and each
etcd the others, through a relay of this script, and a cut relay is silent. An etcd that is cut off from the others can still
be reached by the servers: it does not know that another leads. Meanwhile writers count objects up, readers read them, watchers follow them,
and two `flyball controllers` elect a leader, which is killed too. The run fails if

- a write that was acknowledged is lost, or a counter goes back;
- a watcher misses a change, or sees one twice or out of order;
- a read without resourceVersion shows less than what was acknowledged before it began;
- an API error is not one that clients try again (connection lost, 409, 429, 500 ServerTimeout, 503, 504);
- nobody writes for a minute, or a leader that was killed has no successor after three times its lease.

The last lines count what was done. Runs of a minute or less are for tests, and leave leaders alone.
"""
import argparse
import asyncio
import base64
import collections
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from etcd_test import free_port, usable_etcd
from leader_test import holder
from program import Kubectl, Program, wait_until

LEASE = 15
ELECTION = ['--leader-elect', '--leader-elect-lease-duration', '15s', '--leader-elect-renew-deadline', '10s',
            '--leader-elect-retry-period', '2s']
FAULTS = ['kill etcd', 'stop etcd', 'cut etcd off', 'kill server', 'stop server', 'cut server off']
COUNTERS = 8
PAUSE = 0.02  # of a writer or reader after each request: the load is to be there, not to fill the machine
PATH = '/api/v1/namespaces/default/configmaps'


class Member:
    """One etcd of three. It listens for the others at one port; they reach it at `peers[index]`."""

    def __init__(self, folder, index, clients, listens, peers):
        self.name = 'etcd%d' % index
        own = 'http://127.0.0.1:%d'
        cluster = ','.join('etcd%d=%s' % (i, own % port) for i, port in enumerate(peers))
        self.command = [usable_etcd(), '--name', self.name, '--data-dir', os.path.join(folder, self.name),
                        '--listen-client-urls', own % clients[index], '--advertise-client-urls', own % clients[index],
                        '--listen-peer-urls', own % listens[index], '--initial-advertise-peer-urls', own % peers[index],
                        '--initial-cluster', cluster, '--log-level', 'error']
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def has_socket(self, inode):
        fds = '/proc/%d/fd' % self.process.pid
        try:
            return any(os.readlink(os.path.join(fds, fd)) == 'socket:[%s]' % inode for fd in os.listdir(fds))
        except OSError:  # it has just been killed, or has closed one
            return False


def socket_inode(port):
    """Of the socket of this machine whose own end has the port."""
    with open('/proc/net/tcp') as f:
        for line in f:
            fields = line.split()
            if fields[1].endswith(':%04X' % port) and fields[9] != '0':
                return fields[9]
    return None


class Server:
    """One API server of three. They share the authorities and keys of the first one's data folder."""

    def __init__(self, binary, folder, index, etcds, keys=None):
        self.name, self.binary, self.port = 'server%d' % index, binary, free_port()
        self.folder = os.path.join(folder, self.name)
        os.mkdir(self.folder)
        if keys:
            os.mkdir(os.path.join(self.folder, 'pki'))
            for name in ('ca.crt', 'ca.key', 'sa.key', 'sa.pub'):
                if os.path.exists(os.path.join(keys, name)):
                    shutil.copy(os.path.join(keys, name), os.path.join(self.folder, 'pki', name))
        self.etcds = etcds
        self.start(wait=True)

    def start(self, wait=False):
        self.program = Program(self.binary, 'apiserver', '--data-dir', self.folder, '--secure-port', str(self.port), '--etcd-servers',
                               self.etcds, data_dir=self.folder, ready=r'(?:serving|API server) +(https://\S+)' if wait else None)
        self.process = self.program.process

    def kill(self):
        self.program.kill()


class Relays:
    """Silent while they are cut: what arrives is not passed on, and nothing is closed. On a thread of their own."""

    def __init__(self):
        self.cut = set()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def add(self, ends, target):
        """`ends`: whose connection it is, by the port it comes from. It is cut if one of them is."""
        port = free_port()
        serve = asyncio.start_server(lambda r, w: self._relay(ends, target, r, w), '127.0.0.1', port)
        asyncio.run_coroutine_threadsafe(serve, self.loop).result()
        return port

    async def _relay(self, ends, target, reader, writer):
        group = ends(writer.get_extra_info('peername')[1])
        try:
            there, back = await asyncio.open_connection('127.0.0.1', target)
        except OSError:
            return writer.close()
        await asyncio.gather(self._pass(group, reader, back), self._pass(group, there, writer))

    async def _pass(self, group, source, sink):
        try:
            while data := await source.read(65536):
                while group & self.cut:
                    await asyncio.sleep(0.05)
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        sink.close()


class Api:
    """Requests to one of the servers at a time. Whoever sees it fail goes on to the next."""

    def __init__(self, run, index):
        self.run, self.index, self.connection = run, index % len(run.servers), None

    def next_server(self):
        self.close()
        self.index = (self.index + 1) % len(self.run.servers)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, method, path, body=None, timeout=15):
        """(code, object), or (None, why) when the connection failed."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPSConnection('127.0.0.1', self.run.servers[self.index].port, timeout=timeout,
                                                              context=self.run.tls)
            self.connection.request(method, path, body and json.dumps(body), {'content-type': 'application/json'})
            response = self.connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as lost:
            self.next_server()
            return None, str(lost)

    def stream(self, path):
        self.close()
        self.connection = http.client.HTTPSConnection('127.0.0.1', self.run.servers[self.index].port, timeout=20, context=self.run.tls)
        self.connection.request('GET', path)
        return self.connection.getresponse()


class Run:
    def __init__(self, servers, tls, seconds):
        self.servers, self.tls = servers, tls
        self.deadline = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.counts, self.wrong = collections.Counter(), []
        self.acknowledged = [0] * COUNTERS
        self.last_write = time.monotonic()
        self.longest_pause = 0.0

    def running(self):
        return time.monotonic() < self.deadline and not self.wrong

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def fail(self, what):
        with self.lock:
            self.wrong.append(what)

    def judge(self, code, answer):
        """Counts an error, and fails if clients do not try such a one again."""
        if code is None:
            return self.count('connections lost')
        reason = answer.get('reason', '')
        if code in (409, 429, 503, 504) or (code == 500 and reason == 'ServerTimeout'):
            return self.count('error %d %s' % (code, reason))
        self.fail('an error that is not tried again: %d %s' % (code, json.dumps(answer)[:300]))

    def wrote(self, index, value):
        now = time.monotonic()
        with self.lock:
            self.acknowledged[index] = max(self.acknowledged[index], value)
            self.longest_pause = max(self.longest_pause, now - self.last_write)
            self.last_write = now
            self.counts['writes'] += 1


def value_of(item):
    return int(item['data']['n'])


def writer(run, index):
    """Counts one object up, always from what it reads; makes an object for each tenth number."""
    api, path = Api(run, index), '%s/counter-%d' % (PATH, index)
    while run.running():
        known = run.acknowledged[index]
        code, item = api.ask('GET', path)
        if code != 200:
            run.judge(code, item)
            api.next_server()
            time.sleep(0.1)
            continue
        if value_of(item) < known:
            return run.fail('counter-%d is %d after %d was acknowledged' % (index, value_of(item), known))
        item['data']['n'] = str(value_of(item) + 1)
        code, stored = api.ask('PUT', path, item)
        if code != 200:
            run.judge(code, stored)
            api.next_server()
            continue
        run.wrote(index, value_of(stored))
        time.sleep(PAUSE)
        if value_of(stored) % 10 == 0:
            note(run, api, index, value_of(stored))


def note(run, api, index, value):
    code, answer = api.ask('POST', PATH, {'metadata': {'name': 'note-%d-%d' % (index, value)}})
    if code == 201:
        with run.lock:
            run.counts['notes'] += 1
            run.notes.add('note-%d-%d' % (index, value))
    elif code != 409:
        run.judge(code, answer)


def reader(run, seed):
    api, chance = Api(run, seed), random.Random(seed)
    while run.running():
        index = chance.randrange(COUNTERS)
        known = run.acknowledged[index]
        code, item = api.ask('GET', '%s/counter-%d' % (PATH, index))
        if code != 200:
            run.judge(code, item)
            api.next_server()
            time.sleep(0.1)
            continue
        run.count('reads')
        time.sleep(PAUSE)
        if value_of(item) < known:
            run.fail('a read of counter-%d at server%d shows %d after %d was acknowledged' % (index, api.index, value_of(item), known))


class Watcher:
    """Follows the counters: each change of one is its number plus one, whichever server tells of it."""

    def __init__(self, run, index):
        self.run, self.api = run, Api(run, index)
        self.values, self.version = {}, None

    def follow(self):
        while self.run.running():
            if self.version is None and not self.list():
                continue
            try:
                self.watch()
            except (OSError, http.client.HTTPException, ValueError):
                self.run.count('watches lost')
            self.api.next_server()

    def list(self):
        code, items = self.api.ask('GET', PATH)
        if code != 200:
            self.run.judge(code, items)
            self.api.next_server()
            time.sleep(0.1)
            return False
        for item in items['items']:
            if not item['metadata']['name'].startswith('counter-'):
                continue
            name, value = item['metadata']['name'], value_of(item)
            if value < self.values.get(name, 0):
                self.run.fail('a list shows %s as %d after %d was seen' % (name, value, self.values[name]))
            self.values[name] = value
        self.version = items['metadata']['resourceVersion']
        return True

    def watch(self):
        stream = self.api.stream('%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=%s' % (PATH, self.version))
        if stream.status != 200:
            self.run.judge(stream.status, json.loads(stream.read()))
            return time.sleep(0.1)
        while self.run.running() and (line := stream.readline()):
            if not self.see(json.loads(line)):
                return

    def see(self, event):
        item = event['object']
        if event['type'] == 'ERROR':
            self.run.count('watches expired' if item['code'] == 410 else 'watch errors')
            if item['code'] == 410:
                self.version = None
            return False
        if event['type'] != 'BOOKMARK' and int(item['metadata']['resourceVersion']) <= int(self.version):
            self.run.fail('a watcher sees version %s after %s' % (item['metadata']['resourceVersion'], self.version))
        self.version = item['metadata']['resourceVersion']
        name = item['metadata'].get('name', '')
        if event['type'] == 'MODIFIED' and name.startswith('counter-'):
            self.run.count('events')
            if value_of(item) != self.values[name] + 1:
                self.run.fail('a watcher sees %s as %d after %d' % (name, value_of(item), self.values[name]))
            self.values[name] = value_of(item)
        return True


class Leaders:
    """Two copies of the controllers; the one that leads is killed now and then."""

    def __init__(self, binary, kubectls, kubeconfigs):
        self.binary, self.kubectls, self.kubeconfigs = binary, kubectls, kubeconfigs
        self.programs = [self.start(i) for i in range(2)]
        self.longest = 0.0

    def start(self, i):
        return Program(self.binary, 'controllers', '--kubeconfig', self.kubeconfigs[i], '--health-address', '127.0.0.1:0', *ELECTION,
                       ready=None)

    def holder(self):
        for kubectl in self.kubectls:
            if led := holder(kubectl):
                return led
        return None

    def kill_leader(self, run):
        led = self.holder()
        for i, program in enumerate(self.programs):
            if program.process.poll() is not None:  # it has lost its lease, and ended as it should
                program.remove()
                self.programs[i] = self.start(i)
        leading = [p for p in self.programs if led and led.endswith('_' + str(p.process.pid)) or re.search('leads|leading', p.output())]
        if not led or not leading:
            return
        leading[0].kill()
        begun = time.monotonic()
        try:
            wait_until('another copy leads', lambda: self.holder() not in (None, led), seconds=3 * LEASE)
        except AssertionError as late:
            return run.fail(str(late))
        self.longest = max(self.longest, time.monotonic() - begun)
        run.count('leaders killed')
        i = self.programs.index(leading[0])
        leading[0].remove()
        self.programs[i] = self.start(i)

    def stop(self):
        for program in self.programs:
            program.kill()
            program.remove()


def hurt(run, faults, members, relays, leaders, pace, chance):
    """One fault at a time, so that there is always a majority."""
    n = 0
    while run.running():
        fault = faults[n % len(faults)] if n < len(faults) else chance.choice(faults)
        n += 1
        target = chance.choice(members if 'etcd' in fault else run.servers)
        print('%s %s' % (fault, '' if 'leader' in fault else target.name), flush=True)
        run.count('fault: ' + fault)
        if fault.startswith('kill leader'):
            leaders.kill_leader(run)
        elif fault.startswith('kill'):
            target.kill()
            time.sleep(pace / 4)
            target.start()
        elif fault.startswith('stop'):
            target.process.send_signal(signal.SIGSTOP)
            time.sleep(pace / 2)
            target.process.send_signal(signal.SIGCONT)
        else:
            relays.cut.add(target.name)
            time.sleep(pace / 2)
            relays.cut.discard(target.name)
        until = time.monotonic() + pace
        while run.running() and time.monotonic() < until:
            if time.monotonic() - run.last_write > 60:
                run.fail('nobody could write for a minute')
            time.sleep(0.2)


def credentials(kubeconfig, folder):
    """A TLS context of the administrator's."""
    with open(kubeconfig) as f:
        text = f.read()
    paths = {}
    for field in ('certificate-authority', 'client-certificate', 'client-key'):
        paths[field] = os.path.join(folder, field + '.pem')
        with open(paths[field], 'wb') as f:
            f.write(base64.b64decode(re.search(field + r'-data: "?([A-Za-z0-9+/=]+)', text).group(1)))
    context = ssl.create_default_context(cafile=paths['certificate-authority'])
    context.load_cert_chain(paths['client-certificate'], paths['client-key'])
    return context


def check_all(run):
    """At the end, at every server: nothing that was acknowledged is missing."""
    for index in range(len(run.servers)):
        api = Api(run, index)

        def everything():
            code, items = api.ask('GET', PATH)
            api.index = index
            return items['items'] if code == 200 else None
        items = wait_until('server%d lists' % index, everything)
        names = {item['metadata']['name']: item for item in items}
        for i in range(COUNTERS):
            if value_of(names['counter-%d' % i]) < run.acknowledged[i]:
                run.fail('counter-%d is %s at the end; %d was acknowledged' % (i, names['counter-%d' % i]['data'], run.acknowledged[i]))
        if missing := run.notes - set(names):
            run.fail('acknowledged, but not there: %s' % sorted(missing)[:5])


def report(run, leaders):
    for what, count in sorted(run.counts.items()):
        print('%8d %s' % (count, what))
    print('longest time without any write: %.1f s; longest time to another leader: %.1f s' % (run.longest_pause, leaders.longest))
    print('%d objects at the end; acknowledged: %s' % (len(run.notes) + COUNTERS, run.acknowledged))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('flyball')
    parser.add_argument('--seconds', type=float, default=600)
    parser.add_argument('--pace', type=float, default=8, help='seconds from one fault to the next')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    usable_etcd()
    folder = tempfile.mkdtemp(prefix='flyball-faults-')
    members, servers, leaders = [], [], None
    try:
        clients, listens = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
        relays = Relays()

        def members_of(index, port):
            inode = socket_inode(port)
            return {'etcd%d' % index} | {member.name for member in members if inode and member.has_socket(inode)}
        peers = [relays.add(lambda port, i=i: members_of(i, port), listens[i]) for i in range(3)]
        for i in range(3):
            members.append(Member(folder, i, clients, listens, peers))
        for i in range(3):
            urls = ','.join('http://127.0.0.1:%d' % relays.add(lambda _, i=i: {'server%d' % i}, port) for port in clients[i:] + clients[:i])
            servers.append(Server(options.flyball, folder, i, urls, servers[0].folder + '/pki' if servers else None))
        tls = credentials(servers[0].program.kubeconfig, folder)
        run = Run(servers, tls, options.seconds)
        run.notes = set()
        first = Api(run, 0)
        for i in range(COUNTERS):
            code, answer = first.ask('POST', PATH, {'metadata': {'name': 'counter-%d' % i}, 'data': {'n': '0'}})
            assert code == 201, answer
        kubeconfigs = [server.program.kubeconfig for server in servers]
        leaders = Leaders(options.flyball, [Kubectl(path) for path in kubeconfigs], kubeconfigs)
        wait_until('somebody leads', leaders.holder)
        run.deadline = time.monotonic() + options.seconds
        threads = [threading.Thread(target=writer, args=(run, i)) for i in range(COUNTERS)]
        threads += [threading.Thread(target=reader, args=(run, i)) for i in range(3)]
        threads += [threading.Thread(target=Watcher(run, i).follow) for i in range(3)]
        for thread in threads:
            thread.start()
        # Another leader takes its time: not in short runs.
        faults = FAULTS + ['kill leader'] * (options.seconds > 60)
        hurt(run, faults, members, relays, leaders, options.pace, random.Random(options.seed))
        for thread in threads:
            thread.join()
        if not run.wrong:
            check_all(run)
        report(run, leaders)
        for what in run.wrong[:10]:
            print('WRONG: ' + what)
        if not run.wrong:
            print('faults on three etcds and three servers: OK')
        return 1 if run.wrong else 0
    finally:
        if leaders:
            leaders.stop()
        for process in servers + members:
            process.process.send_signal(signal.SIGCONT)
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
