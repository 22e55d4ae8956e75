"""Drives `flyball apiserver` with kube-rs (tests/clients/rust/): client, watcher, reflector, controller.

    rust_client_test.py build/flyball
"""
import os
import shutil
import sys

from client_run import build, drive, sources
from program import skip

BUILD_SECONDS = 540


def main():
    if not shutil.which('cargo'):
        skip('there is no cargo')
    binary = os.path.abspath(sys.argv[1])
    work = os.path.join(os.path.dirname(binary), 'rust_client')
    sources('rust', work)
    build(['cargo', 'build', '--quiet'], work, BUILD_SECONDS)
    drive(binary, [os.path.join(work, 'target', 'debug', 'client-test')], work)


main()
