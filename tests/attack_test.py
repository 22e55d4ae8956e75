"""tests/attack against the real `flyball apiserver`: what holds against kube-apiserver holds here."""
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'attack'))

import attack  # noqa: E402
from cluster_client import Cluster  # noqa: E402
from program import Program  # noqa: E402
import tempfile  # noqa: E402


def main():
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0', '--enable-admission-plugins',
                      'NodeRestriction', data_dir=folder)
    try:
        settings = types.SimpleNamespace(client_ca=os.path.join(folder, 'pki', 'ca.crt'),
                                         client_ca_key=os.path.join(folder, 'pki', 'ca.key'))
        failed = attack.run(Cluster(program.kubeconfig), settings)
    finally:
        program.stop()
    sys.exit(1 if failed else 0)


main()
