"""Drives `flyball apiserver` with the real kubectl: what people type first, and what it prints."""
import json
import sys

from program import Kubectl, Program

CONFIG_MAP = '''
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: t}
data: {a: "1", b: "1"}
'''
NETWORK = '''
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: networks.sample.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, a sample"}
spec:
  group: sample.k8s.io
  scope: Namespaced
  names: {plural: networks, singular: network, kind: Network, shortNames: [net]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cidr]
            properties:
              cidr: {type: string, pattern: '^[0-9./]+$'}
              gateway: {type: string}
    additionalPrinterColumns:
    - {name: CIDR, type: string, jsonPath: .spec.cidr}
'''
NET1 = '''
apiVersion: sample.k8s.io/v1
kind: Network
metadata: {name: n1, namespace: t}
spec: {cidr: 192.168.0.0/16, gateway: 192.168.0.1}
'''


def expect(got, want):
    assert want in got, 'want %r in:\n%s' % (want, got)


def basics(kubectl):
    expect(kubectl('version'), 'Server Version: v1.34')
    expect(kubectl('api-resources'), 'deployments                         deploy       apps/v1')
    expect(kubectl('api-versions'), 'apps/v1')
    expect(kubectl('explain', 'deployment.spec.replicas'), 'FIELD: replicas <integer>')
    expect(kubectl('auth', 'whoami'), 'kubernetes-admin')
    expect(kubectl('auth', 'can-i', 'delete', 'nodes'), 'yes')
    assert kubectl('create', 'namespace', 't') == 'namespace/t created'
    assert kubectl('create', 'configmap', 'm', '-n', 't', '--from-literal=k=v') == 'configmap/m created'
    assert kubectl('get', 'cm', 'm', '-n', 't', '-o', 'jsonpath={.data.k}') == 'v'
    assert kubectl('get', 'cm', '-n', 't', '-o', 'name') == 'configmap/m'
    assert kubectl('get', 'ns', 't', '-o', 'custom-columns=N:.metadata.name', '--no-headers') == 't'
    missing = kubectl.run('get', 'cm', 'none', '-n', 't', check=False)
    assert missing.returncode == 1 and missing.stderr == 'Error from server (NotFound): configmaps "none" not found\n'


def declaring(kubectl):
    assert kubectl('apply', '-f', '-', stdin=CONFIG_MAP) == 'configmap/c created'
    assert kubectl('apply', '-f', '-', stdin=CONFIG_MAP) == 'configmap/c unchanged'
    changed = CONFIG_MAP.replace('a: "1", b: "1"', 'a: "2"')
    diff = kubectl.run('diff', '-f', '-', stdin=changed, check=False)
    assert diff.returncode == 1 and '-  b: "1"' in diff.stdout, diff.stdout + diff.stderr
    assert kubectl('apply', '-f', '-', stdin=changed) == 'configmap/c configured'
    assert json.loads(kubectl('get', 'cm', 'c', '-n', 't', '-o', 'json'))['data'] == {'a': '2'}
    assert kubectl('apply', '--server-side', '-f', '-', stdin=changed) == 'configmap/c serverside-applied'
    conflict = kubectl.run('apply', '--server-side', '--field-manager=other', '-f', '-', check=False,
                           stdin=changed.replace('"2"', '"3"'))
    expect(conflict.stderr, 'conflict with "kubectl": .data.a')
    for kind, patch in (('merge', '{"data":{"p":"1"}}'), ('strategic', '{"data":{"q":"1"}}'),
                        ('json', '[{"op":"add","path":"/data/r","value":"1"}]')):
        assert kubectl('patch', 'cm', 'c', '-n', 't', '--type', kind, '-p', patch) == 'configmap/c patched'
    assert kubectl('label', 'cm', 'c', '-n', 't', 'l=1') == 'configmap/c labeled'
    assert kubectl('annotate', 'cm', 'c', '-n', 't', 'x=1') == 'configmap/c annotated'
    assert kubectl('get', 'cm', '-n', 't', '-l', 'l=1', '-o', 'name') == 'configmap/c'
    bad = kubectl.run('apply', '-f', '-', check=False, stdin=CONFIG_MAP.replace('\ndata:', '\ndta:'))
    expect(bad.stderr, 'strict decoding error: unknown field "dta"')


def two_writers(kubectl):
    """A stale version is refused; reading again and retrying wins."""
    stale = json.loads(kubectl('get', 'cm', 'm', '-n', 't', '-o', 'json'))
    kubectl('patch', 'cm', 'm', '-n', 't', '-p', '{"data":{"first":"1"}}')
    stale['data']['second'] = '1'
    refused = kubectl.run('replace', '-f', '-', stdin=json.dumps(stale), check=False)
    expect(refused.stderr, 'Operation cannot be fulfilled on configmaps "m": the object has been modified')
    fresh = json.loads(kubectl('get', 'cm', 'm', '-n', 't', '-o', 'json'))
    fresh['data']['second'] = '1'
    assert kubectl('replace', '-f', '-', stdin=json.dumps(fresh)) == 'configmap/m replaced'
    assert json.loads(kubectl('get', 'cm', 'm', '-n', 't', '-o', 'json'))['data'] == {'k': 'v', 'first': '1', 'second': '1'}


def custom(kubectl):
    assert kubectl('apply', '-f', '-', stdin=NETWORK) == 'customresourcedefinition.apiextensions.k8s.io/networks.sample.k8s.io created'
    kubectl('wait', '--for=condition=Established', 'crd/networks.sample.k8s.io', '--timeout=30s')
    assert kubectl('apply', '-f', '-', stdin=NET1) == 'network.sample.k8s.io/n1 created'
    expect(kubectl('get', 'net', '-n', 't'), '192.168.0.0/16')
    bad = kubectl.run('apply', '-f', '-', stdin=NET1.replace('192.168.0.0/16', 'nonsense!'), check=False)
    expect(bad.stderr, 'spec.cidr in body should match')
    assert kubectl('delete', 'crd', 'networks.sample.k8s.io') == 'customresourcedefinition.apiextensions.k8s.io "networks.sample.k8s.io" deleted'


def main():
    import tempfile
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)
    try:
        kubectl = Kubectl(program.kubeconfig)
        for part in (basics, declaring, two_writers, custom):
            part(kubectl)
            print('ok   ' + part.__name__)
        program.stop()
    finally:
        program.kill()
        program.remove()


main()
