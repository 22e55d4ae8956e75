"""Pods: where the API server connects to for them, who may use their streams, and what Pod Security refuses."""
import base64
import http.server
import ipaddress
import socket
import threading

from cluster_client import Identity, expect

CORE = '/api/v1/namespaces/'
SLICES = '/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices'


def running_pod(arena, space, ip, name='p', port=80):
    """A pod that nobody runs and whose status says it has that address."""
    cluster = arena.cluster
    expect(cluster.post(CORE + space + '/pods', {'metadata': {'name': name}, 'spec': {'containers': [
        {'name': 'c', 'image': 'i', 'ports': [{'containerPort': port}]}]}}), 201)
    expect(cluster.patch(CORE + space + '/pods/' + name + '/status', {'status': {
        'phase': 'Running', 'podIP': ip, 'podIPs': [{'ip': ip}], 'conditions': [{'type': 'Ready', 'status': 'True'}]}}), 200)


def check_proxy_to_the_servers_machine(arena):
    """proxy connects to no loopback, link-local, multicast or unspecified address (400 address not allowed)."""
    cluster, space = arena.cluster, arena.namespace()
    for index, ip in enumerate(('127.0.0.1', '127.1.2.3', '169.254.169.254', '0.0.0.0', '224.0.0.1', '::1', 'fe80::1')):
        name = 'p%d' % index
        running_pod(arena, space, ip, name)
        for form in (name, name + ':22', 'https:' + name + ':6443'):
            expect(cluster.get(CORE + space + '/pods/' + form + '/proxy/'), 400, message='address not allowed')


def check_proxy_to_nodes_loopback(arena):
    """nodes/proxy connects to no port of a loopback or link-local address (400 address not allowed)."""
    cluster = arena.cluster
    for index, ip in enumerate(('127.0.0.1', '169.254.169.254')):
        name = '%s-%d' % (arena.id, index)
        arena.object('/api/v1/nodes', {'metadata': {'name': name}})
        expect(cluster.patch('/api/v1/nodes/' + name + '/status', {'status': {
            'addresses': [{'type': 'InternalIP', 'address': ip}],
            'daemonEndpoints': {'kubeletEndpoint': {'Port': 10250}}}}), 200)
        for form in (name + ':22', 'http:' + name + ':2379'):
            expect(cluster.get('/api/v1/nodes/' + form + '/proxy/'), 400, message='address not allowed')


def check_proxy_to_endpoints_that_are_no_pods(arena):
    """services/proxy connects to addresses of pods of the namespace only, whatever an EndpointSlice says (503)."""
    cluster, space = arena.cluster, arena.namespace()
    running_pod(arena, space, '10.254.254.254')
    for index, endpoint in enumerate((
            {'addresses': ['10.9.9.9']},
            {'addresses': ['10.9.9.9'], 'targetRef': {'kind': 'Pod', 'namespace': space, 'name': 'p'}},
            {'addresses': ['10.254.254.254'], 'targetRef': {'kind': 'Pod', 'namespace': 'kube-system', 'name': 'p'}},
            {'addresses': ['10.254.254.254'], 'targetRef': {'kind': 'Pod', 'namespace': space, 'name': 'none'}})):
        name = 's%d' % index
        cluster.make(CORE + space + '/services', {'metadata': {'name': name}, 'spec': {'ports': [{'port': 80}]}})
        cluster.make(SLICES % space, {'metadata': {'name': name, 'labels': {'kubernetes.io/service-name': name}},
                                      'addressType': 'IPv4', 'ports': [{'name': '', 'port': 80}], 'endpoints': [endpoint]})
        expect(cluster.get(CORE + space + '/services/' + name + ':80/proxy/'), 503, message='no endpoints available')


def own_address():
    """An address of this machine that is not loopback; None if it has none."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect(('10.255.255.255', 1))  # sends nothing
        address = probe.getsockname()[0]
    except OSError:
        return None
    finally:
        probe.close()
    ip = ipaddress.ip_address(address)
    return None if ip.is_loopback or ip.is_link_local or ip.is_unspecified else address


def check_proxy_keeps_the_callers_credentials(arena):
    """What is proxied to a pod carries neither the caller's Authorization nor the token among WebSocket protocols."""
    cluster = arena.cluster
    address = own_address()
    if not address or not ipaddress.ip_address(cluster.host if cluster.host[0].isdigit() else '127.0.0.1').is_loopback:
        arena.skip('needs a server on this machine, and an address of it that is not loopback')
    seen = []

    class Pod(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(dict(self.headers.items()))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass
    listener = http.server.HTTPServer((address, 0), Pod)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        space = arena.namespace()
        running_pod(arena, space, address, port=listener.server_port)
        token = expect(cluster.post(CORE + space + '/serviceaccounts/default/token', {'spec': {}}), 201).json['status']['token']
        arena.grant([{'apiGroups': [''], 'resources': ['pods/proxy'], 'verbs': ['get', 'create']}], space,
                    'system:serviceaccount:%s:default' % space)
        path = CORE + space + '/pods/p/proxy/'
        expect(cluster.get(path, credentials=False, headers=[('Authorization', 'Bearer ' + token)]), 200)
        hidden = base64.urlsafe_b64encode(token.encode()).rstrip(b'=').decode()
        cluster.get(path, credentials=False, headers=[
            ('Connection', 'Upgrade'), ('Upgrade', 'websocket'), ('Sec-WebSocket-Version', '13'),
            ('Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='),
            ('Sec-WebSocket-Protocol', 'chat, base64url.bearer.authorization.k8s.io.' + hidden)])
        assert len(seen) == 2, seen
        for headers in seen:
            assert token not in str(headers) and hidden not in str(headers), headers
    finally:
        listener.shutdown()


def check_streams_need_create(arena):
    """exec, attach and portforward need create, also by GET, as browsers open WebSockets (403)."""
    cluster, space = arena.cluster, arena.namespace()
    arena.grant([{'apiGroups': [''], 'resources': ['pods/exec', 'pods/attach', 'pods/portforward'], 'verbs': ['get']}], space)
    eve = Identity(arena.user)
    running_pod(arena, space, '10.254.254.254')
    for stream in ('exec?command=id&stdout=1', 'attach?stdout=1', 'portforward?ports=80'):
        expect(cluster.get(CORE + space + '/pods/p/' + stream, who=eve), 403)
        expect(cluster.post(CORE + space + '/pods/p/' + stream, {}, who=eve), 403)
    for subresource in ('log', 'proxy/', 'ephemeralcontainers', 'status'):
        expect(cluster.get(CORE + space + '/pods/p/' + subresource, who=eve), 403)


def check_pod_security_baseline(arena):
    """A namespace at the baseline level takes no pod that uses the host or switches protection off (403)."""
    space = arena.namespace(labels={'pod-security.kubernetes.io/enforce': 'baseline'})

    def make(container=None, security=None, pod_security=None, annotations=None, **spec):
        return arena.cluster.post(CORE + space + '/pods?dryRun=All', {
            'metadata': {'name': 'p', 'annotations': annotations or {}},
            'spec': {'securityContext': pod_security or {}, 'containers': [
                {'name': 'c', 'image': 'i', 'securityContext': security or {}, **(container or {})}], **spec}})
    expect(make(), 201)
    for bad in ({'hostNetwork': True}, {'hostPID': True}, {'hostIPC': True},
                {'volumes': [{'name': 'v', 'hostPath': {'path': '/'}}]},
                {'container': {'ports': [{'containerPort': 1, 'hostPort': 80}]}},
                {'container': {'livenessProbe': {'httpGet': {'host': 'h', 'port': 1}}}},
                {'security': {'privileged': True}}, {'security': {'capabilities': {'add': ['SYS_ADMIN']}}},
                {'security': {'seLinuxOptions': {'type': 'spc_t'}}}, {'security': {'seLinuxOptions': {'user': 'u'}}},
                {'pod_security': {'seccompProfile': {'type': 'Unconfined'}}},
                {'security': {'appArmorProfile': {'type': 'Unconfined'}}},
                {'pod_security': {'sysctls': [{'name': 'kernel.msgmax', 'value': '1'}]}},
                {'initContainers': [{'name': 'x', 'image': 'i', 'securityContext': {'privileged': True}}]}):
        reply = make(**bad)
        # A server without --allow-privileged has words of its own.
        if 'disallowed by cluster policy' not in reply.message:
            expect(reply, 403, message='violates PodSecurity "baseline:latest"')


def check_pod_security_restricted(arena):
    """At the restricted level a pod must give up root, capabilities and escalation (403)."""
    space = arena.namespace(labels={'pod-security.kubernetes.io/enforce': 'restricted'})

    def make(security=None, pod_security=None, **spec):
        good = {'allowPrivilegeEscalation': False, 'capabilities': {'drop': ['ALL']}}
        good_pod = {'runAsNonRoot': True, 'seccompProfile': {'type': 'RuntimeDefault'}}
        return arena.cluster.post(CORE + space + '/pods?dryRun=All', {'metadata': {'name': 'p'}, 'spec': {
            'securityContext': {**good_pod, **(pod_security or {})},
            'containers': [{'name': 'c', 'image': 'i', 'securityContext': {**good, **(security or {})}}], **spec}})
    expect(make(), 201)
    for bad in ({'security': {'allowPrivilegeEscalation': True}}, {'security': {'capabilities': {}}},
                {'security': {'capabilities': {'drop': ['ALL'], 'add': ['CHOWN']}}}, {'security': {'runAsNonRoot': False}},
                {'pod_security': {'runAsNonRoot': False}}, {'pod_security': {'runAsUser': 0}}, {'security': {'runAsUser': 0}},
                {'pod_security': {'seccompProfile': {'type': 'Unconfined'}}}, {'pod_security': {'seccompProfile': None}},
                {'volumes': [{'name': 'v', 'nfs': {'server': 's', 'path': '/'}}]}, {'hostPID': True}):
        expect(make(**bad), 403, message='violates PodSecurity "restricted:latest"')
