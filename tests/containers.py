"""What the tests of containers share: an image made of busybox, pods of it, and a machine left clean."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile

from program import skip, wait_until

IMAGE = 'test/busybox:1'
APPLETS = 'sh cat echo sleep id ls tail ps mount touch wget grep true date hostname'.split()


def check_machine():
    """One clear line for whoever cannot run this."""
    if os.geteuid() != 0:
        skip('containers need root')
    if not shutil.which('runc'):
        skip('containers need runc')
    busybox = shutil.which('busybox')
    if not busybox:
        skip('the image is made of busybox, which is not installed (busybox-static)')
    if subprocess.run(['ldd', busybox], capture_output=True).returncode == 0:
        skip('busybox is not static (install busybox-static)')
    return busybox


def build_image(binary, data, busybox, name=IMAGE):
    folder = tempfile.mkdtemp(prefix='flyball-image-')
    os.makedirs(os.path.join(folder, 'root/bin'))
    os.makedirs(os.path.join(folder, 'root/etc'))
    shutil.copy(busybox, os.path.join(folder, 'root/bin/busybox'))
    for applet in APPLETS:
        os.symlink('busybox', os.path.join(folder, 'root/bin', applet))
    with open(os.path.join(folder, 'root/etc/passwd'), 'w') as f:
        f.write('root:x:0:0::/:/bin/sh\nweb:x:1000:2000::/:/bin/sh\n')
    with open(os.path.join(folder, 'Dockerfile'), 'w') as f:
        f.write('FROM scratch\nCOPY root /\nENV FROM_IMAGE=yes\nWORKDIR /srv\nCMD ["/bin/sh", "-c", "echo from the image"]\n')
    built = subprocess.run([binary, 'image', 'build', '-t', name, folder, '--data-dir', data], capture_output=True, text=True)
    shutil.rmtree(folder)
    assert built.returncode == 0, built.stderr
    listed = subprocess.run([binary, 'image', 'list', '--data-dir', data], capture_output=True, text=True).stdout
    assert 'docker.io/' + (name if '/' in name else 'library/' + name) in listed, listed


def pod(name, command=None, restart='Never', **container):
    spec = {'name': 'c', 'image': IMAGE, **container}
    if command:
        spec['command'] = ['sh', '-c', command]
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name},
            'spec': {'restartPolicy': restart, 'terminationGracePeriodSeconds': 1, 'containers': [spec]}}


def apply(kubectl, *objects):
    kubectl('apply', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': list(objects)}))


def container_status(kubectl, name):
    """Of the first container; with an empty state until the node has reported one."""
    status = json.loads(kubectl('get', 'pod', name, '-o', 'json'))['status']
    return status.get('containerStatuses', [{'state': {}, 'ready': False}])[0]


def ended(kubectl, name):
    return wait_until(name + ' has ended', lambda: container_status(kubectl, name)['state'].get('terminated'), 120)


def waiting(kubectl, name, reason):
    """Waits until the container waits for this reason; what its status says about it."""
    def found():
        state = container_status(kubectl, name)['state'].get('waiting', {})
        return state if state.get('reason') == reason else None
    return wait_until('%s waits because of %s' % (name, reason), found)


def clean(data):
    """Whatever a failed test has left."""
    for path in glob.glob(data + '/node/oci/pods/*/*/pid') + glob.glob(data + '/node/oci/pods/*/monitor.pid'):
        try:
            os.kill(int(open(path).read()), signal.SIGKILL)
        except (OSError, ValueError):
            pass
    for line in reversed(open('/proc/self/mounts').read().split('\n')):
        if data in line:
            subprocess.run(['umount', '-l', line.split()[1]])
