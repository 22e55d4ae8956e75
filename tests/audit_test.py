"""Auditing with the real program: policies, stages, rotation, formats, and a webhook that takes events in batches."""
import base64
import http.server
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading

from program import Kubectl, Program, wait_until

POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- level: None
  nonResourceURLs: ['/healthz*', '/readyz*', '/livez*', /version]
- level: Metadata
  resources: [{group: '', resources: [secrets]}]
- level: Request
  resources: [{group: '', resources: [configmaps], resourceNames: [asked]}]
  omitStages: [RequestReceived]
- level: RequestResponse
  resources: [{group: '', resources: [configmaps]}]
- level: Metadata
  resources: [{group: '', resources: [namespaces]}]
  verbs: [watch]
"""


class Folder:
    def __init__(self, binary, path):
        self.binary, self.path = binary, path
        self.servers = 0

    def file(self, *names):
        return os.path.join(self.path, *names)

    def write(self, name, text):
        with open(self.file(name), 'w') as f:
            f.write(text)
        return self.file(name)

    def serve(self, *flags):
        self.servers += 1
        data = self.file('data%d' % self.servers)
        os.makedirs(data, mode=0o700)
        server = Program(self.binary, 'apiserver', '--data-dir', data, '--secure-port', '0', *flags, data_dir=data)
        return server, Kubectl(server.kubeconfig)

    def refused(self, *flags):
        result = subprocess.run([self.binary, 'apiserver', '--data-dir', self.file('refused'), '--secure-port', '0', *flags],
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 1, '%s: exit status %d' % (flags, result.returncode)
        return result.stderr


def events_of(path, **wanted):
    """The events in the log with these members; 'resource' and 'name' are of the objectRef."""
    def fits(event):
        flat = {**event.get('objectRef', {}), **{k: v for k, v in event.items() if isinstance(v, str)}}
        return all(flat.get(key) == value for key, value in wanted.items())
    with open(path) as f:
        return [event for event in map(json.loads, f.read().splitlines()) if fits(event)]


def policies_decide(folder):
    log, policy = folder.file('new', 'audit.log'), folder.write('policy.yaml', POLICY)
    server, kubectl = folder.serve('--audit-log-path', log, '--audit-policy-file', policy)
    kubectl('create', 'secret', 'generic', 'db', '--from-literal=password=s3cret')
    kubectl('create', 'configmap', 'asked', '--from-literal=colour=green')
    kubectl('create', 'configmap', 'both', '--from-literal=colour=blue')
    kubectl('patch', 'configmap', 'both', '-p', '{"data":{"colour":"red"}}')
    kubectl('get', 'configmaps', '-o', 'name')
    kubectl('delete', 'configmap', 'both')
    kubectl('get', '--raw', '/version')
    kubectl.run('get', 'namespaces', '--watch', '--request-timeout=1s', check=False)
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(log)).st_mode) == 0o700

    secrets = events_of(log, resource='secrets', verb='create', namespace='default')
    assert [e['stage'] for e in secrets] == ['RequestReceived', 'ResponseComplete'], secrets
    assert secrets[1]['level'] == 'Metadata' and 'requestObject' not in secrets[1] and secrets[1]['responseStatus']['code'] == 201
    with open(log) as f:
        text = f.read()
    assert 's3cret' not in text and base64.b64encode(b's3cret').decode() not in text, 'a secret is in the audit log'
    assert 'managedFields' not in text and '/version' not in text

    # A create has no name in its URL, so the rule with resourceNames does not fit it; upstream is the same.
    created = events_of(log, resource='configmaps', verb='create', stage='ResponseComplete', namespace='default')
    assert [e['requestObject']['data']['colour'] for e in created] == ['green', 'blue'], created
    assert created[1]['responseObject']['metadata']['uid'] and created[1]['level'] == 'RequestResponse'
    assert created[1]['objectRef']['name'] == 'both', created[1]['objectRef']
    patched = events_of(log, resource='configmaps', verb='patch', stage='ResponseComplete')
    assert patched[0]['requestObject'] == {'data': {'colour': 'red'}}, patched
    assert patched[0]['responseObject']['data'] == {'colour': 'red'}, patched
    listed = events_of(log, resource='configmaps', verb='list', stage='ResponseComplete', namespace='default')
    assert len(listed[0]['responseObject']['items']) >= 2, listed
    deleted = events_of(log, resource='configmaps', verb='delete', stage='ResponseComplete')
    assert deleted[0]['requestObject']['propagationPolicy'] == 'Background', deleted
    kubectl('get', 'configmap', 'asked')
    got = events_of(log, resource='configmaps', verb='get', name='asked')
    assert [(e['stage'], e['level']) for e in got] == [('ResponseComplete', 'Request')] and 'responseObject' not in got[0], got

    def watched():
        stages = [e['stage'] for e in events_of(log, resource='namespaces', verb='watch')]
        return stages[:3] == ['RequestReceived', 'ResponseStarted', 'ResponseComplete']
    wait_until('a watch is recorded when it starts and when it ends', watched)
    metrics = kubectl('get', '--raw', '/metrics')
    assert 'apiserver_audit_event_total' in metrics and 'apiserver_audit_level_total{level="Metadata"}' in metrics
    server.stop()


def without_a_policy_nothing_is_recorded(folder):
    log = folder.file('empty.log')
    server, kubectl = folder.serve('--audit-log-path', log)
    kubectl('create', 'configmap', 'c')
    assert os.path.getsize(log) == 0, open(log).read()
    server.stop()


def the_legacy_format_is_one_line(folder):
    log = folder.file('plain.log')
    policy = folder.write('metadata.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n')
    server, kubectl = folder.serve('--audit-log-path', log, '--audit-log-format', 'legacy', '--audit-policy-file', policy)
    kubectl('create', 'configmap', 'c')
    with open(log) as f:
        lines = [line for line in f if 'uri="/api/v1/namespaces/default/configmaps' in line]
    assert lines and 'method="create"' in lines[0] and 'response="201"' in lines[0] and 'user="kubernetes-admin"' in lines[0], lines
    server.stop()


def logs_are_rotated(folder):
    log = folder.file('rotated', 'audit.log')
    server, kubectl = folder.serve('--audit-log-path', log, '--audit-log-maxsize', '1', '--audit-log-maxbackup', '2', '--audit-policy-file',
                                   folder.write('all.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n'))
    manifest = json.dumps({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'big'}, 'data': {'x': 'x' * 400000}})
    kubectl('create', '-f', '-', stdin=manifest)
    for _ in range(8):
        kubectl('get', 'configmap', 'big', '-o', 'name')
    names = sorted(os.listdir(folder.file('rotated')))
    assert len(names) == 3 and names[2] == 'audit.log', names
    assert all(os.path.getsize(folder.file('rotated', name)) <= 1 << 20 for name in names)
    server.stop()


class Receiver(http.server.ThreadingHTTPServer):
    """Takes EventLists; the first request of all fails."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), self.Handler)
        self.lists, self.requests, self.lock = [], 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers['Content-Length']))
            with self.server.lock:
                self.server.requests += 1
                first = self.server.requests == 1
                if not first:
                    self.server.lists.append((self.path, json.loads(body)))
            self.send_response(500 if first else 200)
            self.send_header('Content-Length', '0')
            self.end_headers()

        def log_message(self, *_):
            pass

    def events(self):
        with self.lock:
            return [event for _, events in self.lists for event in events['items']]


def kubeconfig_of(url):
    return json.dumps({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c', 'clusters': [{'name': 'c', 'cluster': {'server': url}}],
                       'users': [{'name': 'u', 'user': {'token': 't'}}], 'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]})


def webhooks_get_batches(folder):
    receiver = Receiver()
    config = folder.write('webhook.kubeconfig', kubeconfig_of('http://127.0.0.1:%d/audit/events' % receiver.server_port))
    server, kubectl = folder.serve('--audit-webhook-config-file', config, '--audit-policy-file', folder.file('policy.yaml'),
                                   '--audit-webhook-batch-max-wait', '200ms', '--audit-webhook-initial-backoff', '100ms')
    kubectl('create', 'configmap', 'sent', '--from-literal=a=b')

    def sent():
        return [e for e in receiver.events() if e['verb'] == 'create' and e['objectRef'].get('name') == 'sent']
    wait_until('the webhook got the event', sent)
    path, first = receiver.lists[0]
    assert path == '/audit/events' and first['kind'] == 'EventList' and first['apiVersion'] == 'audit.k8s.io/v1', (path, first)
    assert sent()[-1]['responseObject']['data'] == {'a': 'b'}
    kubectl('create', 'configmap', 'last')
    server.stop()
    assert any(e['objectRef'].get('name') == 'last' for e in receiver.events() if 'objectRef' in e), 'what waited was not sent at the end'
    receiver.shutdown()


def a_strict_webhook_that_is_gone_stops_requests(folder):
    config = folder.write('gone.kubeconfig', kubeconfig_of('http://127.0.0.1:1/'))
    server, kubectl = folder.serve('--audit-webhook-config-file', config, '--audit-webhook-mode', 'blocking-strict',
                                   '--audit-webhook-initial-backoff', '1ms', '--audit-policy-file', folder.file('policy.yaml'))
    refused = kubectl.run('create', 'configmap', 'x', check=False)
    assert refused.returncode and 'failed to store audit event' in refused.stderr, refused.stderr
    assert kubectl('get', '--raw', '/readyz') == 'ok', 'what is not audited goes on'
    server.stop()


def mistakes_are_refused(folder):
    log = folder.file('refused.log')
    bad = folder.write('bad.yaml', POLICY.replace('level: None', 'level: Everything'))
    for flags, message in (
            (('--audit-policy-file', bad), 'loading audit policy file: rules[0].level: Unsupported value: "Everything"'),
            (('--audit-policy-file', folder.file('absent')), 'failed to read file path'),
            (('--audit-log-format', 'xml'), 'invalid audit log format xml, allowed formats are "legacy,json"'),
            (('--audit-log-mode', 'lazy'), 'invalid audit log mode lazy, allowed modes are "batch,blocking,blocking-strict"'),
            (('--audit-log-maxage', '-1'), "--audit-log-maxage -1 can't be a negative number"),
            (('--audit-webhook-config-file', folder.file('absent')), 'initializing audit webhook')):
        said = folder.refused('--audit-log-path', log, *flags)
        assert message in said, said


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as path:
        folder = Folder(sys.argv[1], path)
        for step in (policies_decide, without_a_policy_nothing_is_recorded, the_legacy_format_is_one_line, logs_are_rotated, webhooks_get_batches,
                     a_strict_webhook_that_is_gone_stops_requests, mistakes_are_refused):
            step(folder)
            print('ok', step.__name__, flush=True)


if __name__ == '__main__':
    main()
