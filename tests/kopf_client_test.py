"""Drives `flyball apiserver` with an operator on kopf (tests/clients/kopf/), in a virtual environment of its own.

    kopf_client_test.py build/flyball
"""
import os
import shutil
import sys

from client_run import build, drive, sources
from program import skip

INSTALL_SECONDS = 300


def main():
    binary = os.path.abspath(sys.argv[1])
    work = os.path.join(os.path.dirname(binary), 'kopf_client')
    sources('kopf', work)
    python = os.path.join(work, 'venv', 'bin', 'python')
    done = os.path.join(work, 'installed.txt')
    wanted = os.path.join(work, 'requirements.txt')
    if not os.path.exists(done) or os.path.getmtime(done) < os.path.getmtime(wanted):
        try:
            import ensurepip  # noqa: F401, only whether it is there
        except ImportError:
            skip('this Python cannot make virtual environments')
        shutil.rmtree(os.path.join(work, 'venv'), ignore_errors=True)
        build([sys.executable, '-m', 'venv', 'venv'], work, INSTALL_SECONDS)
        build([python, '-m', 'pip', 'install', '--quiet', '-r', wanted], work, INSTALL_SECONDS)
        shutil.copy(wanted, done)
        os.utime(done)
    drive(binary, [python, 'operator_test.py'], work)


main()
