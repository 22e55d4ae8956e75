"""The roles and bindings that a cluster starts with, compared with those that a kube-apiserver of the recorded version makes.

    bootstrap_policy_test.py build/flyball                         # compares
    bootstrap_policy_test.py --record KUBECONFIG > recording.json  # writes down those of another server
"""
import json
import os
import sys
import tempfile

from program import Kubectl, Program, recordings

KINDS = ('clusterroles', 'clusterrolebindings', 'roles', 'rolebindings')
# Their rules are those of other roles, filled in by a controller upstream and from the start here.
AGGREGATED = ('view', 'edit', 'admin')


def rights(rule):
    for verb in rule['verbs']:
        for url in rule.get('nonResourceURLs', []):
            yield '%s url %s' % (verb, url)
        for group in rule.get('apiGroups', []):
            for resource in rule.get('resources', []):
                for name in rule.get('resourceNames', ['*']):
                    yield '%s %s %s %s' % (verb, group or 'core', resource, name)


def summary(item):
    """What the object grants and to whom, one line each."""
    lines = ['label %s=%s' % label for label in item['metadata'].get('labels', {}).items()]
    if 'aggregationRule' in item:
        lines.append('aggregates ' + json.dumps(item['aggregationRule'], sort_keys=True))
    if 'roleRef' in item:
        lines.append('to %s %s' % (item['roleRef']['kind'], item['roleRef']['name']))
    lines += ['for %s %s %s' % (s['kind'], s.get('namespace', '-'), s['name']) for s in item.get('subjects') or []]
    if item['metadata']['name'] not in AGGREGATED:
        lines += [right for rule in item.get('rules') or [] for right in rights(rule)]
    return sorted(set(lines))


def policy(kubectl):
    found = {}
    for kind in KINDS:
        for item in json.loads(kubectl('get', kind, '-A', '-l', 'kubernetes.io/bootstrapping=rbac-defaults', '-o', 'json'))['items']:
            found['/'.join((kind, item['metadata'].get('namespace', ''), item['metadata']['name']))] = summary(item)
    return found


def main():
    if sys.argv[1] == '--record':
        json.dump(policy(Kubectl(sys.argv[2])), sys.stdout, indent=0, sort_keys=True)
        return
    with open(os.path.join(recordings(), 'bootstrap-policy.json')) as f:
        wanted = json.load(f)
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    server = Program(sys.argv[1], 'apiserver', '--data-dir', folder, '--secure-port', '0', data_dir=folder)
    try:
        found = policy(Kubectl(server.kubeconfig))
    finally:
        server.stop()
        server.remove()
    wrong = []
    for name in sorted(set(wanted) | set(found)):
        missing = set(wanted.get(name, ())) - set(found.get(name, ()))
        extra = set(found.get(name, ())) - set(wanted.get(name, ()))
        wrong += ['%s: missing: %s' % (name, line) for line in sorted(missing)] + ['%s: too much: %s' % (name, line) for line in sorted(extra)]
    assert not wrong, '\n'.join(wrong)


if __name__ == '__main__':
    main()
