#!/usr/bin/env python3
"""Starts etcd and kube-apiserver on loopback, attacks them, and stops them: run_kubernetes.py --bin DIR [check words...]"""
import argparse
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import types
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import attack  # noqa: E402
from cluster_client import Cluster  # noqa: E402

TOKEN = 'attack-administrator'


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def openssl(folder, *arguments):
    subprocess.run(['openssl', *arguments], check=True, capture_output=True, cwd=folder)


def start(folder, binaries):
    """The two processes, and the server's URL once it is ready."""
    openssl(folder, 'genrsa', '-out', 'sa.key', '2048')
    openssl(folder, 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '1', '-subj',
            '/CN=attack-ca')
    with open(os.path.join(folder, 'tokens.csv'), 'w') as f:
        f.write(TOKEN + ',admin,1,system:masters\n')
    client, peer, port = free_port(), free_port(), free_port()
    log = open(os.path.join(folder, 'log'), 'w')
    processes = [subprocess.Popen([
        os.path.join(binaries, 'etcd'), '--data-dir', folder + '/etcd', '--listen-client-urls', 'http://127.0.0.1:%d' % client,
        '--advertise-client-urls', 'http://127.0.0.1:%d' % client, '--listen-peer-urls', 'http://127.0.0.1:%d' % peer,
        '--initial-advertise-peer-urls', 'http://127.0.0.1:%d' % peer, '--initial-cluster', 'default=http://127.0.0.1:%d' % peer],
        stdout=log, stderr=log)]
    issuer = 'https://kubernetes.default.svc.cluster.local'
    processes.append(subprocess.Popen([
        os.path.join(binaries, 'kube-apiserver'), '--etcd-servers', 'http://127.0.0.1:%d' % client, '--secure-port', str(port),
        '--bind-address', '127.0.0.1', '--cert-dir', folder + '/certs', '--client-ca-file', folder + '/ca.crt',
        '--token-auth-file', folder + '/tokens.csv', '--authorization-mode', 'Node,RBAC',
        '--enable-admission-plugins', 'NodeRestriction', '--allow-privileged', '--service-account-issuer', issuer,
        '--service-account-signing-key-file', folder + '/sa.key', '--service-account-key-file', folder + '/sa.key',
        '--service-cluster-ip-range', '10.0.0.0/24'], stdout=log, stderr=log))
    url = 'https://127.0.0.1:%d' % port
    context = ssl._create_unverified_context()
    for _ in range(240):
        if any(process.poll() is not None for process in processes):
            break
        try:
            request = urllib.request.Request(url + '/readyz', headers={'Authorization': 'Bearer ' + TOKEN})
            with urllib.request.urlopen(request, context=context, timeout=5):
                return processes, url
        except OSError:
            time.sleep(0.5)
    with open(log.name) as f:
        sys.exit('kube-apiserver did not start:\n' + f.read()[-3000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--bin', required=True, help='folder with etcd and kube-apiserver')
    parser.add_argument('words', nargs='*')
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix='attack-')
    processes = []
    try:
        processes, url = start(folder, options.bin)
        kubeconfig = os.path.join(folder, 'kubeconfig')
        with open(kubeconfig, 'w') as f:
            json.dump({'current-context': 'a', 'contexts': [{'name': 'a', 'context': {'cluster': 'a', 'user': 'a'}}],
                       'clusters': [{'name': 'a', 'cluster': {'server': url, 'insecure-skip-tls-verify': True}}],
                       'users': [{'name': 'a', 'user': {'token': TOKEN}}]}, f)
        settings = types.SimpleNamespace(client_ca=folder + '/ca.crt', client_ca_key=folder + '/ca.key')
        return 1 if attack.run(Cluster(kubeconfig), settings, options.words) else 0
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder)


if __name__ == '__main__':
    sys.exit(main())
