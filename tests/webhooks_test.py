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
import select

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


HOSTS_V1 = 'hosts.v1.stable.example.com'
HOST_RULE = {'apiGroups': ['stable.example.com'], 'apiVersions': ['*'], 'resources': ['hosts']}


def define_hosts(kubectl, hooks, storage='v1', conversion=None, change=None):
    """The definition of the hosts in two versions, established."""
    bench = type('Bench', (), {'hooks': hooks})
    body = {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', **definition(bench, storage, conversion)}
    if change:
        change(body)
    kubectl('apply', '--server-side', '-f', '-', stdin=json.dumps(body))
    kubectl('wait', '--for=condition=Established', 'crd/hosts.stable.example.com')


def make_host(kubectl, name, spec, version='v1', labels=None):
    host = {'apiVersion': 'stable.example.com/' + version, 'kind': 'Host', 'metadata': {'name': name, 'labels': labels or {}}, 'spec': spec}
    return kubectl.run('create', '-f', '-', stdin=json.dumps(host), check=False)


def custom_resources_are_denied(kubectl, hooks):
    """Conformance: should be able to deny custom resource creation, update and deletion."""
    def check(request):
        unwanted = [o for o in (request['object'], request['oldObject']) if o and (o.get('spec') or {}).get('hostPort') == 'unwanted']
        return {'allowed': not unwanted, 'status': {'message': 'the custom resource contains unwanted data'}}
    hooks.answers['/hosts'] = check
    define_hosts(kubectl, hooks, conversion={'strategy': 'None'})
    wait_until('hosts can be made', lambda: make_host(kubectl, 'kept', {'hostPort': 'unwanted'}).returncode == 0)
    kubectl('create', '-f', '-', stdin=configuration('ValidatingWebhookConfiguration', 'hosts', webhook(
        'hosts.example.com', '/hosts', [{'operations': ['CREATE', 'UPDATE', 'DELETE'], **HOST_RULE}], hooks)))
    said = 'the custom resource contains unwanted data'
    assert said in make_host(kubectl, 'bad', {'hostPort': 'unwanted'}).stderr
    assert make_host(kubectl, 'good', {'hostPort': 'a:1'}).returncode == 0
    for command in (('patch', HOSTS_V1, 'good', '--type=merge', '-p', '{"spec":{"hostPort":"unwanted"}}'), ('delete', HOSTS_V1, 'kept')):
        refused = kubectl.run(*command, check=False)
        assert said in refused.stderr, (command, refused)
    kubectl('delete', 'validatingwebhookconfiguration', 'hosts')
    kubectl('delete', 'host', 'kept')
    kubectl('delete', 'crd', 'hosts.stable.example.com')


def custom_resources_are_mutated(kubectl, hooks):
    """Conformance: should mutate custom resource; with different stored version; with pruning."""
    hooks.answers['/change'] = lambda request: patch(
        {'op': 'add', 'path': '/spec/' + ('host' if request['object']['apiVersion'].endswith('v2') else 'hostPort'), 'value': 'changed:1'},
        {'op': 'add', 'path': '/spec/pruned', 'value': 'x'})
    define_hosts(kubectl, hooks, conversion={'strategy': 'None'})
    kubectl('create', '-f', '-', stdin=configuration('MutatingWebhookConfiguration', 'hosts', webhook(
        'hosts.example.com', '/change', [{'operations': ['CREATE', 'UPDATE'], **HOST_RULE}], hooks)))
    wait_until('hosts can be made', lambda: make_host(kubectl, 'one', {'hostPort': 'a:1'}).returncode == 0)
    assert kubectl('get', HOSTS_V1, 'one', '-o', 'jsonpath={.spec}') == '{"hostPort":"changed:1"}'
    define_hosts(kubectl, hooks, 'v2', {'strategy': 'None'})
    kubectl('patch', 'hosts.v1.stable.example.com', 'one', '--type=merge', '-p', '{"spec":{"hostPort":"b:2"}}')
    assert kubectl('get', 'hosts.v1.stable.example.com', 'one', '-o', 'jsonpath={.metadata.name}') == 'one'
    wait_until('v2 is stored', lambda: make_host(kubectl, 'two', {}, 'v2').returncode == 0)
    assert kubectl('get', 'hosts.v2.stable.example.com', 'two', '-o', 'jsonpath={.spec}') == '{"host":"changed:1"}'
    kubectl('delete', 'mutatingwebhookconfiguration', 'hosts')
    kubectl('delete', 'crd', 'hosts.stable.example.com')


def everything_but_some_is_mutated(kubectl, hooks):
    """Conformance: should mutate everything except 'skip-me' configmaps; listing webhooks, and deleting them as a collection."""
    hooks.answers['/stage'] = lambda request: patch({'op': 'add', 'path': '/data/mutation-stage-1', 'value': 'yes'})
    rules = [{'operations': ['CREATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps']}]
    entry = webhook('stage.example.com', '/stage', rules, hooks, matchConditions=[
        {'name': 'not-skipped', 'expression': "object.metadata.name != 'skip-me'"}])
    kubectl('create', '-f', '-', stdin=configuration('MutatingWebhookConfiguration', 'stage', entry))
    kubectl('label', 'mutatingwebhookconfiguration', 'stage', 'of=test')
    for name, data in (('taken', '{"a":"b","mutation-stage-1":"yes"}'), ('skip-me', '{"a":"b"}')):
        kubectl('create', 'configmap', name, '--from-literal=a=b')
        assert kubectl('get', 'configmap', name, '-o', 'jsonpath={.data}') == data
    assert kubectl('get', 'mutatingwebhookconfigurations', '-l', 'of=test', '-o', 'name').endswith('/stage')
    kubectl('delete', '--raw', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?labelSelector=of%3Dtest')
    kubectl('create', 'configmap', 'later', '--from-literal=a=b')
    assert kubectl('get', 'configmap', 'later', '-o', 'jsonpath={.data}') == '{"a":"b"}'


def attaching_is_denied(kubectl, hooks):
    """Conformance: should be able to deny attaching pod."""
    hooks.answers['/attach'] = lambda request: {'allowed': request['operation'] != 'CONNECT', 'status': {'message': 'attaching to pod is not allowed'}}
    rules = [{'operations': ['CONNECT'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['pods/attach']}]
    kubectl('create', '-f', '-', stdin=configuration('ValidatingWebhookConfiguration', 'attach', webhook('attach.example.com', '/attach', rules, hooks)))
    kubectl('create', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'attached'}, 'spec': {
        'containers': [{'name': 'c', 'image': 'i'}]}}))
    refused = kubectl.run('get', '--raw', '/api/v1/namespaces/default/pods/attached/attach?stdin=true', check=False)
    assert 'attaching to pod is not allowed' in refused.stderr, refused.stderr
    kubectl('delete', 'validatingwebhookconfiguration', 'attach')
    kubectl('delete', 'pod', 'attached', '--now')


def fields_of_each_version_select(kubectl, hooks):
    """Conformance: CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector."""
    def selectable(body):
        for version, paths in zip(body['spec']['versions'], (['.spec.hostPort'], ['.spec.host', '.spec.port'])):
            version['selectableFields'] = [{'jsonPath': path} for path in paths]
    hooks.answers['/convert'] = convert
    define_hosts(kubectl, hooks, change=selectable)
    wait_until('hosts can be made', lambda: make_host(kubectl, 'one', {'hostPort': 'one:80'}).returncode == 0)
    assert make_host(kubectl, 'two', {'host': 'two', 'port': '80'}, 'v2').returncode == 0
    assert make_host(kubectl, 'three', {'host': 'three', 'port': '443'}, 'v2').returncode == 0
    for version, selector, names in (('v1', 'spec.hostPort=two:80', ['two']), ('v2', 'spec.port=80', ['one', 'two']),
                                     ('v2', 'spec.host=three,spec.port=443', ['three']), ('v2', 'spec.host!=three', ['one', 'two'])):
        found = kubectl('get', 'hosts.%s.stable.example.com' % version, '--field-selector', selector, '-o', 'jsonpath={.items[*].metadata.name}')
        assert found.split() == names, (version, selector, found)
    watch = subprocess.Popen([*kubectl.command, 'get', 'hosts.v2.stable.example.com', '--watch-only', '--field-selector', 'spec.port=80', '-o', 'name'],
                             stdout=subprocess.PIPE, text=True)
    try:
        # Until the watch is there, nothing is seen: a host for each try.
        tries = iter(range(100))
        wait_until('an event comes', lambda: make_host(kubectl, 'other%d' % next(tries), {'hostPort': 'x:1'}).returncode == 0 and
                   make_host(kubectl, 'seen%d' % next(tries), {'hostPort': 'x:80'}).returncode == 0 and
                   select.select([watch.stdout], [], [], 1)[0])
        assert watch.stdout.readline().startswith('host.stable.example.com/seen')
    finally:
        watch.kill()
        watch.wait()
    kubectl('delete', 'crd', 'hosts.stable.example.com')


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
                         definitions_are_denied, custom_resources_are_denied, custom_resources_are_mutated, everything_but_some_is_mutated,
                         attaching_is_denied, custom_resources_are_converted, fields_of_each_version_select):
            scenario(kubectl, hooks)
            print('ok', scenario.__name__)
    finally:
        program.stop()
        program.remove()
        subprocess.run(['rm', '-rf', folder], check=True)


main()
