"""An API server behind `flyball apiserver`, used with real kubectl: discovery, explain, create, get, watch, delete, and what is said
when it is gone.

    aggregation_test.py build/flyball
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

from program import Kubectl, Program, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
ORDER = {'apiVersion': 'shop.example.com/v1', 'kind': 'Order', 'metadata': {'name': 'first'}, 'spec': {'item': 'book'}}


def certificate(folder):
    """A certificate for the Service, signed by itself."""
    crt, key = os.path.join(folder, 'ext.crt'), os.path.join(folder, 'ext.key')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
                    '-subj', '/CN=shop', '-addext', 'subjectAltName=DNS:shop.default.svc', '-keyout', key, '-out', crt],
                   check=True, capture_output=True)
    return crt, key


def condition(kubectl):
    conditions = json.loads(kubectl('get', 'apiservice', 'v1.shop.example.com', '-o', 'json')).get('status', {}).get('conditions', [])
    return conditions[0] if conditions else {}


def register(kubectl, crt, port):
    with open(crt, 'rb') as f:
        bundle = base64.b64encode(f.read()).decode()
    objects = [
        {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'shop', 'namespace': 'default'},
         'spec': {'type': 'ExternalName', 'externalName': 'localhost'}},
        {'apiVersion': 'apiregistration.k8s.io/v1', 'kind': 'APIService', 'metadata': {'name': 'v1.shop.example.com'},
         'spec': {'group': 'shop.example.com', 'version': 'v1', 'groupPriorityMinimum': 100, 'versionPriority': 10, 'caBundle': bundle,
                  'service': {'namespace': 'default', 'name': 'shop', 'port': port}}}]
    kubectl('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': objects}))


def use(kubectl):
    """What a user does with the resource, who need not know that another server serves it."""
    resources = wait_until('kubectl knows the resource', lambda: [
        line for line in kubectl('api-resources', '--api-group', 'shop.example.com', '--no-headers', '--cached=false').splitlines() if line])
    assert resources[0].split() == ['orders', 'ord', 'shop.example.com/v1', 'true', 'Order'], resources
    explained = wait_until('kubectl explains the resource', lambda: kubectl('explain', 'orders.spec.item'))
    assert 'Which thing it is about.' in explained, explained
    watch = subprocess.Popen([*kubectl.command, 'get', 'orders', '--watch', '-o', 'name'], stdout=subprocess.PIPE, text=True)
    try:
        kubectl('create', '-f', '-', stdin=json.dumps(ORDER))
        order = json.loads(kubectl('get', 'ord', 'first', '-o', 'json'))
        assert order['status'] == {'orderedBy': 'kubernetes-admin', 'groups': ['system:masters', 'system:authenticated']}, order['status']
        assert watch.stdout.readline().strip() == 'order.shop.example.com/first'
    finally:
        watch.kill()
        watch.wait()
    gone = kubectl.run('get', 'orders', 'other', check=False)
    assert 'orders.shop.example.com "other" not found' in gone.stderr, gone.stderr
    assert kubectl('delete', 'order', 'first').startswith('order.shop.example.com "first" deleted')
    assert kubectl('get', 'orders', '-o', 'name') == ''


def manage(kubectl):
    """The APIService is an object like others: its status, patches, replacement and deletion by label."""
    path = '/apis/apiregistration.k8s.io/v1/apiservices'
    name = 'v1.shop.example.com'
    kubectl('patch', 'apiservice', name, '--type=merge', '-p', '{"spec":{"versionPriority":400}}')
    kubectl('label', 'apiservice', name, 'of=shop')
    listed = json.loads(kubectl('get', 'apiservices', '-l', 'of=shop', '-o', 'json'))['items']
    assert [item['spec']['versionPriority'] for item in listed] == [400], listed
    conditions = listed[0]['status']['conditions'] + [{'type': 'StatusPatched', 'status': 'True', 'reason': 'Test', 'message': 'Set by a test',
                                                       'lastTransitionTime': '2026-01-01T00:00:00Z'}]
    kubectl('patch', 'apiservice', name, '--subresource=status', '--type=merge', '-p', json.dumps({'status': {'conditions': conditions}}))
    kept = json.loads(kubectl('get', '--raw', '%s/%s/status' % (path, name)))['status']['conditions']
    assert {c['type']: c['status'] for c in kept} == {'Available': 'True', 'StatusPatched': 'True'}, kept
    replaced = json.loads(kubectl('get', 'apiservice', name, '-o', 'json'))
    replaced['spec']['versionPriority'] = 10
    kubectl('replace', '-f', '-', stdin=json.dumps(replaced))
    kubectl('delete', '--raw', path + '?labelSelector=of%3Dshop')
    wait_until('the group is gone', lambda: kubectl.run('get', '--raw', '/apis/shop.example.com', check=False).returncode != 0)
    assert kubectl('get', 'apiservice', 'v1.apps', '-o', 'name')


def lose(kubectl, server):
    """The server goes: its resources are gone with it, everything else works."""
    server.kill()
    server.wait()
    refused = kubectl.run('get', '--raw', '/apis/shop.example.com/v1/orders', check=False)
    assert refused.returncode != 0 and 'unable to handle the request' in refused.stderr, refused.stderr
    kubectl('annotate', 'service', 'shop', 'now=look')
    wait_until('the condition says so', lambda: condition(kubectl).get('reason') == 'FailedDiscoveryCheck')
    refused = kubectl.run('get', '--raw', '/apis/shop.example.com/v1/orders', check=False)
    assert 'unable to handle the request' in refused.stderr, refused.stderr
    def known():
        return kubectl.run('api-resources', '--cached=false', '-o', 'name', check=False).stdout.splitlines()
    wait_until('discovery has none of its resources', lambda: 'orders.shop.example.com' not in known())
    assert 'deployments.apps' in known()
    kubectl('delete', 'apiservice', 'v1.shop.example.com')
    wait_until('the group is gone', lambda: kubectl.run('get', '--raw', '/apis/shop.example.com', check=False).returncode != 0)


def main():
    binary = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix='flyball-extension-')
    data = os.path.join(folder, 'data')
    os.makedirs(data)
    program = Program(binary, 'apiserver', '--data-dir', data, '--secure-port', '0', data_dir=data)
    server = None
    try:
        kubectl = Kubectl(program.kubeconfig)
        trust = wait_until('the trust is published', lambda: json.loads(kubectl(
            'get', 'configmap', 'extension-apiserver-authentication', '-n', 'kube-system', '-o', 'json'))['data'])
        assert trust['requestheader-username-headers'] == '["X-Remote-User"]', trust
        assert trust['requestheader-allowed-names'] == '["front-proxy-client"]', trust
        authority = os.path.join(folder, 'front-proxy-ca.crt')
        with open(authority, 'w') as f:
            f.write(trust['requestheader-client-ca-file'])
        crt, key = certificate(folder)
        server = subprocess.Popen([sys.executable, os.path.join(HERE, 'extension_server.py'), crt, key, authority], stdout=subprocess.PIPE,
                                  text=True)
        port = int(server.stdout.readline())
        for step in (use, manage):
            register(kubectl, crt, port)
            wait_until('the APIService is available', lambda: condition(kubectl).get('reason') == 'Passed')
            step(kubectl)
        register(kubectl, crt, port)
        wait_until('the APIService is available', lambda: condition(kubectl).get('reason') == 'Passed')
        lose(kubectl, server)
        program.stop()
    except BaseException:
        print(program.output()[-3000:])
        raise
    finally:
        if server:
            server.kill()
        program.kill()
        program.log.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
