"""The same cluster as separate processes over HTTPS, driven with the program's own verbs."""
import os
import sys
import tempfile

from program import Kubectl, Program, wait_until


def main():
    binary = sys.argv[1]
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    programs = [Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)]
    kubeconfig = programs[0].kubeconfig
    try:
        for arguments in (['controllers'], ['scheduler'], ['node', '--name', 'n1', '--data-dir', os.path.join(folder, 'node')]):
            programs.append(Program(binary, *arguments, '--kubeconfig', kubeconfig, ready='running'))
        flyball = Kubectl(kubeconfig, command=(binary,))
        wait_until('the default service account is there',
                   lambda: flyball.run('get', 'sa', 'default', check=False).returncode == 0)
        assert flyball('create', 'deployment', 'web', '--image=host', '--replicas=2', '--', 'sh', '-c',
                       'echo hi; trap "exit 0" TERM; while true; do sleep 1; done') == 'deployment.apps/web created'
        assert 'successfully rolled out' in flyball('rollout', 'status', 'deployment/web', timeout=120)
        wait_until('two pods run', lambda: flyball('get', 'pods').count('Running') == 2)
        wait_until('its output is served', lambda: 'hi' in flyball('logs', 'deployment/web'))
        assert flyball('scale', 'deployment/web', '--replicas=3') == 'deployment.apps/web scaled'
        wait_until('three pods run', lambda: flyball('get', 'pods').count('Running') == 3)
        assert 'web' in flyball('describe', 'deployment', 'web')
        flyball('delete', 'deployment', 'web')
        wait_until('everything it owned is gone', lambda: 'No resources' in flyball.run('get', 'rs,pods').stderr)
        for program in reversed(programs):
            program.stop()
    finally:
        for program in programs:
            program.kill()
        for program in programs:
            program.remove()


main()
