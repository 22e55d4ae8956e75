"""What `./dev package` made, installed and used: the tarball and the Debian package in fresh systems made by debootstrap, the
wheel in an environment of its own.

    packages_test.py dist [system...]        bionic focal bullseye bookworm; bionic and bookworm if none is named

Needs root, debootstrap and the network. The systems are kept in FLYBALL_CHROOTS (/var/tmp/flyball-chroots) for the next time.
`bionic` has the oldest C library (2.27). Its packages are not checked by signature if Debian lacks Ubuntu's keys.
"""
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import wheel_test

# Releases, from the mirrors that debootstrap knows.
SYSTEMS = {'bionic': 'ubuntu', 'focal': 'ubuntu', 'bullseye': 'debian', 'bookworm': 'debian'}
CHROOTS = os.environ.get('FLYBALL_CHROOTS', '/var/tmp/flyball-chroots')

# A user's first minutes. The program is on the PATH, and nothing else is.
SESSION = r'''
set -eu
export HOME=/root/newcomer; mkdir -p $HOME
flyball version --client
flyball up dev -d --runtime sim
trap 'flyball stop dev >/dev/null 2>&1 || true' EXIT
flyball get nodes
flyball create deployment web --image=nginx --replicas=3
flyball rollout status deployment/web --timeout=60s
test "$(flyball get pods -o name | wc -l)" = 3
flyball status dev | grep -q 'ready        yes'
# A name that cannot be resolved is an error, in words: what differs between C libraries.
! flyball get pods --server https://no.such.host.invalid 2>/tmp/said; grep -q 'no.such.host.invalid' /tmp/said
flyball delete deployment web
flyball cluster delete dev
'''


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError('%s: %s' % (' '.join(command)[:200], done.stdout[-4000:]))
    return done.stdout


def system(name):
    """A fresh copy of a system, made once."""
    kept = os.path.join(CHROOTS, name)
    if not os.path.exists(kept + '/complete'):
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(CHROOTS, exist_ok=True)
        keys = '/usr/share/keyrings/%s-archive-keyring.gpg' % SYSTEMS[name]
        check = ['--keyring=' + keys] if os.path.exists(keys) else ['--no-check-gpg']
        run('debootstrap', '--variant=minbase', *check, name, kept)
        open(kept + '/complete', 'w').close()
    return kept


@contextlib.contextmanager
def fresh(name):
    """The path of a copy of the system with /proc and /dev."""
    folder = tempfile.mkdtemp(prefix='flyball-%s-' % name, dir=CHROOTS)
    run('cp', '-a', '--reflink=auto', system(name) + '/.', folder)
    mounts = []
    try:
        for kind, place in (('proc', 'proc'), ('devtmpfs', 'dev'), ('tmpfs', 'tmp')):
            run('mount', '-t', kind, kind, os.path.join(folder, place))
            mounts.append(os.path.join(folder, place))
        shutil.copy('/etc/resolv.conf', folder + '/etc/resolv.conf')
        yield folder
    finally:
        for place in reversed(mounts):
            run('umount', '-l', place)
        shutil.rmtree(folder, ignore_errors=True)


def inside(folder, script):
    values = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'LC_ALL': 'C'}
    return run('chroot', folder, '/bin/sh', '-c', script, env=values, timeout=300)


def libc_of(folder):
    return inside(folder, 'ldd --version').split('\n')[0].split()[-1]


def tarball_runs(tarball, name):
    with fresh(name) as folder:
        run('tar', '-xzf', tarball, '-C', folder + '/usr/local', '--strip-components=1', '--no-same-owner')
        said = inside(folder, SESSION)
        print('ok   tarball on %s, glibc %s: %s' % (name, libc_of(folder), said.split('\n')[0]), flush=True)


def deb_installs(deb, name):
    with fresh(name) as folder:
        shutil.copy(deb, folder + '/root/flyball.deb')
        inside(folder, 'dpkg -i /root/flyball.deb')
        inside(folder, SESSION)
        inside(folder, 'zcat /usr/share/man/man1/flyball-up.1.gz | grep -q runtime && test -s /usr/share/zsh/vendor-completions/_flyball')
        inside(folder, 'dpkg -V flyball && . /etc/default/flyball')
        inside(folder, "bash -c 'source /usr/share/bash-completion/completions/flyball && complete -p flyball'")
        inside(folder, 'dpkg -r flyball && ! command -v flyball')
        print('ok   deb on %s, glibc %s: installed, used, removed' % (name, libc_of(folder)), flush=True)


def units_are_good(deb):
    """What systemd itself says of the units, where it is."""
    if not shutil.which('systemd-analyze'):
        return print('--   systemd-analyze is not here: units not checked')
    with tempfile.TemporaryDirectory() as folder:
        run('dpkg-deb', '-x', deb, folder)
        units = glob.glob(folder + '/lib/systemd/system/*')
        for path in units:  # the program is not installed here
            with open(path) as f:
                text = f.read()
            with open(path, 'w') as f:
                f.write(text.replace('/usr/bin/flyball', '/bin/true'))
        said = run('systemd-analyze', 'verify', '--man=no', *units)
        print('ok   units: ' + (said.strip() or 'nothing to say'))


def main():
    folder = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or ['bionic', 'bookworm']
    tarball, deb, wheel = (glob.glob(os.path.join(folder, pattern))[0] for pattern in ('*.tar.gz', '*.deb', '*.whl'))
    for name in names:
        tarball_runs(tarball, name)
    deb_installs(deb, 'bookworm')
    units_are_good(deb)
    with tempfile.TemporaryDirectory(prefix='flyball-test-') as work:
        wheel_test.try_wheel(wheel, work, '--no-index', '--no-deps')


main()
