"""Runs a test of a build with sanitizers (every ctest entry of the presets asan and tsan):

    sanitized.py COMMAND [ARGUMENT...]

Whatever a sanitizer reports in the test or in any process it starts, leaks at exit among it, is printed and fails the test:
also if nobody reads that process's output or asks for its exit status."""
import os
import shutil
import subprocess
import sys
import tempfile

OPTIONS = {
    'ASAN_OPTIONS': 'detect_leaks=1:check_initialization_order=1:strict_init_order=1',
    'UBSAN_OPTIONS': 'print_stacktrace=1',
    'TSAN_OPTIONS': 'second_deadlock_stack=1',
}
# Of all reports together, so that a race met a thousand times leaves a log that can be read.
MOST_CHARACTERS = 60000


def environment(folder):
    """Ours, then the caller's own options, then the place of the reports, which the later of two words decides."""
    path = 'log_path=' + os.path.join(folder, 'report')
    own = {name: ':'.join(filter(None, (ours, os.environ.get(name), path))) for name, ours in OPTIONS.items()}
    return {**os.environ, **own, 'FLYBALL_SANITIZED': '1'}


def reports(folder):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), errors='replace') as f:
            yield f.read()


def main():
    folder = tempfile.mkdtemp(prefix='flyball-sanitizer-')
    try:
        status = subprocess.run(sys.argv[1:], env=environment(folder)).returncode
        found = list(reports(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if found:
        print('\n'.join(found)[:MOST_CHARACTERS])
        print('sanitizers: %d processes had something to report' % len(found))
    sys.exit(1 if found or status < 0 else status)


main()
