"""Drives `flyball apiserver` with npm's @kubernetes/client-node (tests/js_client/): objects of all kinds, patches, errors, watches,
and an informer that must go on after the server was killed and started again on the same folder and port.

    js_client_test.py build/flyball
"""
import json
import os
import shutil
import subprocess
import sys

from client_run import drive
from program import skip

HERE = os.path.dirname(os.path.abspath(__file__))
INSTALL_SECONDS = 300


def installed(folder, wanted):
    try:
        with open(os.path.join(folder, 'node_modules', '@kubernetes', 'client-node', 'package.json')) as f:
            return json.load(f)['version'] == wanted
    except (OSError, ValueError):
        return False


def install(folder):
    """The client from npm, into the build folder; kept for the next run."""
    if not shutil.which('node') or not shutil.which('npm'):
        skip('there is no node or no npm')
    os.makedirs(folder, exist_ok=True)
    for name in ('package.json', 'client_test.mjs'):
        shutil.copy(os.path.join(HERE, 'js_client', name), folder)
    with open(os.path.join(folder, 'package.json')) as f:
        wanted = json.load(f)['dependencies']['@kubernetes/client-node']
    if installed(folder, wanted):
        return
    try:
        done = subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'], cwd=folder,
                              capture_output=True, text=True, timeout=INSTALL_SECONDS)
        if done.returncode != 0:
            skip('npm cannot install @kubernetes/client-node: ' + done.stderr.strip()[:500])
    except subprocess.TimeoutExpired:
        skip('npm did not install @kubernetes/client-node within %d s' % INSTALL_SECONDS)


def main():
    binary = os.path.abspath(sys.argv[1])
    work = os.path.join(os.path.dirname(binary), 'js_client')
    install(work)
    drive(binary, ['node', 'client_test.mjs'], work)


main()
