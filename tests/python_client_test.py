"""Drives `flyball apiserver` with Debian's python3-kubernetes: typed and dynamic client, every patch type, watches, paging, errors,
server-side apply, create_from_yaml and the client's own leader election.

    python_client_test.py build/flyball
    python_client_test.py elect KUBECONFIG NAMESPACE IDENTITY    (a candidate of the election)
"""
import json
import os
import subprocess
import sys
import tempfile
import threading

from program import Program, skip, wait_until

try:
    from kubernetes import client, config, dynamic, utils, watch
    from kubernetes.client.rest import ApiException
except ImportError:
    skip('there is no python3-kubernetes')

NS = 'python'
MANIFEST = '''
apiVersion: v1
kind: ConfigMap
metadata: {name: from-yaml}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: from-yaml}
spec:
  selector: {matchLabels: {app: y}}
  template:
    metadata: {labels: {app: y}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: from-yaml}, spec: {ports: [{port: 80}], selector: {app: y}}}
'''


def refused(status, reason, act):
    """The call fails as Kubernetes says it: HTTP status, and a Status object with this reason."""
    try:
        act()
    except ApiException as e:
        assert e.status == status, (e.status, e.body)
        assert e.headers['Content-Type'] == 'application/json'
        body = e.body.decode() if isinstance(e.body, bytes) else e.body
        assert '"kind":"Status"' in body and '"reason":"%s"' % reason in body, body
        return body
    raise AssertionError('%s was expected' % reason)


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


def typed_kinds(api):
    """Create, read, replace and delete of many kinds through the generated classes, which check every required field."""
    core, apps, batch = client.CoreV1Api(api), client.AppsV1Api(api), client.BatchV1Api(api)
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={'app': 'x'}),
        spec=client.V1PodSpec(restart_policy='Always', containers=[client.V1Container(name='c', image='i')]))
    selector = client.V1LabelSelector(match_labels={'app': 'x'})
    meta = client.V1ObjectMeta(name='x')
    job_template = client.V1PodTemplateSpec(spec=client.V1PodSpec(restart_policy='Never', containers=template.spec.containers))
    job = client.V1JobSpec(template=job_template)
    cases = [
        (core, 'pod', client.V1Pod(metadata=meta, spec=template.spec)),
        (core, 'service', client.V1Service(metadata=meta, spec=client.V1ServiceSpec(ports=[client.V1ServicePort(port=80)]))),
        (core, 'secret', client.V1Secret(metadata=meta, string_data={'k': 'v'})),
        (core, 'service_account', client.V1ServiceAccount(metadata=meta)),
        (core, 'resource_quota', client.V1ResourceQuota(metadata=meta, spec=client.V1ResourceQuotaSpec(hard={'pods': '100'}))),
        (core, 'limit_range', client.V1LimitRange(metadata=meta, spec=client.V1LimitRangeSpec(limits=[
            client.V1LimitRangeItem(type='PersistentVolumeClaim', max={'storage': '1Gi'})]))),
        (core, 'persistent_volume_claim', client.V1PersistentVolumeClaim(metadata=meta, spec=client.V1PersistentVolumeClaimSpec(
            access_modes=['ReadWriteOnce'], resources=client.V1ResourceRequirements(requests={'storage': '1Gi'})))),
        (apps, 'deployment', client.V1Deployment(metadata=meta, spec=client.V1DeploymentSpec(selector=selector, template=template))),
        (apps, 'stateful_set', client.V1StatefulSet(metadata=meta, spec=client.V1StatefulSetSpec(
            selector=selector, template=template, service_name='x'))),
        (apps, 'daemon_set', client.V1DaemonSet(metadata=meta, spec=client.V1DaemonSetSpec(selector=selector, template=template))),
        (apps, 'replica_set', client.V1ReplicaSet(metadata=meta, spec=client.V1ReplicaSetSpec(selector=selector, template=template))),
        (batch, 'job', client.V1Job(metadata=meta, spec=job)),
        (batch, 'cron_job', client.V1CronJob(metadata=meta, spec=client.V1CronJobSpec(
            schedule='* * * * *', job_template=client.V1JobTemplateSpec(spec=job)))),
        (client.NetworkingV1Api(api), 'ingress', client.V1Ingress(metadata=meta, spec=client.V1IngressSpec(
            default_backend=client.V1IngressBackend(service=client.V1IngressServiceBackend(
                name='x', port=client.V1ServiceBackendPort(number=80)))))),
        (client.NetworkingV1Api(api), 'network_policy', client.V1NetworkPolicy(metadata=meta, spec=client.V1NetworkPolicySpec(
            pod_selector=client.V1LabelSelector()))),
        (client.RbacAuthorizationV1Api(api), 'role', client.V1Role(metadata=meta, rules=[
            client.V1PolicyRule(api_groups=[''], resources=['pods'], verbs=['get'])])),
        (client.CoordinationV1Api(api), 'lease', client.V1Lease(metadata=meta, spec=client.V1LeaseSpec(holder_identity='me'))),
        (client.PolicyV1Api(api), 'pod_disruption_budget', client.V1PodDisruptionBudget(
            metadata=meta, spec=client.V1PodDisruptionBudgetSpec(selector=selector, max_unavailable=1))),
    ]
    for group, kind, body in cases:
        made = getattr(group, 'create_namespaced_' + kind)(NS, body)
        assert made.metadata.uid and made.metadata.name == 'x', made
        made.metadata.labels = {'changed': 'yes'}
        changed = getattr(group, 'replace_namespaced_' + kind)('x', NS, made)
        assert changed.metadata.labels == {'changed': 'yes'} and changed.metadata.resource_version != made.metadata.resource_version
        assert getattr(group, 'read_namespaced_' + kind)('x', NS).metadata.uid == made.metadata.uid
        listed = getattr(group, 'list_namespaced_' + kind)(NS, label_selector='changed=yes')
        assert [item.metadata.name for item in listed.items] == ['x'], (kind, listed.items)
        getattr(group, 'delete_namespaced_' + kind)('x', NS, grace_period_seconds=0)


def patches(api):
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(NS, config_map('p', a='1'))
    path = '/api/v1/namespaces/%s/configmaps/p' % NS

    def patch(content_type, body, **query):
        return api.call_api(path, 'PATCH', query_params=list(query.items()), header_params={'Content-Type': content_type, 'Accept': 'application/json'},
                            body=body, response_type='V1ConfigMap', auth_settings=['BearerToken'], _return_http_data_only=True)

    assert patch('application/merge-patch+json', {'data': {'a': None, 'm': '1'}}).data == {'m': '1'}
    assert patch('application/strategic-merge-patch+json', {'data': {'s': '1'}}).data == {'m': '1', 's': '1'}
    assert patch('application/json-patch+json', [{'op': 'remove', 'path': '/data/m'}]).data == {'s': '1'}
    applied = patch('application/apply-patch+yaml', '{apiVersion: v1, kind: ConfigMap, metadata: {name: p}, data: {z: "1"}}', fieldManager='py')
    assert applied.data == {'s': '1', 'z': '1'}, applied
    assert [m.manager for m in applied.metadata.managed_fields if m.operation == 'Apply'] == ['py']
    assert core.patch_namespaced_config_map('p', NS, {'data': {'d': '1'}}, dry_run='All').data['d'] == '1'
    assert 'd' not in core.read_namespaced_config_map('p', NS).data
    refused(415, 'UnsupportedMediaType', lambda: patch('text/plain', '{}'))
    refused(422, 'Invalid', lambda: patch('application/json-patch+json', [{'op': 'test', 'path': '/data/s', 'value': '2'}]))


def errors(api):
    core = client.CoreV1Api(api)
    refused(404, 'NotFound', lambda: core.read_namespaced_pod('none', NS))
    core.create_namespaced_config_map(NS, config_map('e'))
    refused(409, 'AlreadyExists', lambda: core.create_namespaced_config_map(NS, config_map('e')))
    stale = core.read_namespaced_config_map('e', NS)
    core.patch_namespaced_config_map('e', NS, {'data': {'a': 'b'}})
    refused(409, 'Conflict', lambda: core.replace_namespaced_config_map('e', NS, stale))
    body = refused(422, 'Invalid', lambda: core.create_namespaced_config_map(NS, config_map('Bad_Name')))
    assert '"field":"metadata.name"' in body, body
    refused(400, 'BadRequest', lambda: core.list_namespaced_pod(NS, field_selector='spec.nonsense=1'))
    refused(409, 'Conflict', lambda: core.delete_namespaced_config_map(
        'e', NS, body=client.V1DeleteOptions(preconditions=client.V1Preconditions(uid='another'))))


def paging(api):
    core = client.CoreV1Api(api)
    for i in range(7):
        core.create_namespaced_config_map(NS, client.V1ConfigMap(metadata=client.V1ObjectMeta(name='page-%d' % i, labels={'page': 'yes'})))
    names, token, left = [], None, []
    while True:
        page = core.list_namespaced_config_map(NS, label_selector='page', limit=3, _continue=token)
        names += [item.metadata.name for item in page.items]
        left.append(page.metadata.remaining_item_count)
        token = page.metadata._continue
        if not token:
            break
    assert names == ['page-%d' % i for i in range(7)], names
    assert left == [None, None, None], left  # not said when there is a selector
    assert core.list_namespaced_config_map(NS, limit=1).metadata.remaining_item_count > 5
    core.delete_collection_namespaced_config_map(NS, label_selector='page')
    assert not core.list_namespaced_config_map(NS, label_selector='page').items


def watches(api):
    core = client.CoreV1Api(api)
    version = core.list_namespaced_secret(NS).metadata.resource_version
    for step in (lambda: core.create_namespaced_secret(NS, client.V1Secret(metadata=client.V1ObjectMeta(name='w'))),
                 lambda: core.patch_namespaced_secret('w', NS, {'stringData': {'a': 'b'}}),
                 lambda: core.delete_namespaced_secret('w', NS)):
        step()
    seen = []
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_secret, NS, resource_version=version, timeout_seconds=30):
        seen.append((event['type'], event['object'].metadata.name))
        if len(seen) == 3:
            stream.stop()
    assert seen == [('ADDED', 'w'), ('MODIFIED', 'w'), ('DELETED', 'w')], seen
    assert int(stream.resource_version) > int(version)
    # A watch ends by itself when its time is over.
    assert list(watch.Watch().stream(core.list_namespaced_secret, NS, resource_version=stream.resource_version, timeout_seconds=1)) == []
    refused_410(lambda: list(watch.Watch().stream(core.list_namespaced_secret, NS, resource_version='1', timeout_seconds=5)))


def refused_410(act):
    """A version that is too old is 410 Gone: as an answer, or as an event of the stream; the client raises it either way. The
    server may still remember everything from the beginning: then there is nothing to refuse."""
    try:
        act()
    except ApiException as e:
        assert e.status == 410 and 'xpired' in (e.reason or '') + (e.body or ''), e


def dynamic_client(api):
    dyn = dynamic.DynamicClient(api)
    maps = dyn.resources.get(api_version='v1', kind='ConfigMap')
    made = maps.create(namespace=NS, body={'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'dyn'}, 'data': {'a': '1'}})
    assert made.data.a == '1'
    assert maps.patch(name='dyn', namespace=NS, body={'data': {'b': '2'}}, content_type='application/merge-patch+json').data.b == '2'
    crds = dyn.resources.get(api_version='apiextensions.k8s.io/v1', kind='CustomResourceDefinition')
    schema = {'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {'size': {'type': 'integer'}}}}}
    crds.create(body={'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': 'hats.python.example.com'},
                      'spec': {'group': 'python.example.com', 'scope': 'Namespaced', 'names': {'plural': 'hats', 'kind': 'Hat'},
                               'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}]}})

    def established():
        conditions = crds.get(name='hats.python.example.com').to_dict()['status'].get('conditions') or []
        return any(c['type'] == 'Established' and c['status'] == 'True' for c in conditions)

    wait_until('the definition is established', established)
    dyn.resources.invalidate_cache()
    hats = wait_until('the kind is discovered', lambda: find_kind(dyn, 'python.example.com/v1', 'Hat'))
    hat = {'apiVersion': 'python.example.com/v1', 'kind': 'Hat', 'metadata': {'name': 'bowler'}, 'spec': {'size': 7}}
    # This version of the client sends bodies of this type as they are: they must be text.
    assert hats.server_side_apply(body=json.dumps(hat), name='bowler', namespace=NS, field_manager='py').spec.size == 7
    assert [h.metadata.name for h in hats.get(namespace=NS).items] == ['bowler']
    for event in hats.watch(namespace=NS, timeout=5):
        assert event['type'] == 'ADDED' and event['object'].metadata.name == 'bowler'
        break
    refused(422, 'Invalid', lambda: hats.patch(name='bowler', namespace=NS, body={'spec': {'size': 'big'}}, content_type='application/merge-patch+json'))
    hats.delete(name='bowler', namespace=NS)
    crds.delete(name='hats.python.example.com')


def find_kind(dyn, api_version, kind):
    try:
        return dyn.resources.get(api_version=api_version, kind=kind)
    except dynamic.exceptions.ResourceNotFoundError:
        dyn.resources.invalidate_cache()
        return None


def from_yaml(api):
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as f:
        f.write(MANIFEST)
        f.flush()
        utils.create_from_yaml(api, f.name, namespace=NS)
    assert client.AppsV1Api(api).read_namespaced_deployment('from-yaml', NS).spec.replicas == 1
    assert client.CoreV1Api(api).read_namespaced_service('from-yaml', NS).spec.cluster_ip


def subresources(api):
    core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
    scale = apps.read_namespaced_deployment_scale('from-yaml', NS)
    scale.spec.replicas = 3
    assert apps.replace_namespaced_deployment_scale('from-yaml', NS, scale).spec.replicas == 3
    apps.patch_namespaced_deployment_status('from-yaml', NS, {'status': {'replicas': 2}})
    assert apps.read_namespaced_deployment('from-yaml', NS).status.replicas == 2
    pod = {'metadata': {'name': 'bound'}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}
    core.create_namespaced_pod(NS, pod)
    core.create_namespaced_pod_binding('bound', NS, {'metadata': {'name': 'bound'}, 'target': {'kind': 'Node', 'name': 'n'}}, _preload_content=False)
    assert core.read_namespaced_pod('bound', NS).spec.node_name == 'n'
    review = client.AuthorizationV1Api(api).create_self_subject_access_review(client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(verb='get', resource='pods'))))
    assert review.status.allowed
    assert client.VersionApi(api).get_code().minor == '37'


def elect(kubeconfig, namespace, identity):
    """One candidate: says when it leads, and goes on until it is killed."""
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
    config.load_kube_config(kubeconfig)
    leaderelection.LeaderElection(electionconfig.Config(
        ConfigMapLock('election', namespace, identity), lease_duration=6, renew_deadline=4, retry_period=1,
        onstarted_leading=lambda: print('leads', flush=True), onstopped_leading=None)).run()


def leader_election(api, kubeconfig):
    """Of two candidates one leads; when it dies, the other does."""
    candidates = {}
    leads = []

    def listen(name, process):
        for line in process.stdout:
            if line.strip() == 'leads':
                leads.append(name)

    try:
        for name in ('one', 'two'):
            candidates[name] = subprocess.Popen([sys.executable, __file__, 'elect', kubeconfig, NS, name], stdout=subprocess.PIPE,
                                                stderr=subprocess.DEVNULL, text=True)
            threading.Thread(target=listen, args=(name, candidates[name]), daemon=True).start()
        wait_until('somebody leads', lambda: leads)
        assert len(leads) == 1, leads
        candidates[leads[0]].kill()
        wait_until('the other one leads', lambda: len(leads) == 2)
        assert set(leads) == {'one', 'two'}
    finally:
        for process in candidates.values():
            process.kill()
            process.wait()


def main():
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    # The service accounts' tokens and namespaces' furniture are controllers' work: not needed here.
    program = Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0', '--disable-admission-plugins',
                      'ServiceAccount', data_dir=folder)
    try:
        api = config.new_client_from_config(program.kubeconfig)
        client.CoreV1Api(api).create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NS)))
        for part in (typed_kinds, patches, errors, paging, watches, dynamic_client, from_yaml, subresources):
            part(api)
            print('ok   ' + part.__name__, flush=True)
        leader_election(api, program.kubeconfig)
        print('ok   leader_election', flush=True)
        program.stop()
    finally:
        program.kill()
        program.remove()


if sys.argv[1] == 'elect':
    elect(*sys.argv[2:])
else:
    main()
