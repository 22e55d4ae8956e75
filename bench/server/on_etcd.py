"""on_etcd.py SERVER_BENCH FLYBALL ETCD [KUBE_APISERVER]: what server_bench measures, on etcd: Flyball, then kube-apiserver.

Each server has a new etcd of one member in --folder (which must be on the disk that is meant), on the same machine in the same run.
server_bench starts "its" program by a script that adds what etcd and kube-apiserver need. Also prints the load of the machine,
because a busy one makes all figures worse.
"""
import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

FLYBALL = """#!/bin/sh
exec {program} "$@" --etcd-servers {etcd} {more}
"""

# server_bench gives: apiserver --data-dir FOLDER --secure-port 0. It waits for the line that names the kubeconfig.
KUBE_APISERVER = """#!/bin/bash
set -e
folder=$3; mkdir -p $folder; cd $folder
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api -addext subjectAltName=IP:127.0.0.1 -keyout tls.key -out tls.crt 2>log
openssl genrsa -out sa.key 2048 2>>log
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=clients -keyout ca.key -out ca.crt 2>>log
openssl req -newkey rsa:2048 -nodes -subj /O=system:masters/CN=admin -keyout admin.key -out admin.csr 2>>log
openssl x509 -req -in admin.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out admin.crt 2>>log
cat >config <<END
{{"apiVersion": "v1", "kind": "Config", "current-context": "c",
 "clusters": [{{"name": "c", "cluster": {{"server": "https://127.0.0.1:{port}", "certificate-authority": "$folder/tls.crt"}}}}],
 "users": [{{"name": "u", "user": {{"client-certificate": "$folder/admin.crt", "client-key": "$folder/admin.key"}}}}], "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}]}}
END
(until [ "$(curl -sk https://127.0.0.1:{port}/readyz)" = ok ]; do sleep 0.05; done; echo kubeconfig $folder/config) &
exec {program} --etcd-servers {etcd} --secure-port {port} --bind-address 127.0.0.1 --cert-dir $folder --tls-cert-file tls.crt \\
  --tls-private-key-file tls.key --client-ca-file ca.crt --service-account-issuer https://kubernetes.default.svc \\
  --service-account-key-file sa.key --service-account-signing-key-file sa.key --authorization-mode Node,RBAC {more} >>log 2>&1
"""


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def start_etcd(program, folder):
    client, peer = ('http://127.0.0.1:%d' % free_port() for _ in range(2))
    process = subprocess.Popen([program, '--data-dir', folder, '--listen-client-urls', client, '--advertise-client-urls', client,
                                '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', 'default=' + peer,
                                '--quota-backend-bytes', str(8 << 30), '--log-level', 'error'])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if b'true' in urllib.request.urlopen(client + '/health', timeout=5).read():
                return process, client
        except OSError:
            time.sleep(0.05)
    sys.exit('etcd did not start')


def measure(options, name, script, program, rest):
    folder = tempfile.mkdtemp(prefix='on-etcd-', dir=options.folder)
    etcd, url = start_etcd(os.path.abspath(options.etcd), os.path.join(folder, 'etcd'))
    try:
        start = os.path.join(folder, 'start')
        with open(start, 'w') as f:
            f.write(script.format(program=os.path.abspath(program), etcd=url, port=free_port(), more=options.more))
        os.chmod(start, 0o755)
        print('== %s on etcd; load of the machine %s' % (name, os.getloadavg()), flush=True)
        subprocess.run([os.path.abspath(options.server_bench), '--program', start, '--folder', folder, *rest], check=True)
    finally:
        etcd.kill()
        etcd.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(epilog='Other arguments go to server_bench: --only creates --runs 3')
    for name in ('server_bench', 'flyball', 'etcd'):
        parser.add_argument(name)
    parser.add_argument('kube_apiserver', nargs='?')
    parser.add_argument('--folder', default='.')
    parser.add_argument('--more', default='', help='further flags of both servers')
    options, rest = parser.parse_known_args()
    options.folder = os.path.abspath(options.folder)
    measure(options, 'flyball', FLYBALL, options.flyball, rest)
    if options.kube_apiserver:
        measure(options, 'kube-apiserver', KUBE_APISERVER, options.kube_apiserver, rest)


if __name__ == '__main__':
    main()
