"""`flyball apiserver` as a process, and clients that keep it busy: what the measurements in this folder share."""
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


def recorded_event(name, uid):
    """An Event as a kubelet's recorder sends it."""
    now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
    return {
        'apiVersion': 'v1', 'kind': 'Event', 'metadata': {'name': name, 'namespace': 'default'},
        'involvedObject': {'apiVersion': 'v1', 'kind': 'Pod', 'name': name.split('.')[0], 'namespace': 'default', 'uid': uid,
                           'resourceVersion': '12345', 'fieldPath': 'spec.containers{web}'},
        'reason': 'Pulled', 'message': 'Container image "registry.example.com/team/web:v1.2.3" already present on machine',
        'source': {'component': 'kubelet', 'host': 'node-17'}, 'firstTimestamp': now, 'lastTimestamp': now, 'count': 1,
        'type': 'Normal', 'reportingComponent': 'kubelet', 'reportingInstance': 'node-17'}
