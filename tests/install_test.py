"""The SDK as a user gets it: installed into a folder, found by find_package, compiled and run outside the tree."""
import os
import subprocess
import sys
import tempfile

from program import Kubectl, Program, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, ' '.join(command) + ':\n' + result.stdout[-6000:] + result.stderr[-6000:]
    return result.stdout


def build(source, folder, prefix, target):
    binary = os.path.join(folder, target)
    run('cmake', '-S', source, '-B', binary, '-G', 'Ninja', '-DCMAKE_PREFIX_PATH=' + prefix)
    run('cmake', '--build', binary, '--target', target)
    return binary


def macros_have_our_prefix(prefix):
    for folder, _, files in os.walk(os.path.join(prefix, 'include')):
        for name in files:
            for line in open(os.path.join(folder, name)):
                if line.startswith('#define '):
                    assert line.split()[1].startswith('FLYBALL_'), name + ': ' + line


def smallest_controller(program, kubeconfig):
    kubectl = Kubectl(kubeconfig)
    with subprocess.Popen([program, '--kubeconfig', kubeconfig, '--install-crds']) as controller:
        try:
            wait_until('the kind is served', lambda: kubectl.run('get', 'networks', check=False).returncode == 0)
            kubectl('apply', '-f', '-', stdin='{"apiVersion": "sample.k8s.io/v1", "kind": "Network", '
                    '"metadata": {"name": "lan"}, "spec": {"cidr": "10.1.0.0/16"}}')
            wait_until('its ConfigMap is there', lambda: kubectl('get', 'configmap', 'lan', '-o', 'jsonpath={.data.cidr}') == '10.1.0.0/16')
            kubectl('delete', 'configmap', 'lan')
            wait_until('it is made again', lambda: kubectl.run('get', 'configmap', 'lan', check=False).returncode == 0)
        finally:
            controller.terminate()
    assert controller.returncode == 0


def main():
    flyball, build_folder = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix='flyball-install-') as folder:
        prefix = os.path.join(folder, 'prefix')
        run('cmake', '--install', build_folder, '--prefix', prefix, '--component', 'sdk')
        macros_have_our_prefix(prefix)
        print('ok   installed', flush=True)
        # Where the tree is must not matter: only the sources of the two projects are read from it.
        build(os.path.join(HERE, '..', 'examples'), folder, prefix, 'replicaset-from-scratch')
        print('ok   an example, outside the tree', flush=True)
        binary = build(os.path.join(HERE, 'sdk_project'), folder, prefix, 'smallest-controller')
        print('ok   the smallest project', flush=True)
        data = tempfile.mkdtemp(prefix='flyball-test-')
        server = Program(flyball, 'apiserver', '--data-dir', data, '--secure-port', '0', data_dir=data)
        try:
            smallest_controller(os.path.join(binary, 'smallest-controller'), server.kubeconfig)
            print('ok   it runs', flush=True)
            server.stop()
        finally:
            server.kill()
            server.remove()


main()
