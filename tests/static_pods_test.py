"""Static pods of a node: they run while no API server is there, have mirror pods when it is, and follow their files."""
import json
import os
import shutil
import socket
import sys
import tempfile

from program import Kubectl, Program, wait_until


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return str(s.getsockname()[1])


def manifest(folder, marker, name='web'):
    """Put there at once, as a rename."""
    # $$$$ is what an escaped $$ looks like.
    script = 'echo $$$$ > %s.new; mv %s.new %s; exec sleep 100000' % (marker, marker, marker)
    pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'labels': {'app': name}},
           'spec': {'hostNetwork': True, 'terminationGracePeriodSeconds': 1,
                    'containers': [{'name': 'c', 'image': 'host', 'command': ['sh', '-c', script]}]}}
    with open(folder + '/.new', 'w') as f:
        json.dump(pod, f)
    os.rename(folder + '/.new', '%s/%s.yaml' % (folder, name))


def pid_of(marker):
    return wait_until('it runs: ' + marker, lambda: int(open(marker).read()))


def runs(pid):
    return os.path.exists('/proc/%d' % pid)


def mirror(kubectl):
    pod = json.loads(kubectl('get', 'pod', 'web-n1', '-o', 'json'))
    return pod if pod['status'].get('phase') == 'Running' else None


def a_mirror(kubectl):
    pod = wait_until('the mirror pod says that it runs', lambda: mirror(kubectl))
    annotations = pod['metadata']['annotations']
    assert annotations['kubernetes.io/config.source'] == 'file', annotations
    assert annotations['kubernetes.io/config.mirror'] == annotations['kubernetes.io/config.hash'], annotations
    owner = pod['metadata']['ownerReferences'][0]
    assert (owner['kind'], owner['name'], owner['controller']) == ('Node', 'n1', True), owner
    return pod['metadata']['uid']


def main():
    binary = sys.argv[1]
    folder = os.path.realpath(tempfile.mkdtemp(prefix='flyball-test-'))
    manifests, port = folder + '/manifests', free_port()
    programs = []

    def start_server():
        programs.append(Program(binary, 'apiserver', '--data-dir', folder + '/server', '--secure-port', port, data_dir=folder + '/server'))

    try:
        os.makedirs(folder + '/server', 0o700)
        os.makedirs(folder + '/node')
        os.makedirs(manifests)
        start_server()
        kubectl = Kubectl(programs[0].kubeconfig)
        programs[0].kill()

        manifest(manifests, folder + '/first')
        manifest(manifests, folder + '/hidden', name='.hidden')
        programs.append(Program(binary, 'node', '--name', 'n1', '--data-dir', folder + '/node', '--kubeconfig', programs[0].kubeconfig,
                                '--host-image', 'on', '--pod-manifest-path', manifests, data_dir=folder + '/node', ready='node n1 running'))
        first = pid_of(folder + '/first')

        start_server()
        uid = a_mirror(kubectl)
        assert runs(first)
        kubectl('delete', 'pod', 'web-n1', '--wait=false')
        wait_until('there is another mirror pod', lambda: mirror(kubectl)['metadata']['uid'] != uid)
        assert runs(first)

        manifest(manifests, folder + '/second')
        second = pid_of(folder + '/second')
        assert not runs(first)
        a_mirror(kubectl)
        os.remove(manifests + '/web.yaml')
        wait_until('it has ended', lambda: not runs(second))
        wait_until('so has its mirror', lambda: not kubectl('get', 'pods', '-o', 'name'))
        assert not os.path.exists(folder + '/hidden')
    except BaseException:
        for program in programs:
            print(program.output()[-3000:])
        raise
    finally:
        for program in reversed(programs):
            program.kill()
        shutil.rmtree(folder, ignore_errors=True)


main()
