#!/usr/bin/env python3
"""Starts kube-apiserver on an etcd of its own and `flyball apiserver`, alike, and runs a command on them.

    servers.py build/flyball BINARIES [--folder DIR] [--reference URL] -- COMMAND...

BINARIES is a folder with kube-apiserver and etcd. In COMMAND, {reference} and {subject} stand for the URLs; the token is `test-token`.
Without a command it prints the URLs and waits to be interrupted. With --reference, kube-apiserver runs already.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from etcd_test import free_port  # noqa: E402
from program import Program, wait_until  # noqa: E402

ISSUER = 'https://kubernetes.default.svc.cluster.local'
COMMON = ['--service-cluster-ip-range', '10.96.0.0/16', '--service-account-issuer', ISSUER, '--external-hostname', '192.0.2.2:26443']


class Reference:
    """kube-apiserver with etcd below it."""

    def __init__(self, binaries, folder, tokens):
        port, peer, self.port = free_port(), free_port(), free_port()
        key = os.path.join(folder, 'sa.key')
        subprocess.run(['openssl', 'genrsa', '-out', key, '2048'], check=True, capture_output=True)
        self.log = open(os.path.join(folder, 'reference.log'), 'w')
        client, peers = 'http://127.0.0.1:%d' % port, 'http://127.0.0.1:%d' % peer
        self.processes = [self.start(os.path.join(binaries, 'etcd'), '--data-dir', os.path.join(folder, 'etcd'), '--listen-client-urls', client,
                                     '--advertise-client-urls', client, '--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers,
                                     '--initial-cluster', 'default=' + peers, '--unsafe-no-fsync')]
        self.processes.append(self.start(os.path.join(binaries, 'kube-apiserver'), '--etcd-servers', client, '--secure-port', str(self.port), '--bind-address',
                                         '127.0.0.1', '--cert-dir', folder, '--authorization-mode', 'Node,RBAC', '--token-auth-file', tokens, '--allow-privileged',
                                         '--service-account-key-file', key, '--service-account-signing-key-file', key, *COMMON))
        self.url = 'https://127.0.0.1:%d' % self.port

    def start(self, *command):
        return subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()


def ready(url):
    return subprocess.run(['curl', '-sk', '-H', 'Authorization: Bearer test-token', url + '/readyz'], capture_output=True, text=True).stdout == 'ok'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('flyball')
    parser.add_argument('binaries')
    parser.add_argument('--folder')
    parser.add_argument('--reference')
    words = sys.argv[1:]
    split = words.index('--') if '--' in words else len(words)
    options, command = parser.parse_args(words[:split]), words[split + 1:]
    folder = options.folder or tempfile.mkdtemp(prefix='flyball-differential-')
    os.makedirs(folder, exist_ok=True)
    tokens = os.path.join(folder, 'tokens.csv')
    with open(tokens, 'w') as f:
        f.write('test-token,admin,1,"system:masters"\n')
    reference = None if options.reference else Reference(options.binaries, folder, tokens)
    url = options.reference or reference.url
    data = tempfile.mkdtemp(prefix='flyball-differential-subject-')
    subject = Program(options.flyball, 'apiserver', '--data-dir', data, '--secure-port', '0', '--token-auth-file', tokens, *COMMON, data_dir=data)
    try:
        wait_until('kube-apiserver is ready', lambda: ready(url), 180)
        if command:
            return subprocess.run([word.format(reference=url, subject=subject.url) for word in command]).returncode
        print('reference %s\nsubject %s' % (url, subject.url), flush=True)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return 0
    finally:
        subject.stop()
        subject.remove()
        if reference:
            reference.stop()


if __name__ == '__main__':
    sys.exit(main())
