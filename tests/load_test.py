"""A mixed load of FLYBALL_LOAD_SECONDS (default 8) on `flyball apiserver` over HTTPS: writes, patches, applies, deletes, lists,
watches, definitions and documents at once, over HTTP/1.1 and HTTP/2. Nothing may fail with 5xx, every watcher must end with what
a list shows, and the server must stop in order. In a build with sanitizers neither side may have anything to report
(sanitized.py sees to it).

    load_test.py build/flyball build/tests/load/flyball_load
"""
import os
import subprocess
import sys
import tempfile

from program import Program


def main():
    binary, loader = sys.argv[1:3]
    seconds = int(os.environ.get('FLYBALL_LOAD_SECONDS', '8'))
    seed = os.environ.get('FLYBALL_LOAD_SEED', '1')
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    program = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', '--disable-admission-plugins', 'ServiceAccount',
                      data_dir=folder)
    try:
        run = subprocess.run([loader, program.kubeconfig, str(seconds), seed], capture_output=True, text=True, timeout=seconds * 5 + 400)
        print(run.stdout + run.stderr[-6000:])
        alive = program.process.poll() is None
        program.stop()
        print('the server ended with status %s' % program.process.returncode)
        assert alive, 'the server died:\n' + program.output()[-6000:]
        assert run.returncode == 0, 'the load ended with status %d' % run.returncode
        assert program.process.returncode == 0, program.output()[-3000:]
    finally:
        program.kill()
        program.remove()


main()
