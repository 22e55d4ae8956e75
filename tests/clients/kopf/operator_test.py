"""An operator on kopf: keeps a ConfigMap for each Greeting, and removes it with the Greeting. Tests itself, as client_run.py says."""
import asyncio
import os
import sys
import threading

import kopf
import kubernetes

NS, GROUP = 'kopf', 'kopf.flyball.dev'
DEFINITION = {
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': 'greetings.' + GROUP},
    'spec': {'group': GROUP, 'scope': 'Namespaced', 'names': {'plural': 'greetings', 'singular': 'greeting', 'kind': 'Greeting'},
             'versions': [{'name': 'v1', 'served': True, 'storage': True, 'subresources': {'status': {}},
                           'schema': {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}


def ok(what):
    print('ok: ' + what, flush=True)


def eventually(what, check, seconds=60):
    waiting = threading.Event()
    for _ in range(seconds * 10):
        try:
            if check():
                return ok(what)
        except (kubernetes.client.ApiException, OSError, kubernetes.client.rest.urllib3.exceptions.HTTPError):
            pass  # the server is on its way
        waiting.wait(0.1)
    raise AssertionError('never: ' + what)


@kopf.on.login()
def login(**kwargs):
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.startup()
def configure(settings, **_):
    settings.persistence.finalizer = GROUP + '/finalizer'
    settings.posting.enabled = False
    settings.networking.error_backoffs = [0.2, 0.5, 1, 2]


@kopf.on.create(GROUP, 'v1', 'greetings')
@kopf.on.update(GROUP, 'v1', 'greetings')
def greet(spec, name, namespace, **_):
    body = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'greeting-' + name}, 'data': {'text': spec['text']}}
    kopf.adopt(body)
    core = kubernetes.client.CoreV1Api()
    try:
        core.create_namespaced_config_map(namespace, body)
    except kubernetes.client.ApiException as e:
        if e.status != 409:
            raise
        core.patch_namespaced_config_map('greeting-' + name, namespace, {'data': body['data']})
    return {'seen': spec['text']}


@kopf.on.delete(GROUP, 'v1', 'greetings')
def part(name, namespace, **_):
    kubernetes.client.CoreV1Api().delete_namespaced_config_map('greeting-' + name, namespace)


def text_of(name):
    return kubernetes.client.CoreV1Api().read_namespaced_config_map('greeting-' + name, NS).data['text']


def is_gone(name):
    try:
        kubernetes.client.CoreV1Api().read_namespaced_config_map('greeting-' + name, NS)
    except kubernetes.client.ApiException as e:
        return e.status == 404
    return False


def act(objects):
    """What a user of the operator does."""
    def make(name, text):
        objects.create_namespaced_custom_object(GROUP, 'v1', NS, 'greetings', {
            'apiVersion': GROUP + '/v1', 'kind': 'Greeting', 'metadata': {'name': name}, 'spec': {'text': text}})

    make('before', 'hello')
    eventually('the operator makes a ConfigMap', lambda: text_of('before') == 'hello')
    eventually('the operator writes the status', lambda: objects.get_namespaced_custom_object(
        GROUP, 'v1', NS, 'greetings', 'before').get('status', {}).get('greet', {}).get('seen') == 'hello')
    print('RESTART', flush=True)
    sys.stdin.readline()
    eventually('the server answers again', lambda: text_of('before') == 'hello')
    objects.patch_namespaced_custom_object(GROUP, 'v1', NS, 'greetings', 'before', {'spec': {'text': 'changed'}})
    eventually('the operator goes on after a restart', lambda: text_of('before') == 'changed')
    make('after', 'hello again')
    eventually('the operator sees new objects', lambda: text_of('after') == 'hello again')
    objects.delete_namespaced_custom_object(GROUP, 'v1', NS, 'greetings', 'after')
    eventually('the operator cleans up', lambda: is_gone('after'))


def prepare():
    core, extensions = kubernetes.client.CoreV1Api(), kubernetes.client.ApiextensionsV1Api()
    core.create_namespace({'metadata': {'name': NS}})
    extensions.create_custom_resource_definition(DEFINITION)
    eventually('the definition is established', lambda: any(
        c.type == 'Established' and c.status == 'True'
        for c in extensions.read_custom_resource_definition('greetings.' + GROUP).status.conditions or []))


def main():
    os.environ['KUBECONFIG'] = sys.argv[1]
    kubernetes.config.load_kube_config(sys.argv[1])
    prepare()
    stop, ready = threading.Event(), threading.Event()
    operator = threading.Thread(target=lambda: asyncio.run(kopf.operator(
        namespaces=[NS], standalone=True, stop_flag=stop, ready_flag=ready)), daemon=True)
    operator.start()
    assert ready.wait(30), 'the operator is not ready'
    act(kubernetes.client.CustomObjectsApi())
    stop.set()
    operator.join(20)
    ok('the operator stops')


main()
