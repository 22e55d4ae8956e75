"""What is used: simulated nodes that use what they are told to, an autoscaler that follows, and a real process; by kubectl top,
the metrics API and the nodes' own documents. Then another metrics server takes over."""
import json
import sys
import tempfile

from program import Kubectl, Program, wait_until

POD_METRICS = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods'


def table(text):
    return [line.split() for line in text.split('\n') if line]


def deployment(name, replicas, annotations, command=None):
    container = {'name': 'c', 'image': 'host' if command else 'anything:1', 'resources': {'requests': {'cpu': '100m', 'memory': '64Mi'}}}
    if command:
        container['command'] = command
    return {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
            'spec': {'replicas': replicas, 'selector': {'matchLabels': {'app': name}},
                     'template': {'metadata': {'labels': {'app': name}, 'annotations': annotations},
                                  'spec': {'terminationGracePeriodSeconds': 0, 'containers': [container]}}}}


def autoscaler(name):
    metric = {'type': 'Resource', 'resource': {'name': 'cpu', 'target': {'type': 'Utilization', 'averageUtilization': 50}}}
    return {'apiVersion': 'autoscaling/v2', 'kind': 'HorizontalPodAutoscaler', 'metadata': {'name': name},
            'spec': {'minReplicas': 1, 'maxReplicas': 4, 'metrics': [metric],
                     'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': name}}}


def apply(kubectl, *objects):
    kubectl('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}))


def there_is_a_metrics_api(kubectl):
    wait_until('the API is available', lambda: 'True' in kubectl('get', 'apiservice', 'v1beta1.metrics.k8s.io'))
    assert 'PodMetrics' in kubectl('api-resources', '--api-group', 'metrics.k8s.io')
    assert kubectl('auth', 'can-i', 'list', 'pods.metrics.k8s.io', '--as', 'jane', check=False) == 'no'


def simulated_pods_use_what_they_request(kubectl):
    apply(kubectl, deployment('web', 2, {}), deployment('busy', 1, {'sim.flyball.dev/usage-cpu': '150m'}))
    kubectl('rollout', 'status', 'deploy/web', '--timeout=60s')
    kubectl('rollout', 'status', 'deploy/busy', '--timeout=60s')
    rows = wait_until('all pods are measured', lambda: (lambda r: len(r) == 3 and r)(table(kubectl('top', 'pod', '--no-headers', check=False))))
    for name, cpu, memory in rows:
        wanted = 150 if name.startswith('busy') else 100
        assert wanted - 3 <= int(cpu[:-1]) <= wanted + 3 and memory == '64Mi', rows
    assert len(table(kubectl('top', 'pod', '-l', 'app=web', '--no-headers'))) == 2
    assert ['c' in row for row in table(kubectl('top', 'pod', '--containers', '--no-headers'))] == [True] * 3


def nodes_use_what_their_pods_do(kubectl):
    rows = table(kubectl('top', 'node', '--no-headers'))
    assert len(rows) == 3, rows
    assert 340 <= sum(int(row[1][:-1]) for row in rows) <= 360, 'each node has its own: %s' % rows
    assert sum(int(row[3][:-2]) for row in rows) == 3 * 64, rows
    assert table(kubectl('get', 'nodes.metrics.k8s.io'))[0] == ['NAME', 'CPU', 'MEMORY', 'WINDOW']


def the_api_says_what_kubernetes_would(kubectl):
    listed = json.loads(kubectl('get', '--raw', POD_METRICS + '?labelSelector=app%3Dbusy'))
    assert (listed['kind'], listed['apiVersion'], len(listed['items'])) == ('PodMetricsList', 'metrics.k8s.io/v1beta1', 1), listed
    item = listed['items'][0]
    assert item['metadata']['labels']['app'] == 'busy' and item['window'].endswith('s') and item['timestamp'].endswith('Z'), item
    usage = item['containers'][0]['usage']  # an even use is in whole millis: 150m
    assert item['containers'][0]['name'] == 'c' and usage['cpu'][-1] in 'nm' and usage['memory'] == '64Mi', item
    one = json.loads(kubectl('get', '--raw', POD_METRICS + '/' + item['metadata']['name']))
    assert one['kind'] == 'PodMetrics', one
    absent = kubectl.run('get', '--raw', POD_METRICS + '/absent', check=False)
    assert 'pods "absent" not found' in absent.stderr, absent.stderr


def an_autoscaler_follows(kubectl):
    apply(kubectl, autoscaler('busy'))
    # Each new pod uses as much as the first, so that it goes on to the most afterwards: the event stays.
    events = ('get', 'events', '--field-selector', 'involvedObject.name=busy,reason=SuccessfulRescale')
    wait_until('three times as many pods as the target asks for', lambda: 'New size: ' in kubectl(*events), 90)
    assert 'New size: 3; reason: cpu resource utilization (percentage of request) above target' in kubectl(*events), kubectl(*events)
    status = json.loads(kubectl('get', 'hpa', 'busy', '-o', 'json'))['status']
    current = status['currentMetrics'][0]['resource']['current']
    assert current['averageUtilization'] == 150, status
    def size():
        return json.loads(kubectl('get', 'deploy', 'busy', '-o', 'json'))['spec']['replicas']
    wait_until('the most that it may have', lambda: size() == 4, 90)


def another_server_takes_over(kubectl):
    spec = {'group': 'metrics.k8s.io', 'version': 'v1beta1', 'groupPriorityMinimum': 100, 'versionPriority': 100,
            'insecureSkipTLSVerify': True, 'service': {'name': 'metrics-server', 'namespace': 'kube-system'}}
    apply(kubectl, {'apiVersion': 'apiregistration.k8s.io/v1', 'kind': 'APIService', 'metadata': {'name': 'v1beta1.metrics.k8s.io'}, 'spec': spec})
    wait_until('it is that one that is asked', lambda: 'ServiceNotFound' in kubectl('get', 'apiservice', 'v1beta1.metrics.k8s.io'))
    failed = kubectl.run('get', '--raw', POD_METRICS, check=False)
    assert failed.returncode != 0 and 'unable to handle the request' in failed.stderr, failed.stderr


def a_real_process_is_measured(kubectl):
    apply(kubectl, deployment('spin', 1, {}, ['sh', '-c', 'while true; do :; done']))
    kubectl('rollout', 'status', 'deploy/spin', '--timeout=60s')
    def used():
        rows = table(kubectl('top', 'pod', '-l', 'app=spin', '--no-headers', check=False))
        return rows and int(rows[0][1][:-1]) > 50 and rows[0]
    row = wait_until('it uses the processor', used)
    assert row[2].endswith('Mi'), row
    node = table(kubectl('top', 'node', '--no-headers'))[0]
    assert int(node[1][:-1]) > 50, node


def a_nodes_documents(kubectl):
    node = json.loads(kubectl('get', 'nodes', '-o', 'json'))['items'][0]['metadata']['name']
    proxy = '/api/v1/nodes/%s/proxy' % node
    resource = kubectl('get', '--raw', proxy + '/metrics/resource')
    for series in ('node_cpu_usage_seconds_total ', 'container_start_time_seconds{container="c"', 'pod_memory_working_set_bytes{',
                   'resource_scrape_error 0'):
        assert series in resource, resource
    summary = json.loads(kubectl('get', '--raw', proxy + '/stats/summary'))
    assert summary['node']['nodeName'] == node and summary['node']['fs']['capacityBytes'] > 0, summary['node']
    pod = [p for p in summary['pods'] if p['podRef']['name'].startswith('spin')][0]
    assert pod['containers'][0]['cpu']['usageCoreNanoSeconds'] > 0 and pod['memory']['workingSetBytes'] > 0, pod
    assert 'container_memory_working_set_bytes{' in kubectl('get', '--raw', proxy + '/metrics/cadvisor')
    assert 'kubelet_running_pods 1' in kubectl('get', '--raw', proxy + '/metrics')
    assert 'spin' in kubectl('get', '--raw', proxy + '/pods')
    refused = kubectl.run('get', '--raw', proxy + '/metrics/resource', '--as', 'jane', check=False)
    assert 'Forbidden' in refused.stderr or 'forbidden' in refused.stderr, refused.stderr


def up(binary, *arguments):
    data = tempfile.mkdtemp(prefix='flyball-metrics-')
    return Program(binary, 'up', '--data-dir', data, '--port', '0', *arguments, data_dir=data)


def on_simulated_nodes(kubectl):
    wait_until('three nodes are ready', lambda: kubectl('get', 'nodes', check=False).split().count('Ready') == 3)
    there_is_a_metrics_api(kubectl)
    simulated_pods_use_what_they_request(kubectl)
    nodes_use_what_their_pods_do(kubectl)
    the_api_says_what_kubernetes_would(kubectl)
    an_autoscaler_follows(kubectl)
    another_server_takes_over(kubectl)


def on_a_real_node(kubectl):
    a_real_process_is_measured(kubectl)
    a_nodes_documents(kubectl)


def main(binary):
    for arguments, check in (['--runtime', 'sim', '--nodes', '3'], on_simulated_nodes), (['--host-image', 'on'], on_a_real_node):
        program = up(binary, *arguments)
        try:
            check(Kubectl(program.kubeconfig))
            program.stop()
        except BaseException:
            print(program.output()[-3000:])
            raise
        finally:
            program.kill()
            program.remove()
    print('metrics: fine')


if __name__ == '__main__':
    main(sys.argv[1])
