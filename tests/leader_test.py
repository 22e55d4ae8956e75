"""Two copies of `flyball controllers`: one leads; when it is killed the other takes over; a leader that loses its lease ends."""
import json
import re
import sys
import tempfile
import urllib.error
import urllib.request

from program import Kubectl, Program, wait_until

# Longer than usual: a leader on a very busy machine should not lose its lease by itself.
ELECTION = ['--leader-elect', '--leader-elect-lease-duration', '25s', '--leader-elect-renew-deadline', '20s',
            '--leader-elect-retry-period', '1s']


def holder(kubectl):
    result = kubectl.run('get', 'lease', 'kube-controller-manager', '-n', 'kube-system', '-o', 'json', check=False)
    return result.returncode == 0 and json.loads(result.stdout)['spec'].get('holderIdentity')


def copy(binary, kubeconfig):
    program = Program(binary, 'controllers', '--kubeconfig', kubeconfig, '--health-address', '127.0.0.1:0', *ELECTION,
                      ready='running')
    program.health = 'http://127.0.0.1:' + re.search(r'health and metrics on port (\d+)', program.output()).group(1)
    return program


def ask(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:  # not ready yet, for one
        return refused.code, refused.read().decode()


def main():
    binary = sys.argv[1]
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    server = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)
    programs = [server]
    try:
        kubectl = Kubectl(server.kubeconfig)
        first = copy(binary, server.kubeconfig)
        programs.append(first)
        led = wait_until('the first copy leads', lambda: holder(kubectl))
        second = copy(binary, server.kubeconfig)
        programs.append(second)
        wait_until('the leader works', lambda: kubectl.run('get', 'sa', 'default', check=False).returncode == 0)
        for program in (first, second):
            assert ask(program.health + '/healthz') == (200, 'ok')
            wait_until('it is ready', lambda: ask(program.health + '/readyz')[0] == 200)
        assert 'workqueue_depth' in ask(first.health + '/metrics')[1]

        first.kill()
        wait_until('the other takes over', lambda: holder(kubectl) not in (False, '', led), seconds=120)
        assert kubectl('create', 'deployment', 'web', '--image=i') == 'deployment.apps/web created'
        wait_until('and works', lambda: len(kubectl('get', 'pods', '-o', 'name').splitlines()) == 1)

        kubectl('patch', 'lease', 'kube-controller-manager', '-n', 'kube-system', '--type=merge', '-p',
                json.dumps({'spec': {'holderIdentity': 'thief', 'leaseDurationSeconds': 3600}}))
        wait_until('the leader that lost its lease ends', lambda: second.process.poll() is not None)
        assert second.process.returncode != 0 and 'leaderelection lost' in second.output(), second.output()[-2000:]
        server.stop()
    finally:
        for program in programs:
            program.kill()
        for program in programs:
            program.remove()


if __name__ == '__main__':
    main()
