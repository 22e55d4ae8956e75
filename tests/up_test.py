"""`flyball up` as a person meets it: what it prints, what it refuses and how it says so, and that it ends in order."""
import os
import stat
import subprocess
import sys
import tempfile
import time

from program import Kubectl, Program, wait_until


def refused(binary, *arguments):
    """What the program says on standard error when it will not."""
    result = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1, '%s: exit status %d: %s' % (arguments, result.returncode, result.stderr)
    return result.stderr


def expect(got, *wanted):
    for want in wanted:
        assert want in got, 'want %r in:\n%s' % (want, got)


def it_says_what_to_try(program):
    wait_until('the hints are printed', lambda: 'Ctrl-C stops it' in program.output())
    expect(program.output(), program.url, 'export KUBECONFIG=' + program.kubeconfig, 'kubectl get nodes')
    assert stat.S_IMODE(os.stat(program.kubeconfig).st_mode) == 0o600


def it_has_its_nodes(binary, program):
    flyball = Kubectl(program.kubeconfig, command=(binary,))
    wait_until('three nodes are ready', lambda: flyball('get', 'nodes').split().count('Ready') == 3)
    flyball('create', 'deployment', 'web', '--image=anything:1', '--replicas=6')
    expect(flyball('rollout', 'status', 'deploy/web', '--timeout=60s', timeout=90), 'successfully rolled out')
    assert len(set(flyball('get', 'pods', '-o', 'jsonpath={range .items[*]}{.spec.nodeName}{"\\n"}{end}').split())) == 3


def it_refuses_with_advice(binary, program, folder):
    port = program.url.rsplit(':', 1)[1]
    expect(refused(binary, 'up', '--data-dir', program.data_dir, '--port', '0'), 'another process (pid %d) holds it' % program.process.pid,
           'stop that one')
    expect(refused(binary, 'up', '--data-dir', folder, '--port', port), 'Address already in use', 'choose another port')
    expect(refused(binary, 'up', '--data-dir', folder, '--runtime', 'docker'), 'native', 'sim', "See 'flyball up --help'")
    expect(refused(binary, 'up', '--nodes', '0'), '--nodes')
    expect(refused(binary, 'up', '--nodez', '2'), 'unknown flag: --nodez', "See 'flyball up --help'")
    expect(refused(binary, 'gett', 'pods'), 'unknown command "gett"', 'Did you mean this?\n\tget\n')
    expect(refused(binary, 'get', 'pods', '--kubeconfig', '/nowhere/config'), '/nowhere/config')


def it_stops_in_seconds(program):
    began = time.monotonic()
    program.stop()
    assert program.process.returncode == 0
    assert time.monotonic() - began < 15


def main():
    binary = sys.argv[1]
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(binary, 'up', '--data-dir', folder, '--port', '0', '--runtime', 'sim', '--nodes', '3', data_dir=folder)
    try:
        it_says_what_to_try(program)
        it_has_its_nodes(binary, program)
        it_refuses_with_advice(binary, program, os.path.join(folder, 'other'))
        it_stops_in_seconds(program)
        print('ok')
    finally:
        program.kill()
        program.remove()


main()
