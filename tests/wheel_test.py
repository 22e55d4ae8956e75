"""The Python wheel: packed from the program, installed into an environment of its own, and its pytest fixtures used.

    wheel_test.py build/flyball
"""
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

TESTS = '''
import pytest
from flyball_pytest import CommandFailed

POD = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'one'}, 'spec': {'containers': [{'name': 'c', 'image': 'x'}]}}


def test_a_deployment_runs(flyball_cluster, flyball_namespace):
    flyball_cluster.kubectl('create', 'deployment', 'web', '--image=nginx', '--replicas=2', '-n', flyball_namespace)
    flyball_cluster.wait_for('condition=Available', 'deployment/web', namespace=flyball_namespace)
    assert len(flyball_cluster.get('pods', '-n', flyball_namespace)['items']) == 2


@pytest.mark.parametrize('again', [1, 2])
def test_each_test_has_a_namespace_of_its_own(flyball_cluster, flyball_namespace, again):
    assert flyball_cluster.get('pods', '-n', flyball_namespace)['items'] == []
    assert 'created' in flyball_cluster.apply(POD, namespace=flyball_namespace)


def test_a_failure_says_what_kubectl_says(flyball_cluster):
    with pytest.raises(CommandFailed, match='NotFound'):
        flyball_cluster.kubectl('get', 'configmap', 'none')


def test_other_clients_find_the_server(flyball_cluster):
    import json, ssl, urllib.request
    trust = ssl.create_default_context(cadata=flyball_cluster.ca)
    request = urllib.request.Request(flyball_cluster.url + '/version', headers={'Authorization': 'Bearer ' + flyball_cluster.token})
    assert json.load(urllib.request.urlopen(request, context=trust))['major'] == '1'
'''


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options)
    assert done.returncode == 0, '%s: %s' % (command, done.stdout[-6000:])
    return done.stdout


def try_wheel(wheel, folder, *pip_options):
    """Installs the wheel into a new environment and uses it; pytest is the system's, or what the options say."""
    environment = os.path.join(folder, 'environment')
    run('/usr/bin/python3', '-m', 'venv', '--system-site-packages', environment)
    run(environment + '/bin/pip', 'install', '--quiet', '--disable-pip-version-check', *pip_options, wheel)
    assert 'Flyball Version' in run(environment + '/bin/flyball', 'version', '--client')
    with open(os.path.join(folder, 'test_cluster.py'), 'w') as f:
        f.write(TESTS)
    values = {name: value for name, value in os.environ.items() if name not in ('FLYBALL', 'KUBECONFIG')}
    said = run(environment + '/bin/python3', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', cwd=folder, env=values)
    assert '5 passed' in said, said
    print('ok   the fixtures work: ' + said.strip().split('\n')[-1])


def main():
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as folder:
        run('/usr/bin/python3', os.path.join(ROOT, 'packaging', 'package.py'), sys.argv[1], folder, 'wheel')
        try_wheel(glob.glob(folder + '/*.whl')[0], folder, '--no-index', '--no-deps')


if __name__ == '__main__':
    main()
