#!/usr/bin/env python3
"""Runs what the pages in docs/testing-your-controller/ show, as a reader would: writes the files of a page into an empty
folder and runs its commands, with `flyball` on the PATH.

    snippets.py FLYBALL BUILD [PAGE...]       pages: go python javascript rust java cpp; all if none is named

A file is a code block with a title (```go title=x_test.go), the commands are the block ```sh run. A block ```sh setup
fetches what they need. Exit status 77: the tools of the only page named are not there, or cannot fetch it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = os.path.join(ROOT, 'docs', 'testing-your-controller')
SKIPPED = 77
# What a page needs on the machine.
TOOLS = {'go': ['go'], 'python': ['python3'], 'javascript': ['node', 'npm'], 'rust': ['cargo'], 'java': ['java', 'mvn'], 'cpp': ['cmake', 'ninja']}
BLOCK = re.compile(r'^```\w+ (setup|run|title=(\S+))\n(.*?)^```$', re.M | re.S)
LIMIT = 1500  # seconds; building a page's dependencies the first time takes longest


def parse(page):
    """The files of a page by name, the commands that fetch what it needs, and those that run it."""
    with open(os.path.join(PAGES, page + '.md')) as f:
        blocks = BLOCK.findall(f.read())
    files = {name: text for _, name, text in blocks if name}
    setup, commands = (''.join(text for kind, _, text in blocks if kind == wanted) for wanted in ('setup', 'run'))
    assert files and commands, page + '.md has no files or no commands'
    return files, setup, commands


def shell(commands, folder, values):
    done = subprocess.run(['bash', '-euo', 'pipefail', '-c', commands], cwd=folder, env=values, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=LIMIT)
    if done.returncode != 0:
        print(done.stdout[-6000:])
    return done.returncode == 0


def environment(flyball, build, page, folder):
    links = os.path.join(folder, 'bin')
    os.makedirs(links)
    os.symlink(flyball, os.path.join(links, 'flyball'))
    values = {**os.environ, 'PATH': links + ':' + os.environ['PATH']}
    if page == 'cpp':
        values['FLYBALL_PREFIX'] = os.path.join(folder, 'prefix')
        subprocess.run(['cmake', '--install', build, '--prefix', values['FLYBALL_PREFIX'], '--component', 'sdk'], check=True, stdout=subprocess.DEVNULL)
    return values


def run(flyball, build, page):
    """ok, FAIL, or SKIPPED if what the page needs cannot be fetched."""
    files, setup, commands = parse(page)
    with tempfile.TemporaryDirectory(prefix='flyball-snippets-') as folder:
        project = os.path.join(folder, 'project')
        for name, text in files.items():
            path = os.path.join(project, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as f:
                f.write(text)
        values = environment(flyball, build, page, folder)
        if not shell(setup, project, values):
            return 'SKIPPED: cannot fetch what is needed for'
        return 'ok  ' if shell(commands, project, values) else 'FAIL'


def main():
    flyball, build = map(os.path.abspath, sys.argv[1:3])
    pages = sys.argv[3:] or list(TOOLS)
    failed = 0
    for page in pages:
        missing = [tool for tool in TOOLS[page] if not shutil.which(tool)]
        if missing:
            print('SKIPPED: %s: there is no %s' % (page, ' and no '.join(missing)))
            if len(pages) == 1:
                sys.exit(SKIPPED)
            continue
        result = run(flyball, build, page)
        print(result + ' ' + page, flush=True)
        if result.startswith('SKIPPED') and len(pages) == 1:
            sys.exit(SKIPPED)
        failed += result == 'FAIL'
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
