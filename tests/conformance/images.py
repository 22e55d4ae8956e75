"""The images that tests of the conformance suite run, made from the Go module proxy and Debian's packages: no registry is asked."""
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REGISTRY = 'registry.k8s.io/e2e-test-images/'
PATH = 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n'


class GoProgram:
    """A static program at a path of the image; `module` with its version is where the package comes from, or empty for the suite's own."""

    def __init__(self, path, package, module=''):
        self.path, self.package, self.module = path, package, module


def copied(*files):
    """Copies files of the suite's images into an image's root."""
    def copy(root):
        for source in files:
            shutil.copyfile(os.path.join(suite_folder(), 'test/images', source), os.path.join(root, os.path.basename(source)))
    return copy


class Image:
    """`names` are as test/utils/image/manifest.go of the suite's version has them. `tools` are programs of this machine that tests call in
    it, beside busybox (None: not that either); `package` is Debian's program that it runs; `more` makes further files, given the image's
    root; `lines` end the Dockerfile; `classes` are those of the tests that ask for it; `base` is the image below."""

    def __init__(self, names, program=None, tools=None, package=None, more=None, lines='', classes='BCDEFP', base='scratch'):
        self.names, self.program, self.tools, self.package, self.more, self.lines = names, program, tools, package, more, lines
        self.classes, self.base = classes, base


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def agnhost_files(root):
    os.symlink('agnhost', os.path.join(root, 'agnhost-2'))
    os.makedirs(os.path.join(root, 'uploads'))
    for name in 'localhost.crt', 'localhost.key':
        shutil.copy(os.path.join(suite_folder(), 'test/images/agnhost/porter', name), root)


def kitten_files(root):
    copied('kitten/html/kitten.jpg', 'kitten/html/data.json')(root)
    write(root, 'etc/os-release', 'NAME="Alpine Linux"\n')  # what the test of image volumes looks for


def set_user_on_execution(root):
    os.chmod(os.path.join(root, 'usr/local/bin/nnp'), 0o6755)


def prefer_bash(root):
    """As the first `sh` of the path: Debian's busybox does not pass on variables with names that are none for a shell, as 1.37 does."""
    os.makedirs(os.path.join(root, 'usr/local/bin'))
    os.symlink(shutil.which('bash'), os.path.join(root, 'usr/local/bin/sh'))


def nginx_files(root):
    """Debian's configuration logs into files; a container's output is its log."""
    for name in 'access', 'error':
        os.symlink('/dev/' + ('stdout' if name == 'access' else 'stderr'), os.path.join(root, 'var/log/nginx', name + '.log'))
    write(root, 'usr/share/nginx/html/index.html', '<!DOCTYPE html>\n<title>Welcome to nginx!</title>\n<h1>Welcome to nginx!</h1>\n')
    write(root, 'etc/nginx/conf.d/default.conf', 'server {\n  listen 80;\n  root /usr/share/nginx/html;\n}\n')


# The suite's tests call these, and what busybox has. Its shell would prefer its own programs, so there is another one.
TOOLS = ('dash', 'dig', 'curl', 'nc', 'ip', 'ss', 'getent', 'ipcs')
TOOL_PACKAGES = ('bind9-dnsutils', 'busybox-static', 'curl', 'iproute2', 'netcat-openbsd')
AGNHOST = GoProgram('/agnhost', 'k8s.io/kubernetes/test/images/agnhost')
IMAGES = (
    Image((REGISTRY + 'agnhost:2.66.1', REGISTRY + 'agnhost:2.55'), AGNHOST, TOOLS, more=agnhost_files,
          lines=PATH + 'ENTRYPOINT ["/agnhost"]\nCMD ["pause"]\n'),
    Image(('registry.k8s.io/pause:3.10.2',), AGNHOST, lines='ENTRYPOINT ["/agnhost", "pause"]\n'),
    Image((REGISTRY + 'glibc-dns-testing:2.1.1',), tools=TOOLS, lines=PATH + 'CMD ["sh"]\n'),
    Image((REGISTRY + 'busybox:1.37.0-2',), tools=('bash',), more=prefer_bash, lines=PATH + 'CMD ["sh"]\n'),
    Image((REGISTRY + 'nginx:1.27.0-2', REGISTRY + 'nginx:1.28.0-2'), tools=(), package='nginx', more=nginx_files,
          lines=PATH + 'EXPOSE 80\nCMD ["nginx", "-g", "daemon off;"]\n'),
    Image((REGISTRY + 'nautilus:1.8',), more=copied('nautilus/html/nautilus.jpg', 'nautilus/html/data.json'), lines='CMD ["test-webserver"]\n',
          classes='C', base=REGISTRY + 'agnhost:2.66.1'),
    Image((REGISTRY + 'kitten:1.8',), more=kitten_files, lines='CMD ["test-webserver"]\n', classes='CE', base=REGISTRY + 'agnhost:2.66.1'),
    Image((REGISTRY + 'nonewprivs:1.4',), GoProgram('/usr/local/bin/nnp', 'k8s.io/kubernetes/test/images/nonewprivs'),
          more=set_user_on_execution, lines='CMD ["nnp"]\n', classes='C', base=REGISTRY + 'busybox:1.37.0-2'),
    # Newer than the name says: of the version that is spoken.
    Image((REGISTRY + 'sample-apiserver:1.29.2',),
          GoProgram('/sample-apiserver', 'k8s.io/sample-apiserver', 'k8s.io/sample-apiserver@v0.37.1'), lines='ENTRYPOINT ["/sample-apiserver"]\n',
          classes='F'),
    Image(('registry.k8s.io/etcd:3.7.0-0',), GoProgram('/usr/local/bin/etcd', 'go.etcd.io/etcd/server/v3', 'go.etcd.io/etcd/server/v3@v3.6.5'),
          lines='ENTRYPOINT ["/usr/local/bin/etcd"]\n', classes='F'),
)


def suite_folder():
    """The sources of k8s.io/kubernetes in the module cache."""
    with open(os.path.join(HERE, 'go.mod')) as f:
        version = re.search(r'^\s*(?:require )?k8s\.io/kubernetes (v\S+)', f.read(), re.M).group(1)
    cache = subprocess.run(['go', 'env', 'GOMODCACHE'], capture_output=True, text=True, check=True).stdout.strip()
    return os.path.join(cache, 'k8s.io/kubernetes@' + version)


def build_program(program, path):
    print('building %s; the first time takes a few minutes' % program.package, flush=True)
    environment = {**os.environ, 'CGO_ENABLED': '0', 'GOFLAGS': '-mod=mod'}
    with tempfile.TemporaryDirectory() as module:
        if program.module:
            subprocess.run(['go', 'mod', 'init', 'flyball.dev/image'], cwd=module, env=environment, check=True, capture_output=True)
            subprocess.run(['go', 'get', program.module], cwd=module, env=environment, check=True, capture_output=True)
        else:
            for name in ('go.mod', 'go.sum', 'suite.go'):
                shutil.copy(os.path.join(HERE, name), module)
        subprocess.run(['go', 'build', '-p', '2', '-ldflags', '-s -w', '-o', path + '.tmp', program.package], cwd=module, env=environment, check=True)
    os.rename(path + '.tmp', path)


def program_of(program, cache):
    folder = os.path.join(cache, 'images')
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, os.path.basename(program.path))
    if not os.path.exists(path):
        build_program(program, path)
    return path


def copy_libraries(root, program):
    """What a program is linked with, from this machine, to the places where it has them."""
    for path in re.findall(r'(/\S+) \(0x', subprocess.run(['ldd', program], capture_output=True, text=True, check=True).stdout):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        shutil.copy(path, root + path)


def add_tools(root, tools):
    for name in tools:
        program = shutil.which(name)
        if not program:
            raise SystemExit('the images are made with %s, which is not installed (packages: %s)' % (name, ' '.join(TOOL_PACKAGES)))
        os.makedirs(os.path.dirname(root + program), exist_ok=True)
        shutil.copy(program, root + program)
        copy_libraries(root, program)


def unpack(package, cache, root):
    """A package of Debian that is not installed, as it would start a service here; downloaded once."""
    folder = os.path.join(cache, 'debs', package)
    if not os.path.isdir(folder):
        os.makedirs(folder + '.tmp', exist_ok=True)
        subprocess.run(['apt-get', 'download', package, package + '-common'], cwd=folder + '.tmp', check=True, capture_output=True)
        os.rename(folder + '.tmp', folder)
    for file in os.listdir(folder):
        subprocess.run(['dpkg', '-x', os.path.join(folder, file), root], check=True)
    copy_libraries(root, os.path.join(root, 'usr/sbin', package))


def make_base(root, tools, package, cache):
    """What a small distribution has: a merged /usr, busybox, users, and these programs."""
    for folder in 'bin', 'sbin', 'lib', 'lib64':
        os.makedirs(os.path.join(root, 'usr', folder))
        os.symlink('usr/' + folder, os.path.join(root, folder))
    for folder in 'etc', 'tmp', 'run', 'var', 'home', 'root':
        os.makedirs(os.path.join(root, folder))
    os.symlink('../run', os.path.join(root, 'var/run'))
    os.chmod(os.path.join(root, 'tmp'), 0o1777)
    add_tools(root, tools)
    if package:
        unpack(package, cache, root)
    busybox = shutil.which('busybox')
    if not busybox or subprocess.run(['ldd', busybox], capture_output=True).returncode == 0:
        raise SystemExit('the images are made with busybox-static, which is not installed')
    shutil.copy(busybox, os.path.join(root, 'bin/busybox'))
    if 'dash' in tools:
        os.symlink('dash', os.path.join(root, 'bin/sh'))
    for applet in subprocess.run([busybox, '--list'], capture_output=True, text=True, check=True).stdout.split():
        if not any(os.path.lexists(os.path.join(root, 'usr', folder, applet)) for folder in ('bin', 'sbin')):
            os.symlink('busybox', os.path.join(root, 'bin', applet))
    write(root, 'etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33::/:/bin/false\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\n'
          'nobody:x:65534:65534::/:/bin/false\n')
    write(root, 'etc/group', 'root:x:0:\nwww-data:x:33:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n'
          'nogroup:x:65534:\n')
    write(root, 'etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')


def build(flyball, data_dir, cache, image):
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, 'root')
        os.makedirs(root)
        if image.tools is not None:
            make_base(root, image.tools, image.package, cache)
        if image.program:
            path = root + image.program.path
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(program_of(image.program, cache), path)
        if image.more:
            image.more(root)
        write(folder, 'Dockerfile', 'FROM %s\nCOPY root /\n%s' % (image.base, image.lines))
        for name in image.names:
            subprocess.run([flyball, 'image', 'build', '-t', name, folder, '--data-dir', data_dir], check=True, stdout=subprocess.DEVNULL)


def load(flyball, data_dir, cache, classes):
    """Gives the images that tests of these classes ask for to the nodes that keep their state there."""
    for image in IMAGES:
        if set(image.classes) & set(classes):
            build(flyball, data_dir, cache, image)
