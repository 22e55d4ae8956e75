"""Replays the recorded conversations of a real kube-apiserver against `flyball apiserver`; fails when fewer steps than
before come out as recorded."""
import os
import re
import subprocess
import sys

from program import Program, shared_folder, skip

# Raise it when more pass; never lower it.
FLOOR = 1287


def main():
    shared = shared_folder()
    if not shared:
        skip('the recorded conversations are not at hand (FLYBALL_SHARED)')
    golden = os.path.join(shared, 'golden')
    import tempfile
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    tokens = os.path.join(folder, 'tokens.csv')
    with open(tokens, 'w') as f:
        f.write('test-token,admin,1,"system:masters"\n')
    program = Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0', '--token-auth-file', tokens,
                      '--service-cluster-ip-range', '10.96.0.0/16', '--service-account-issuer',
                      'https://kubernetes.default.svc',
                      # The address the recorded server had.
                      '--external-hostname', '192.0.2.2:26443', data_dir=folder)
    try:
        cases = sorted(os.path.join(golden, 'cases', name) for name in os.listdir(os.path.join(golden, 'cases')))
        result = subprocess.run([sys.executable, os.path.join(golden, 'golden.py'), 'replay', '--server', program.url,
                                 '--token', 'test-token', '--insecure', '--summary', *cases],
                                capture_output=True, text=True, timeout=500)
        print(result.stdout + result.stderr)
        passed = int(re.search(r'(\d+) passed, \d+ failed', result.stdout).group(1))
    finally:
        program.stop()
        program.remove()
    if passed < FLOOR:
        sys.exit('%d steps come out as recorded; it has been %d before' % (passed, FLOOR))


main()
