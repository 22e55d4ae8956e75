"""Runs a program written with a client library against `flyball apiserver`, and restarts the server when it asks for it.

The program gets the path of a kubeconfig. It prints RESTART when the server is to be killed and started again on the same
folder and port, reads a line when that is done, and ends with status 0 if everything was as it should be.
"""
import os
import shutil
import subprocess
import tempfile
import threading

from program import Program, skip

PROGRAM_SECONDS = 120
HERE = os.path.dirname(os.path.abspath(__file__))


def start(binary, folder, port):
    return Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', port, '--disable-admission-plugins', 'ServiceAccount',
                   data_dir=folder)


def sources(name, work):
    """Copies tests/clients/NAME into the work folder, where the program is built; files that did not change stay as they were."""
    root = os.path.join(HERE, 'clients', name)
    for folder, _, files in os.walk(root):
        for file in files:
            source = os.path.join(folder, file)
            target = os.path.join(work, os.path.relpath(source, root))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(source, 'rb') as f:
                text = f.read()
            if os.path.exists(target):
                with open(target, 'rb') as f:
                    if f.read() == text:
                        continue
            shutil.copy(source, target)


def build(command, work, seconds):
    """Runs a build command. What it needs may have to be fetched first: without a network the test is skipped."""
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        skip('%s took longer than %d s' % (' '.join(command), seconds))
    if done.returncode != 0:
        text = (done.stdout + done.stderr)[-3000:]
        unreachable = ('Could not transfer', 'failed to download', 'Could not resolve', 'failed to get', 'No matching distribution',
                       'Temporary failure', 'Network is unreachable')
        if any(sign in text for sign in unreachable):
            skip('%s cannot fetch what it needs: %s' % (command[0], text.strip().splitlines()[-1][:300]))
        raise AssertionError('%s:\n%s' % (' '.join(command), text))


def drive(binary, command, work):
    """Runs the program to its end."""
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    server = start(binary, folder, '0')
    port = server.url.rsplit(':', 1)[1]
    client = subprocess.Popen([*command, server.kubeconfig], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(PROGRAM_SECONDS, client.kill)
    watchdog.start()
    try:
        for line in client.stdout:
            print(line.rstrip(), flush=True)
            if line.strip() == 'RESTART':
                server.kill()
                server = start(binary, folder, port)
                client.stdin.write('restarted\n')
                client.stdin.flush()
        status = client.wait()
        assert status == 0, 'the client ended with status %d\n%s' % (status, server.output()[-3000:])
        server.stop()
    finally:
        watchdog.cancel()
        client.kill()
        server.kill()
        server.remove()
