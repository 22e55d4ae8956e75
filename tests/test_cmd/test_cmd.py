#!/usr/bin/env python3
"""Runs Kubernetes' own test/cmd suite, unmodified, with Flyball as the server, and as the client if asked.

    test_cmd.py FLYBALL [--client flyball|kubectl|PATH] [--seconds N] [--keep DIR] [CASE...]

The suite is a set of shell functions that run kubectl and look at what it prints. Its sources, and kubectl, come from the Go
module proxy; both are kept in the cache folder. Each case runs in a shell of its own against one server and one controller
manager, and is ended after --seconds. EXPECTED names the cases that do not pass, and why. The command fails if another one
does. A CASE is the name of a function without run_ and _tests: deployment, kubectl_apply.
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFORMANCE = os.path.join(os.path.dirname(HERE), 'conformance')
sys.path.insert(0, os.path.dirname(HERE))

from program import wait_until  # noqa: E402

VERSION = 'v1.37.1'
# Cases that do not pass, and why.
EXPECTED = {
    'multi_resources': 'fetches a manifest from the Internet',
    'convert': 'needs the plugin kubectl-convert, which is another program',
}
# The same with our own client.
EXPECTED_OF_OURS = {
    **EXPECTED,
    'kubectl_help': 'has words of help of its own, in English',
}
COLOUR = re.compile(r'\x1b\[[0-9;]*m|\x1b\(B')


def run_go(*arguments, **options):
    if not shutil.which('go'):
        sys.exit('the suite is fetched and kubectl is built with Go, which is not here')
    return subprocess.run(['go', *arguments], cwd=CONFORMANCE, check=True, text=True,
                          env={**os.environ, 'CGO_ENABLED': '0', 'GOFLAGS': '-mod=mod'}, **options)


def sources():
    answer = run_go('mod', 'download', '-json', 'k8s.io/kubernetes@' + VERSION, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)['Dir']


def built_kubectl():
    """The real kubectl, built once per version."""
    folder = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'flyball', 'test-cmd-' + VERSION)
    program = os.path.join(folder, 'kubectl')
    if not os.path.exists(program):
        print('building kubectl %s; this takes a few minutes the first time' % VERSION, flush=True)
        os.makedirs(folder, exist_ok=True)
        version = '-X k8s.io/component-base/version.gitVersion=' + VERSION
        run_go('build', '-p', '2', '-ldflags', version, '-o', program + '.tmp', 'k8s.io/kubernetes/cmd/kubectl')
        os.rename(program + '.tmp', program)
    return program


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Suite:
    """A writable copy of the parts of the sources that the suite uses, and the programs it runs."""

    def __init__(self, source, folder, flyball, client):
        self.root, self.bin, self.home = (os.path.join(folder, name) for name in ('kubernetes', 'bin', 'home'))
        self.folder, self.flyball = folder, flyball
        for name in ('hack', 'test/cmd', 'test/fixtures', 'third_party/forked/shell2junit',
                     'api/openapi-spec', 'test/e2e/testing-manifests'):
            shutil.copytree(os.path.join(source, name), os.path.join(self.root, name), symlinks=True)
        subprocess.run(['chmod', '-R', 'u+w', self.root], check=True)
        # Go's module archives keep no modes.
        subprocess.run(['find', self.root, '(', '-name', '*.sh', '-o', '-name', 'kubectl-*', ')', '-exec', 'chmod', '+x', '{}', '+'], check=True)
        os.makedirs(os.path.join(self.root, '_output'))
        os.symlink(self.bin, os.path.join(self.root, '_output', 'bin'))
        subprocess.run([flyball, 'envtest', self.bin], check=True, stdout=subprocess.DEVNULL)
        if client != 'flyball':
            os.remove(os.path.join(self.bin, 'kubectl'))
            os.symlink(os.path.abspath(client), os.path.join(self.bin, 'kubectl'))
        os.makedirs(os.path.join(self.home, '.kube'))

    def cases(self):
        """In the suite's order."""
        with open(os.path.join(self.root, 'test', 'cmd', 'legacy-script.sh')) as f:
            text = f.read()
        found = re.findall(r'^ *record_command run_(\w+)_tests?$', text, re.M)
        return list(dict.fromkeys(found))

    def run(self, case, port, seconds):
        """Whether it passed, and what it printed."""
        environment = {**os.environ, 'THIS_PLATFORM_BIN': self.bin, 'SECURE_API_PORT': str(port), 'HOME': self.home, 'TMPDIR': self.home,
                       'WHAT': case, 'KUBE_JUNIT_REPORT_DIR': os.path.join(self.folder, 'junit'), 'TERM': 'xterm',
                       'PATH': self.bin + ':' + os.environ['PATH']}
        environment.pop('KUBECONFIG', None)
        log = os.path.join(self.folder, case + '.log')
        with open(log, 'w+') as out:
            process = subprocess.Popen(['bash', os.path.join(HERE, 'suite.sh')], cwd=self.root, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = 'did not end within %d s' % seconds
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # what it left behind: proxies, watches
                except ProcessLookupError:
                    pass
                process.wait()
            if status != 0:
                out.write('\n%s\n' % status)
        with open(log, errors='replace') as f:
            return status == 0, COLOUR.sub('', f.read())


class Server:
    """What the suite starts: an API server that allows everything, a controller manager, and a node without a kubelet."""

    def __init__(self, suite):
        self.port, self.processes, etcd = free_port(), [], free_port()
        folder, data = suite.folder, os.path.join(suite.folder, 'data')
        key = os.path.join(folder, 'sa.key')
        subprocess.run(['openssl', 'genrsa', '-out', key, '2048'], check=True, stderr=subprocess.DEVNULL)
        url = 'http://127.0.0.1:%d' % etcd
        self.start(suite, [os.path.join(suite.bin, 'etcd'), '--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url,
                           '--listen-peer-urls', 'http://127.0.0.1:0'], 'etcd')
        wait_until('etcd', lambda: subprocess.run(['curl', '-fs', url + '/health'], stdout=subprocess.DEVNULL).returncode == 0)
        self.start(suite, [
            os.path.join(suite.bin, 'kube-apiserver'), '--bind-address=127.0.0.1', '--authorization-mode=RBAC,AlwaysAllow',
            '--secure-port=%d' % self.port, '--enable-admission-plugins=LimitRanger,ResourceQuota',
            '--disable-admission-plugins=ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,'
            'ValidatingAdmissionWebhook,StorageObjectInUseProtection',
            '--etcd-servers=' + url, '--runtime-config=api/v1', '--service-account-key-file=' + key, '--service-account-lookup=true',
            '--service-account-issuer=https://kubernetes.default.svc', '--service-account-signing-key-file=' + key,
            '--cert-dir=' + suite.home, '--service-cluster-ip-range=10.0.0.0/24', '--client-ca-file=hack/testdata/ca/ca.crt',
            '--token-auth-file=hack/testdata/auth-tokens.csv'], 'apiserver')
        kubeconfig = os.path.join(folder, 'controllers.kubeconfig')
        with open(kubeconfig, 'w') as f:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'users': [{'name': 'u', 'user': {'token': 'admin-token'}}],
                       'clusters': [{'name': 'c', 'cluster': {'server': 'https://127.0.0.1:%d' % self.port, 'insecure-skip-tls-verify': True}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)
        self.kubectl = [os.path.join(suite.bin, 'kubectl'), '--kubeconfig', kubeconfig]
        wait_until('the API server', lambda: self.ask('get', '--raw', '/readyz').returncode == 0)
        self.start(suite, [suite.flyball, 'controllers', '--kubeconfig', kubeconfig, '--cluster-signing-cert-file=hack/testdata/ca/ca.crt',
                           '--cluster-signing-key-file=hack/testdata/ca/ca.key'], 'controllers')
        node = {'kind': 'Node', 'apiVersion': 'v1', 'metadata': {'name': '127.0.0.1', 'annotations': {'save-managers': 'true'}},
                'status': {'capacity': {'memory': '1Gi'}}}
        made = self.ask('create', '-f', '-', input=json.dumps(node))
        assert made.returncode == 0, made.stderr

    def start(self, suite, command, name):
        with open(os.path.join(suite.folder, name + '.log'), 'w') as log:
            self.processes.append(subprocess.Popen(command, cwd=suite.root, stdout=log, stderr=subprocess.STDOUT))

    def ask(self, *arguments, **options):
        return subprocess.run([*self.kubectl, *arguments], capture_output=True, text=True, **options)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def reason(text):
    """The lines of a failed case that say why."""
    lines = [line for line in text.splitlines() if line.strip()]
    traces = [i for i, line in enumerate(lines) if '!!!' in line and 'Call tree' in line]
    at = traces[-1] if len(traces) > 1 else len(lines)  # the first is the suite's own: a case that has to fail
    return '\n'.join('    ' + line[:200] for line in lines[max(0, at - 12):at])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('flyball')
    parser.add_argument('--client', default='kubectl')
    parser.add_argument('--seconds', type=int, default=240)
    parser.add_argument('--keep', help='keep the logs of all cases in this folder')
    parser.add_argument('cases', nargs='*')
    options = parser.parse_intermixed_args()
    client = built_kubectl() if options.client == 'kubectl' else options.client
    folder = options.keep or tempfile.mkdtemp(prefix='flyball-test-cmd-')
    shutil.rmtree(folder, ignore_errors=True)
    expected = EXPECTED_OF_OURS if client == 'flyball' else EXPECTED
    suite = Suite(sources(), folder, os.path.abspath(options.flyball), client)
    server, failed, passed, assertions = Server(suite), [], 0, 0
    try:
        for case in options.cases or suite.cases():
            fine, text = suite.run(case, server.port, options.seconds)
            seen = len(re.findall(r'^(?:\S+: )?Successful', text, re.M))
            passed, assertions = passed + fine, assertions + seen
            print('%-4s %-50s %4d assertions' % ('ok' if fine else 'FAIL', case, seen), flush=True)
            if not fine:
                print('    ' + expected[case] if case in expected else reason(text), flush=True)
                failed.append(case)
    finally:
        server.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print('%d assertions held; %d cases passed, %d failed: %s' % (assertions, passed, len(failed), ' '.join(failed)))
    return 1 if set(failed) - set(expected) else 0


if __name__ == '__main__':
    sys.exit(main())
