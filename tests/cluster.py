"""A cluster for tests, in either form: `flyball up`, or its parts as processes of their own that talk over HTTPS."""
import os
import shutil
import tempfile

from program import Program


class Cluster:
    """Runs on a fresh folder until close(). `form` is 'up' or 'processes', `runtime` what the node runs containers with,
    `address` what the node of 'processes' says its address is."""

    def __init__(self, binary, form, runtime='native', address='127.0.0.1'):
        self.binary, self.form, self.runtime, self.address = binary, form, runtime, address
        self.folder = tempfile.mkdtemp(prefix='flyball-test-')
        self.programs = []
        self.start()

    @property
    def kubeconfig(self):
        return os.path.join(self.folder, 'kubeconfig')

    @property
    def node_folder(self):
        return os.path.join(self.folder, 'n1')

    def start(self):
        self.programs = []
        if self.form == 'up':
            return self._run('up', '--data-dir', self.folder, '--port', '0', '--runtime', self.runtime, '--host-image', 'on')
        self._run('apiserver', '--data-dir', self.folder, '--secure-port', '0')
        connection = ('--kubeconfig', self.kubeconfig)
        self._run('controllers', '--use-service-account-credentials', *connection, ready='controllers running')
        self._run('scheduler', *connection, ready='scheduler running')
        self._run('node', '--name', 'n1', '--data-dir', self.node_folder, '--address', self.address, '--runtime', self.runtime,
                  '--host-image', 'on', *connection, ready='node n1 running')

    def _run(self, part, *arguments, **options):
        folder = os.path.join(self.folder, 'output', part)
        os.makedirs(folder, exist_ok=True)
        self.programs.append(Program(self.binary, part, *arguments, data_dir=folder, **options))

    def stop(self):
        """In order; fails if a part takes too long."""
        for program in reversed(self.programs):
            program.stop()

    def kill(self):
        """All of it at once, with SIGKILL."""
        for program in self.programs:
            program.process.kill()
        for program in self.programs:
            program.process.wait()

    def output(self, whole=False):
        """What the parts said; the last of it unless the whole is asked for."""
        return '\n'.join('--- %s\n%s' % (os.path.basename(p.data_dir), p.output()[0 if whole else -4000:]) for p in self.programs)

    def close(self):
        self.kill()
        for program in self.programs:
            program.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def processes_with(marker):
    """Pids of live processes that have this text in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as f:
                if marker.encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass  # it has ended meanwhile
    return found
