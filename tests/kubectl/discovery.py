"""What the server says about itself: versions, resources, schemas, addresses."""
import json

NETWORK = '''
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pipes.discovery.example.com}
spec:
  group: discovery.example.com
  scope: Namespaced
  names: {plural: pipes, singular: pipe, kind: Pipe, shortNames: [pp], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A pipe carries things.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [length]
            properties:
              length: {type: integer, description: How long it is.}
              colours: {type: array, items: {type: string}}
'''


def versions(s):
    s.has('version', 'Server Version: v1.37')
    server = json.loads(s.out('version -o json'))['serverVersion']
    s.check(server['major'] == '1' and server['minor'] == '37' and server['platform'].startswith('linux/'), 'version', server)
    s.has('api-versions', 'v1', 'apps/v1', 'batch/v1', 'rbac.authorization.k8s.io/v1', 'apiextensions.k8s.io/v1')


def resources(s):
    s.has('api-resources', 'NAME  SHORTNAMES  APIVERSION  NAMESPACED  KIND',
          'deployments  deploy  apps/v1  true  Deployment', 'nodes  no  v1  false  Node',
          'customresourcedefinitions  crd,crds  apiextensions.k8s.io/v1  false  CustomResourceDefinition')
    s.sees('api-resources --api-group=apps -o name', '''
        controllerrevisions.apps
        daemonsets.apps
        deployments.apps
        replicasets.apps
        statefulsets.apps
        ''')
    s.has('api-resources -o wide --api-group=batch', 'create,delete,deletecollection,get,list,patch,update,watch  all')
    s.lacks('api-resources --namespaced=true -o name', 'nodes', 'namespaces')
    s.has('api-resources --verbs=list,create --namespaced=false -o name', 'persistentvolumes')
    s.has('api-resources --categories=api-extensions -o name', 'customresourcedefinitions.apiextensions.k8s.io')


def explanations(s):
    s.sees('explain deployment.spec.replicas', '''
        GROUP:      apps
        KIND:       Deployment
        VERSION:    v1

        FIELD: replicas <integer>


        DESCRIPTION:
            How many pods should run.
        ''')
    s.has('explain pod', 'KIND:       Pod', 'VERSION:    v1', 'FIELDS:', 'metadata\t<ObjectMeta>', 'spec\t<PodSpec>')
    s.has('explain deploy --recursive', '  replicas\t<integer>', 'livenessProbe\t<Probe>', 'matchLabels\t<map[string]string>')
    s.has('explain pods.spec.containers.resources.limits', 'limits <map[string]Quantity>')
    s.has('explain pod.spec.restartPolicy', 'ENUM:', 'Always', 'OnFailure', 'Never')
    s.has('explain service.spec.ports', 'FIELD: ports <[]ServicePort>')
    s.sees('explain pod.spec.nonsense', 'KIND:       Pod\nVERSION:    v1\n\nerror: field "nonsense" does not exist', status=1)
    s.has('explain cronjobs.spec --output=plaintext-openapiv2', 'RESOURCE: spec <Object>', 'schedule\t<string> -required-')
    s.sees('explain nonsense', 'the server doesn\'t have a resource type "nonsense"', status=1)


def custom_explanations(s):
    s.sees('apply -f -', 'customresourcedefinition.apiextensions.k8s.io/pipes.discovery.example.com created', stdin=NETWORK)
    s.sees('wait --for=condition=Established crd/pipes.discovery.example.com',
           'customresourcedefinition.apiextensions.k8s.io/pipes.discovery.example.com condition met')
    s.eventually('api-resources --api-group=discovery.example.com --no-headers', 'pipes  pp  discovery.example.com/v1  true  Pipe')
    s.sees('explain pipe.spec', '''
        GROUP:      discovery.example.com
        KIND:       Pipe
        VERSION:    v1

        FIELD: spec <Object>


        DESCRIPTION:
            What is wanted.

        FIELDS:
          colours\t<[]string>
            <no description>

          length\t<integer> -required-
            How long it is.
        ''')
    s.has('explain pp --recursive', 'A pipe carries things.', 'colours\t<[]string>', 'length\t<integer> -required-')
    s.sees('get pipes', 'No resources found in {} namespace.'.format(s.namespace))
    s.has('delete crd pipes.discovery.example.com',
          'customresourcedefinition.apiextensions.k8s.io "pipes.discovery.example.com" deleted')


def addresses(s):
    s.has('cluster-info', 'Kubernetes control plane', 'is running at https://127.0.0.1:1')
    s.out('create configmap dumped --from-literal=a=b')
    dump = s.out('cluster-info dump --namespaces=%s' % s.namespace)
    s.check('"kind": "NodeList"' in dump and '"kind": "PodList"' in dump and '"kind": "EventList"' in dump, 'cluster-info dump', dump[:500])
    s.out('cluster-info dump --namespaces=%s --output-directory=%s/dump' % (s.namespace, s.folder))
    s.sees('get --raw /readyz', 'ok')
    s.has('get --raw /livez?verbose', '[+]ping ok', 'livez check passed')
    s.has('get --raw /version', '"gitVersion"')
    s.has('get --raw /openapi/v3', '"paths"')
    s.has('get --raw /api/v1/namespaces/%s/configmaps/dumped' % s.namespace, '"kind":"ConfigMap"')
    s.sees('get --raw /apis/none/v1', 'Error from server (NotFound): the server could not find the requested resource', status=1)
    s.has('get --raw /metrics', 'apiserver_request_total')
    s.has('config view', 'certificate-authority-data: DATA+OMITTED', 'current-context:')
    s.has('config get-contexts --no-headers', '*')


def served_here(s):
    s.check('Local True' in ' '.join(s.out('get apiservice v1.apps --no-headers').split()), 'get apiservice v1.apps', '')
    healthy = s.out("get componentstatus etcd-0 -o jsonpath='{.conditions[0].status}'")
    s.check('True' in healthy, 'get componentstatus', healthy)


PARTS = [versions, resources, explanations, custom_explanations, addresses, served_here]
