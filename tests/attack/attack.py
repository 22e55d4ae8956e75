#!/usr/bin/env python3
"""Tries to get into a Kubernetes API server, and to do more than one may. Every check states what Kubernetes does.

    attack.py --kubeconfig admin.conf            all checks
    attack.py --kubeconfig admin.conf --list     their names
    attack.py --kubeconfig admin.conf roles      those whose name contains one of the words
"""
import argparse
import inspect
import os
import random
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import component_checks  # noqa: E402
import node_checks  # noqa: E402
import pod_checks  # noqa: E402
import role_checks  # noqa: E402
import token_checks  # noqa: E402
from cluster_client import Cluster  # noqa: E402

CORE = '/api/v1/namespaces/'
RBAC = '/apis/rbac.authorization.k8s.io/v1'


class Skipped(Exception):
    pass


class Arena:
    """What every check gets: the cluster, names of its own, and ways to give somebody rights. Undone afterwards."""

    def __init__(self, cluster, name, options):
        self.cluster, self.options = cluster, options
        self.id = 'attack-%s-%06x' % (name[:20].replace('_', '-').strip('-'), random.randrange(1 << 24))
        self.user = self.id + '-user'
        self.undo = []

    def skip(self, why):
        raise Skipped(why)

    def namespace(self, suffix='', labels=None):
        name = self.id + suffix
        self.cluster.make('/api/v1/namespaces', {'metadata': {'name': name, 'labels': labels or {}}})
        self.undo.append('/api/v1/namespaces/' + name)
        # Whether or not a controller makes it too.
        self.cluster.make(CORE + name + '/serviceaccounts', {'metadata': {'name': 'default'}})
        return name

    def object(self, path, body):
        """An object outside namespaces, deleted in the end."""
        self.cluster.make(path, body)
        self.undo.append(path + '/' + body['metadata']['name'])

    def grant(self, rules, namespace=None, user=None):
        name = '%s-%d' % (self.id, len(self.undo))
        self.object(RBAC + '/clusterroles', {'metadata': {'name': name}, 'rules': rules})
        self.bind(name, namespace, user)

    def bind(self, role, namespace=None, user=None):
        binding = {'metadata': {'name': '%s-%d' % (self.id, len(self.undo))},
                   'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': role},
                   'subjects': [{'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'User', 'name': user or self.user}]}
        if namespace:
            self.cluster.make('%s/namespaces/%s/rolebindings' % (RBAC, namespace), binding)
            self.undo.append('%s/namespaces/%s/rolebindings/%s' % (RBAC, namespace, binding['metadata']['name']))
        else:
            self.object(RBAC + '/clusterrolebindings', binding)

    def eventually(self, check, seconds=20):
        """For what a server learns a moment later: its authorizers and caches follow its own events."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return check()
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def cleanup(self):
        for path in reversed(self.undo):
            try:
                self.cluster.delete(path + '?gracePeriodSeconds=0')
            except OSError:
                pass


def all_checks():
    for module in (role_checks, component_checks, node_checks, token_checks, pod_checks):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith('check_') and function.__module__ == module.__name__:
                yield name[len('check_'):], function


def run(cluster, options, words=()):
    """Runs the checks; returns how many failed."""
    failed = done = 0
    for name, function in all_checks():
        if words and not any(word in name for word in words):
            continue
        arena = Arena(cluster, name, options)
        try:
            function(arena)
            print('ok      %s' % name)
            done += 1
        except Skipped as why:
            print('skipped %s: %s' % (name, why))
        except Exception as error:  # a check must not stop the others
            failed += 1
            detail = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
            print('FAILED  %s: %s\n        Kubernetes: %s' % (name, detail, inspect.getdoc(function)))
        finally:
            arena.cleanup()
        sys.stdout.flush()
    print('%d held, %d failed' % (done, failed))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--kubeconfig', default=os.environ.get('KUBECONFIG'), help='of an administrator (system:masters)')
    parser.add_argument('--client-ca', help="the server's client CA, with --client-ca-key: certificates are forged with openssl")
    parser.add_argument('--client-ca-key')
    parser.add_argument('--list', action='store_true', help='print the names of the checks and what they state')
    parser.add_argument('words', nargs='*', help='only checks whose name contains one of these')
    options = parser.parse_args()
    if options.list:
        for name, function in all_checks():
            print('%s\n    %s' % (name, ' '.join(inspect.getdoc(function).split())))
        return 0
    if not options.kubeconfig:
        parser.error('--kubeconfig or $KUBECONFIG is needed')
    return 1 if run(Cluster(options.kubeconfig), options, options.words) else 0


if __name__ == '__main__':
    sys.exit(main())
