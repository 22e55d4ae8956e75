"""Custom resources: definitions, validation, columns, subresources, versions."""
DEFINITION = '''
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: networks.%(group)s}
spec:
  group: %(group)s
  scope: Namespaced
  names: {plural: networks, singular: network, kind: Network, shortNames: [nwk]}
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
              size: {type: integer, default: 3, minimum: 1}
              mode: {type: string, enum: [bridge, route]}
          status: {type: object, properties: {replicas: {type: integer}}}
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {name: CIDR, type: string, jsonPath: .spec.cidr}
    - {name: Mode, type: string, jsonPath: .spec.mode, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
'''
NETWORK = '''
apiVersion: %s/v1
kind: Network
metadata: {name: n1}
spec: {cidr: 192.168.0.0/16, mode: bridge}
'''


def defined(s):
    group = s.namespace + '.example.com'
    crd = 'customresourcedefinition.apiextensions.k8s.io'
    s.sees('apply -f -', '%s/networks.%s created' % (crd, group), stdin=DEFINITION % {'group': group})
    s.sees('wait --for=condition=Established crd/networks.' + group, '%s/networks.%s condition met' % (crd, group))
    s.eventually('get nwk', 'No resources found in %s namespace.' % s.namespace)
    s.sees('apply -f -', 'network.%s/n1 created' % group, stdin=NETWORK % group)
    s.sees('get nwk', 'NAME  CIDR  AGE\nn1  192.168.0.0/16  1s')
    s.sees('get nwk -o wide', 'NAME  CIDR  MODE  AGE\nn1  192.168.0.0/16  bridge  1s')
    s.sees('get nwk n1 -o jsonpath={.spec.size}', '3')
    s.has('describe nwk n1', 'API Version:  %s/v1' % group, 'Cidr:  192.168.0.0/16')
    s.sees('get crd networks.%s -o jsonpath={.status.acceptedNames.kind}' % group, 'Network')


def refused(s):
    group = s.namespace + '.example.com'
    network = NETWORK % group
    s.sees('apply -f -', '''
        The Network "n1" is invalid: spec.cidr: Invalid value: "x": spec.cidr in body should match '^[0-9./]+$'
        ''', stdin=network.replace('192.168.0.0/16', 'x'), status=1)
    s.sees('apply -f -', 'The Network "n1" is invalid: spec.mode: Unsupported value: "tube": supported values: "bridge", "route"',
           stdin=network.replace('bridge', 'tube'), status=1)
    s.sees('create -f -', '''
        Error from server (BadRequest): error when creating "STDIN": Network in version "v1" cannot be handled as a Network: strict decoding error: unknown field "spec.wat"
        ''', stdin=network.replace('n1', 'n2').replace('mode:', 'wat:'), status=1)
    s.sees('create -f - --validate=warn', 'network.%s/n2 created\nWarning: unknown field "spec.wat"' % group,
           stdin=network.replace('n1', 'n2').replace('mode:', 'wat:'))
    s.sees('get nwk n2 -o jsonpath={.spec}', '{"cidr":"192.168.0.0/16","size":3}')


def changed(s):
    group = s.namespace + '.example.com'
    s.sees('scale nwk n1 --replicas=5', 'network.%s/n1 scaled' % group)
    s.sees('patch nwk n1 --type=merge -p \'{"spec":{"mode":"route"}}\'', 'network.%s/n1 patched' % group)
    s.sees('patch nwk n1 --type=merge --subresource=status -p \'{"status":{"replicas":2},"spec":{"size":9}}\'', 'network.%s/n1 patched' % group)
    s.sees('get nwk n1 -o jsonpath={.spec.size}{.status.replicas}{.metadata.generation}', '523')
    s.sees('patch nwk n1 -p \'{"spec":{"size":1}}\'', 'error: application/strategic-merge-patch+json is not supported by %s/v1, Kind=Network: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml' % group, status=1)
    s.sees('apply --server-side -f -', 'network.%s/n3 serverside-applied' % group, stdin=(NETWORK % group).replace('n1', 'n3'))
    s.sees('label nwk --all a=b', '\n'.join('network.%s/n%d labeled' % (group, i) for i in (1, 2, 3)))
    s.sees('delete nwk n3', 'network.%s "n3" deleted' % group)
    s.has('delete crd networks.' + group, 'customresourcedefinition.apiextensions.k8s.io "networks.%s" deleted' % group)
    s.sees('get networks.' + group, 'error: the server doesn\'t have a resource type "networks"', status=1)


PARTS = [defined, refused, changed]
