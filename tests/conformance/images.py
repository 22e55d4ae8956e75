"""The images that tests of the conformance suite run, made from the Go module proxy: no registry is asked."""
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Image:
    """One static program at a path. `names` are as test/utils/image/manifest.go of the suite's version has them; `module` with
    its version is where the package comes from, or empty for the suite's own."""

    def __init__(self, path, package, module, names, arguments=''):
        self.path, self.package, self.module, self.names, self.arguments = path, package, module, names, arguments


IMAGES = (
    # Without arguments it does what pause does.
    Image('/agnhost', 'k8s.io/kubernetes/test/images/agnhost', '',
          ('registry.k8s.io/e2e-test-images/agnhost:2.66.1', 'registry.k8s.io/pause:3.10.2'), 'CMD ["pause"]\n'),
    # Newer than the name says: of the version that is spoken.
    Image('/sample-apiserver', 'k8s.io/sample-apiserver', 'k8s.io/sample-apiserver@v0.37.1',
          ('registry.k8s.io/e2e-test-images/sample-apiserver:1.29.2',)),
    Image('/usr/local/bin/etcd', 'go.etcd.io/etcd/server/v3', 'go.etcd.io/etcd/server/v3@v3.6.5', ('registry.k8s.io/etcd:3.7.0-0',)),
)


def build(image, program):
    print('building %s; the first time takes a few minutes' % image.package, flush=True)
    environment = {**os.environ, 'CGO_ENABLED': '0', 'GOFLAGS': '-mod=mod'}
    with tempfile.TemporaryDirectory() as module:
        if image.module:
            subprocess.run(['go', 'mod', 'init', 'flyball.dev/image'], cwd=module, env=environment, check=True, capture_output=True)
            subprocess.run(['go', 'get', image.module], cwd=module, env=environment, check=True, capture_output=True)
        else:
            for name in ('go.mod', 'go.sum', 'suite.go'):
                shutil.copy(os.path.join(HERE, name), module)
        subprocess.run(['go', 'build', '-p', '2', '-ldflags', '-s -w', '-o', program + '.tmp', image.package], cwd=module, env=environment, check=True)
    os.rename(program + '.tmp', program)


def program_of(image, cache):
    folder = os.path.join(cache, 'images')
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, os.path.basename(image.path))
    if not os.path.exists(program):
        build(image, program)
    return program


def load(flyball, data_dir, cache, host, port):
    """Gives the images to the node that keeps its state there. Cluster IPs are not routed to pods on the machine's network: the
    images name the API server's own address where a client in a pod looks for it."""
    for image in IMAGES:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(program_of(image, cache), os.path.join(folder, 'program'))
            with open(os.path.join(folder, 'Dockerfile'), 'w') as f:
                f.write('FROM scratch\nCOPY program %s\nENV KUBERNETES_SERVICE_HOST=%s\nENV KUBERNETES_SERVICE_PORT=%d\nENTRYPOINT ["%s"]\n%s' %
                        (image.path, host, port, image.path, image.arguments))
            for name in image.names:
                subprocess.run([flyball, 'image', 'build', '-t', name, folder, '--data-dir', data_dir], check=True, stdout=subprocess.DEVNULL)
