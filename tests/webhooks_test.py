"""Admission and conversion webhooks: what the server does in every case that was recorded from kube-apiserver, and the
scenarios of the conformance suite with real kubectl and a webhook server of our own."""
import json
import os
import ssl
import subprocess
import sys
import tempfile
import base64
import re

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'webhooks'))
from cases import Server, definition, convert, run  # noqa: E402
from hook_server import HookServer, patch  # noqa: E402
from program import Kubectl, Program, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def client_of(kubeconfig, folder):
    """Asks as the kubeconfig's user does."""
    with open(kubeconfig) as f:
        text = f.read()
    files = {}
    for key in ('client-certificate-data', 'client-key-data'):
        files[key] = os.path.join(folder, key)
        with open(files[key], 'wb') as f:
            f.write(base64.b64decode(re.search(key + r': *"?([^"\s]+)', text).group(1)))
    context = ssl._create_unverified_context()
    context.load_cert_chain(files['client-certificate-data'], files['client-key-data'])
    return Server(re.search(r'server: *"?([^"\s]+)', text).group(1), context)


def check_recorded(server, hooks):
    with open(os.path.join(HERE, 'webhooks', 'recorded.json')) as f:
        recorded = json.load(f)
    with open(os.path.join(HERE, 'webhooks', 'differences.json')) as f:
        differences = json.load(f)
    seen = run(server, hooks, lambda: None)
    wrong = []
    for name, expected in recorded.items():
        expected = differences.get(name, {}).get('here', expected)
        if seen.get(name) != expected:
            wrong.append('%s:\n  expected %s\n  got      %s' % (name, json.dumps(expected), json.dumps(seen.get(name))))
    assert not wrong, '\n'.join(wrong)
    print('%d cases as kube-apiserver, %d of them with a known difference' % (len(recorded), len(differences)))


def webhook(name, path, rules, hooks, **more):
    return {'name': name, 'admissionReviewVersions': ['v1', 'v1beta1'], 'sideEffects': 'None', 'clientConfig': hooks.client_config(path),
            'rules': rules, **more}


def configuration(kind, name, *webhooks):
    return json.dumps({'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': kind, 'metadata': {'name': name}, 'webhooks': list(webhooks)})


def pods_and_maps_are_denied(kubectl, hooks):
    """Conformance: should be able to deny pod and configmap creation; updates; whitelisted namespaces."""
    def check(request):
        if request['object'] and (request['object'].get('data') or {}).get('webhook-e2e-test') == 'webhook-disallow':
            return {'allowed': False, 'status': {'message': 'the configmap contains unwanted key and value'}}
        return {'allowed': True}
    hooks.answers['/configmaps'] = check
    rules = [{'operations': ['CREATE', 'UPDATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps']}]
    selector = {'matchExpressions': [{'key': 'skip-webhook-admission', 'operator': 'NotIn', 'values': ['yes']}]}
    kubectl('create', '-f', '-', stdin=configuration('ValidatingWebhookConfiguration', 'deny', webhook(
        'deny.example.com', '/configmaps', rules, hooks, namespaceSelector=selector)))
    bad = '--from-literal=webhook-e2e-test=webhook-disallow'
    denied = kubectl.run('create', 'configmap', 'bad', bad, check=False)
    assert 'admission webhook "deny.example.com" denied the request: the configmap contains unwanted key and value' in denied.stderr, denied.stderr
    kubectl('create', 'configmap', 'good', '--from-literal=a=b')
    patched = kubectl.run('patch', 'configmap', 'good', '-p', '{"data":{"webhook-e2e-test":"webhook-disallow"}}', check=False)
    assert 'denied the request' in patched.stderr, patched.stderr
    kubectl('create', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {
        'name': 'exempt', 'labels': {'skip-webhook-admission': 'yes'}}}))
    kubectl('create', 'configmap', 'bad', bad, '-n', 'exempt')
    # Conformance: patching the rules of a configuration takes effect.
    kubectl('patch', 'validatingwebhookconfiguration', 'deny', '--type=json', '-p',
            '[{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["UPDATE"]}]')
    kubectl('create', 'configmap', 'bad', bad)
    kubectl('delete', 'validatingwebhookconfiguration', 'deny')


def pods_are_mutated_and_defaulted(kubectl, hooks):
    """Conformance: should mutate pod and apply defaults after mutation; and through a Deployment's ReplicaSet."""
    hooks.answers['/pods'] = lambda request: patch({'op': 'add', 'path': '/spec/initContainers', 'value': [
        {'image': 'webhook-added-image', 'name': 'webhook-added-init-container', 'resources': {}}]})
    rules = [{'operations': ['CREATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['pods']}]
    kubectl('create', '-f', '-', stdin=configuration('MutatingWebhookConfiguration', 'pods', webhook('pods.example.com', '/pods', rules, hooks)))
    kubectl('run', 'p', '--image=i')
    container = json.loads(kubectl('get', 'pod', 'p', '-o', 'json'))['spec']['initContainers'][0]
    assert container['name'] == 'webhook-added-init-container' and container['terminationMessagePolicy'] == 'File', container
    kubectl('delete', 'mutatingwebhookconfiguration', 'pods')


def webhooks_fail_closed(kubectl, hooks):
    """Conformance: should unconditionally reject operations on fail closed webhook."""
    rules = [{'operations': ['CREATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps']}]
    entry = webhook('closed.example.com', '/x', rules, hooks, failurePolicy='Fail')
    entry['clientConfig'] = {'service': {'namespace': 'default', 'name': 'e2e-test-webhook', 'path': '/configmaps', 'port': 8443}}
    kubectl('create', '-f', '-', stdin=configuration('ValidatingWebhookConfiguration', 'closed', entry))
    refused = kubectl.run('create', 'configmap', 'c', check=False)
    assert 'failed calling webhook "closed.example.com"' in refused.stderr and 'service "e2e-test-webhook" not found' in refused.stderr, refused.stderr
    kubectl('delete', 'validatingwebhookconfiguration', 'closed')


def configurations_are_left_alone(kubectl, hooks):
    """Conformance: should not be able to mutate or prevent deletion of webhook configuration objects."""
    rules = [{'operations': ['*'], 'apiGroups': ['admissionregistration.k8s.io'], 'apiVersions': ['*'], 'resources': ['*']}]
    hooks.answers['/deny'] = lambda request: {'allowed': False}
    hooks.answers['/label'] = lambda request: patch({'op': 'add', 'path': '/metadata/labels', 'value': {'changed': 'yes'}})
    kubectl('create', '-f', '-', stdin=configuration('ValidatingWebhookConfiguration', 'prevent', webhook('prevent.example.com', '/deny', rules, hooks)))
    kubectl('create', '-f', '-', stdin=configuration('MutatingWebhookConfiguration', 'change', webhook('change.example.com', '/label', rules, hooks)))
    kubectl('create', '-f', '-', stdin=configuration('MutatingWebhookConfiguration', 'victim'))
    assert kubectl('get', 'mutatingwebhookconfiguration', 'victim', '-o', 'jsonpath={.metadata.labels}') == ''
    for kind, name in (('mutating', 'victim'), ('mutating', 'change'), ('validating', 'prevent')):
        kubectl('delete', kind + 'webhookconfiguration', name)


def definitions_are_denied(kubectl, hooks):
    """Conformance: should deny crd creation."""
    rules = [{'operations': ['CREATE'], 'apiGroups': ['apiextensions.k8s.io'], 'apiVersions': ['*'], 'resources': ['customresourcedefinitions']}]
    hooks.answers['/crd'] = lambda request: {'allowed': False, 'status': {'message': 'the crd contains unwanted label'}}
    kubectl('create', '-f', '-', stdin=configuration('ValidatingWebhookConfiguration', 'crds', webhook('crds.example.com', '/crd', rules, hooks)))
    bench = type('Bench', (), {'hooks': hooks})
    body = {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', **definition(bench)}
    refused = kubectl.run('create', '-f', '-', stdin=json.dumps(body), check=False)
    assert 'the crd contains unwanted label' in refused.stderr, refused.stderr
    kubectl('delete', 'validatingwebhookconfiguration', 'crds')


def custom_resources_are_converted(kubectl, hooks):
    """Conformance: should be able to convert from CR v1 to CR v2; a non homogeneous list of CRs."""
    hooks.answers['/convert'] = convert
    bench = type('Bench', (), {'hooks': hooks})
    body = {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', **definition(bench)}
    kubectl('create', '-f', '-', stdin=json.dumps(body))
    kubectl('wait', '--for=condition=Established', 'crd/hosts.stable.example.com')

    def make(name, text):
        return kubectl('create', '-f', '-', stdin=json.dumps({'apiVersion': 'stable.example.com/v1', 'kind': 'Host', 'metadata': {'name': name},
                                                              'spec': {'hostPort': text}}))
    wait_until('hosts can be made', lambda: make('first', 'one:1'))
    assert kubectl('get', 'hosts.v2.stable.example.com', 'first', '-o', 'jsonpath={.spec}') == '{"host":"one","port":"1"}'
    # v2 becomes the storage version: what is stored now is of two versions.
    body = {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', **definition(bench, 'v2')}
    kubectl('apply', '-f', '-', stdin=json.dumps(body))
    wait_until('v2 is stored', lambda: kubectl('get', 'crd', 'hosts.stable.example.com', '-o', 'jsonpath={.status.storedVersions}') == '["v1","v2"]')
    wait_until('hosts can be made', lambda: make('second', 'two:2'))
    for version, shown in (('v1', '{.spec.hostPort}'), ('v2', '{.spec.host}:{.spec.port}')):
        texts = kubectl('get', 'hosts.%s.stable.example.com' % version, '-o', 'jsonpath={range .items[*]}%s {end}' % shown)
        assert texts == 'one:1 two:2', texts
    kubectl('delete', 'crd', 'hosts.stable.example.com')


def main():
    folder = tempfile.mkdtemp(prefix='flyball-webhooks-')
    hooks = HookServer(folder)
    program = Program(sys.argv[1], 'apiserver', '--data-dir', os.path.join(folder, 'data'), '--secure-port', '0')
    try:
        kubectl = Kubectl(os.path.join(folder, 'data', 'kubeconfig'))
        wait_until('the default namespace', lambda: kubectl('get', 'namespace', 'default'))
        kubectl('create', 'serviceaccount', 'default')
        check_recorded(client_of(os.path.join(folder, 'data', 'kubeconfig'), folder), hooks)
        for scenario in (pods_and_maps_are_denied, pods_are_mutated_and_defaulted, webhooks_fail_closed, configurations_are_left_alone,
                         definitions_are_denied, custom_resources_are_converted):
            scenario(kubectl, hooks)
            print('ok', scenario.__name__)
    finally:
        program.stop()
        program.remove()
        subprocess.run(['rm', '-rf', folder], check=True)


main()
