"""Records what kube-apiserver does: record.py KUBE_APISERVER ETCD > recorded.json"""
import json
import os
import subprocess
import sys
import tempfile
import time

from cases import Server, run
from hook_server import HookServer


def main():
    folder = tempfile.mkdtemp(prefix='webhooks-record-')
    with open(os.path.join(folder, 'tokens.csv'), 'w') as f:
        f.write('secret,admin,1,"system:masters"\n')
    subprocess.run(['openssl', 'genrsa', '-out', os.path.join(folder, 'sa.key'), '2048'], check=True, capture_output=True)
    etcd = subprocess.Popen([sys.argv[2], '--data-dir', folder + '/etcd', '--listen-client-urls', 'http://127.0.0.1:23790',
                             '--advertise-client-urls', 'http://127.0.0.1:23790', '--listen-peer-urls', 'http://127.0.0.1:23791',
                             '--unsafe-no-fsync'], stdout=open(folder + '/etcd.log', 'w'), stderr=subprocess.STDOUT)
    server = subprocess.Popen([sys.argv[1], '--etcd-servers', 'http://127.0.0.1:23790', '--secure-port', '16443', '--cert-dir', folder,
                               '--token-auth-file', folder + '/tokens.csv', '--authorization-mode', 'RBAC', '--service-cluster-ip-range', '10.0.0.0/24',
                               '--service-account-key-file', folder + '/sa.key', '--service-account-signing-key-file', folder + '/sa.key',
                               '--service-account-issuer', 'https://kubernetes.default.svc', '--bind-address', '127.0.0.1'],
                              stdout=open(folder + '/server.log', 'w'), stderr=subprocess.STDOUT)
    try:
        asked = Server('https://127.0.0.1:16443', token='secret')
        for _ in range(600):
            try:
                if asked.call('GET', '/readyz')[0] == 200 and asked.call('GET', '/api/v1/namespaces/default')[0] == 200:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        json.dump(run(asked, HookServer(folder), lambda: time.sleep(1.2), sys.argv[3:]), sys.stdout, indent=1, sort_keys=True)
        print()
    finally:
        server.terminate()
        etcd.terminate()
        server.wait()
        etcd.wait()


main()
