#!/usr/bin/env python3
"""Compares how two API servers judge a project's own custom resources: its definitions and its examples.

    custom_examples.py REFERENCE SUBJECT DEFINITIONS EXAMPLES... [--kubectl PATH] [--namespace NAME]

REFERENCE and SUBJECT are kubeconfig files: of kube-apiserver, and of `flyball apiserver`. DEFINITIONS is a folder of
CustomResourceDefinitions, EXAMPLES are folders or files of manifests. Each file is created in a dry run on both servers; what kubectl
says must be the same. For gateway-api, with the Go module in M:

    custom_examples.py k8s.kubeconfig flyball.kubeconfig M/config/crd/experimental M/hack/invalid-examples M/examples

Prints what differs and, last, `N judged, N refused by the reference, N by the subject, M differ`. Not a test of ./dev test: it needs
kube-apiserver.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys


def manifests(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, files in sorted(os.walk(path)):
            for name in sorted(files):
                if name.endswith(('.yaml', '.yml')) and not name.startswith('kustomization'):
                    yield os.path.join(folder, name)


class Side:
    def __init__(self, kubectl, kubeconfig):
        self.command = [kubectl, '--kubeconfig', kubeconfig]

    def run(self, *arguments):
        result = subprocess.run([*self.command, *arguments], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def install(self, folder):
        code, text = self.run('apply', '--server-side', '--force-conflicts', '-R', '-f', folder)
        said = re.findall(r'(?m)^.*(?:invalid|Warning|Error).*$', text)
        self.run('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
        return code, said

    def judge(self, path):
        # Go walks over maps in a random order: the problems of an object are compared as a set.
        code, text = self.run('create', '--dry-run=server', '-f', path)
        return code, sorted(re.split(r'\n\* |, |\n', text.strip()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('reference')
    parser.add_argument('subject')
    parser.add_argument('definitions')
    parser.add_argument('examples', nargs='+')
    parser.add_argument('--kubectl', default='kubectl')
    parser.add_argument('--namespace', action='append', default=[], help='made on both servers first')
    options = parser.parse_args()
    sides = [Side(options.kubectl, kubeconfig) for kubeconfig in (options.reference, options.subject)]
    installed = [side.install(options.definitions) for side in sides]
    differ, refused, judged = int(installed[0] != installed[1]), [0, 0], 0
    if differ:
        print('--- definitions\n  reference:', installed[0], '\n  subject:  ', installed[1])
    for namespace in options.namespace:
        for side in sides:
            side.run('create', 'namespace', namespace)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path in manifests(options.examples):
            answers = list(pool.map(lambda side: side.judge(path), sides))
            judged += 1
            refused = [count + (answer[0] != 0) for count, answer in zip(refused, answers)]
            if answers[0] != answers[1]:
                differ += 1
                print('---', path, '\n  reference:', answers[0], '\n  subject:  ', answers[1])
    print('%d judged, %d refused by the reference, %d by the subject, %d differ' % (judged, *refused, differ))
    return 1 if differ else 0


if __name__ == '__main__':
    sys.exit(main())
