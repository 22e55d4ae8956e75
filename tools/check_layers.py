#!/usr/bin/env python3
"""Checks who may include whom in src/: modules (docs/architecture.md) and, within a module, its rooms (sub-folders).

A file may include a module listed for its own module, its own room, and the rooms listed for its room. Tests, benches
and everything under a `testing` folder are exempt. Every folder must be listed, hold at most MAX_FILES files that are
not tests, and have a README.md that says what lives there and, in its last line, which rooms it may use (`--write`
updates that line). No two files of a module may share a name. Exit status 1 and a line for each violation.
"""
import collections
import pathlib
import re
import sys

MAX_FILES = 26

MODULES = {
    'base': '',
    'crypto': 'base',
    'json': 'base',
    'cel': 'base json',
    'api': 'base json cel',
    'net': 'base',
    'store': 'base crypto net',
    'client': 'base json cel api net',
    'server': 'base crypto json cel api store net client',
    'metrics': 'base json cel api net client',
    'informer': 'base json cel api net client',
    'controller': 'base json cel api net client informer',
    'controllers': 'base json cel api client informer controller',
    'scheduler': 'base json cel api client informer controller',
    'network': 'base json cel api net client informer controller',
    'dns': 'base json cel api net client informer controller',
    'node': 'base crypto json cel api net client informer controller network',
    'cli': 'base crypto json cel api store net server client metrics informer controller controllers scheduler network dns'
           ' node',
}

# Room: the rooms of the same module that it may use. '.' is the module's own folder; '*' is every room.
ROOMS = {
    'base': {
        'values': '',
        'run': 'values',
        'observe': 'values run',
        'files': 'values',
    },
    'crypto': {'.': ''},
    'json': {
        '.': '',
        'yaml': '.',
    },
    'cel': {
        'types': '',
        'text': '',
        'formats': 'text',
        'schema': 'types',
        'values': 'types text formats schema',
        'syntax': 'types text schema values',
        'functions': 'types values',
        'library': 'types text formats schema values syntax functions',
        'check': 'types text formats schema values syntax functions library',
        'eval': 'types text formats schema values syntax functions library',
        '.': '*',
        'rules': '. types text schema values library eval',
        'policy': '. types text schema values library eval',
        'table': '. types text formats schema values library eval rules',
    },
    'api': {
        'values': '',
        'schema': 'values',
        'rules': 'values schema',
        'types': 'values',
        'select': 'values schema rules types',
        'apply': 'values schema',
        'merge': 'values schema',
        'wire': 'values schema',
        'tables': 'values schema select',
        'openapi': 'values schema wire',
        'usage': 'values',
        'template': 'values',
        'jq': '',
        'pod_security': 'values',
        'formats': 'values rules',
        'custom': 'values schema rules types select wire openapi formats',
        'kinds/shared': 'values schema rules',
        'kinds/pod_spec': 'values schema rules kinds/shared',
        'kinds/pod': 'values schema rules kinds/shared kinds/pod_spec',
        'kinds/workloads': 'values schema rules kinds/shared kinds/pod_spec kinds/pod',
        'kinds/network': 'values schema rules kinds/shared',
        'kinds/storage': 'values schema rules kinds/shared kinds/pod_spec',
        'kinds/access': 'values schema rules kinds/shared custom',
        'kinds/cluster': 'values schema rules kinds/shared kinds/pod_spec',
        'kinds': 'kinds/shared',
    },
    'store': {
        '.': '',
        'log': '.',
        'memory': '. log',
        'sqlite': '. log',
        'transform': '.',
        'partition': '.',
        'etcd': '. log',
    },
    'net': {
        'http': '',
        'tls': 'http',
        'io': 'http tls',
        'websocket': 'http tls io',
        'spdy': 'http',
        'exchange': 'http tls io websocket',
        'h1': 'http io exchange',
        'h2': 'http io exchange',
        'relay': 'http tls',
        'client': 'http tls io websocket exchange h1 h2',
        'server': 'http tls io websocket exchange h1 h2',
        'grpc': 'http exchange client server',
    },
    'client': {
        'discovery': '',
        '.': '*',
    },
    'server': {
        'cache': '',
        'catalog': 'cache',
        'request': 'cache catalog',
        'auth': 'cache catalog request',
        'config': '',
        'auth/config': 'config auth',
        'auth/remote': 'config auth auth/config',
        'auth/setup': 'config catalog auth auth/config auth/remote',
        'forward': 'cache catalog request auth',
        'webhook': 'cache catalog auth auth/remote forward',
        'registry': 'cache catalog request auth',
        'encryption': 'cache catalog config',
        'admission/basis': 'cache catalog request auth config registry',
        'admission/pods': 'cache catalog request auth auth/remote config registry admission/basis',
        'admission/match': 'cache catalog request auth registry',
        'admission/policy': 'cache catalog request auth registry admission/match',
        'admission/webhooks': 'cache catalog request auth auth/remote webhook registry admission/match',
        'admission': 'cache catalog request auth auth/remote webhook config registry admission/basis'
                     ' admission/pods admission/match admission/policy admission/webhooks',
        'flow': 'cache catalog request registry',
        'custom': 'cache catalog request auth/remote webhook registry',
        'bootstrap': 'cache catalog request auth registry admission',
        'services': 'cache catalog request auth registry',
        'peers': 'cache catalog request auth registry bootstrap',
        'audit': 'cache catalog request auth config',
        'aggregation': 'cache catalog request auth auth/remote registry forward',
        'documents': 'cache catalog request registry aggregation',
        'handlers': 'cache catalog request auth audit registry aggregation documents flow',
        'endpoints/nodes': 'cache catalog request auth registry forward handlers',
        'endpoints': 'cache catalog request auth registry forward handlers endpoints/nodes',
        '.': '*',
    },
    'metrics': {'.': ''},
    'informer': {'.': ''},
    'controller': {
        'queue': '',
        'events': '',
        'leader': '',
        'worker': 'queue events',
        '.': 'queue events leader worker',
        'objects': '. worker events',
        'pods': '. events objects',
    },
    'controllers': {
        'admissionpolicy': '',
        'autoscaling': '',
        'bootstrap': '',
        'certificates': '',
        'clusterrole': '',
        'cronjob': '',
        'daemonset': '',
        'deployment': '',
        'devicetaints': '',
        'disruption': '',
        'endpoints': '',
        'gc': '',
        'job': '',
        'namespace': '',
        'node': '',
        'nodeipam': '',
        'podgc': 'node',
        'replicaset': '',
        'resourceclaim': '',
        'resourcequota': '',
        'serviceaccount': '',
        'servicecidr': '',
        'storagemigration': '',
        'statefulset': '',
        'storage': '',
        '.': '*',
    },
    'scheduler': {
        'snapshot': '',
        'filter': 'snapshot',
        'score': 'snapshot filter',
        'devices': 'snapshot filter',
        'volumes': 'snapshot filter',
        '.': '*',
    },
    'node': {
        'images': 'stats',
        'stats': '',
        'eviction': 'stats',
        'runtime': 'stats',
        'plugins': '',
        'csi': 'plugins',
        'devices': 'plugins runtime',
        'volumes': 'stats runtime images csi',
        'registry': 'runtime images',
        'static_pods': '',
        'pod': 'stats runtime csi devices volumes registry static_pods',
        'streams': 'stats runtime volumes pod',
        'monitor': 'images',
        'cgroups': '',
        'oci': 'stats runtime images monitor registry cgroups',
        'certificates': '',
        'stages': '',
        'agent': 'stats eviction runtime plugins csi devices volumes pod streams stages static_pods',
    },
    'network': {
        'nft': '',
        'netlink': '',
        'conntrack': 'netlink',
        'wireguard': 'netlink',
        'balancer': 'netlink',
        'services': 'nft netlink conntrack',
        'policy': 'nft netlink services',
        '.': 'netlink',
        'pods': '. nft netlink wireguard',
        'cni': '. netlink pods',
        'filters': '. nft netlink services policy',
        'ingress': '',
    },
    'dns': {
        'packet': '',
        'zone': 'packet',
        'forward': 'packet',
        'server': 'packet zone forward',
        '.': '*',
    },
    'cli': {
        'foreign_flags': '',
        'command': 'foreign_flags',
        'data': '',
        'images': 'command',
        'clusters': 'command kubectl/session',
        'addons': '',
        'programs': 'command data foreign_flags clusters addons',
        'up': 'command data foreign_flags clusters addons programs',
        'network': 'command data foreign_flags programs addons',
        'node': 'programs',
        'service_proxy': 'foreign_flags programs',
        'envtest': 'command data foreign_flags programs',
        'kubectl': 'command',
        'kustomize/resource': 'command',
        'kustomize/input': 'command kustomize/resource',
        'kustomize/transform': 'command kustomize/resource kustomize/input',
        'kustomize': 'command kustomize/resource kustomize/input kustomize/transform',
        'kubectl/session': 'command kustomize kustomize/resource',
        'kubectl/print': 'command kubectl/session',
        'kubectl/apply': 'command kubectl kubectl/session kubectl/print',
        'kubectl/nodes': 'command kubectl kubectl/session kubectl/print',
        'kubectl/streams': 'command kubectl kubectl/session',
        'kubectl/describe': 'command kubectl kubectl/session kubectl/print',
        'kubectl/explain': 'command kubectl kubectl/session',
        'kubectl/change': 'command kubectl kubectl/session kubectl/print kubectl/apply',
        'kubectl/create': 'command kustomize/transform kubectl kubectl/session kubectl/print kubectl/apply kubectl/streams',
        'observe': 'command kubectl kubectl/session kubectl/print',
        'kubectl/verbs': 'command kustomize observe kubectl kubectl/session kubectl/print kubectl/describe',
        '.': '*',
    },
}
INCLUDE = re.compile(r'^#include "([a-z0-9_/]+\.h)"')
SRC = pathlib.Path(__file__).resolve().parent.parent / 'src'


def place(path):
    """The module and the room of a path relative to src/."""
    parts = pathlib.PurePosixPath(path).parts
    return parts[0], '/'.join(parts[1:-1]) or '.'


def is_exempt(path):
    return path.stem.endswith(('_test', '_bench', '_fuzz')) or 'testing' in path.parts


def check_include(source, target):
    """What is wrong with `source` including `target`, both relative to src/, or None."""
    (module, room), (other, other_room) = place(source), place(target)
    if other not in MODULES:
        return None
    if other != module:
        return None if other in MODULES[module].split() else f'{module} may not include {other}'
    if not (SRC / target).exists():
        return None  # generated
    allowed = ROOMS[module].get(room, '').split()
    if other_room == room or other_room in allowed or '*' in allowed:
        return None
    return f'{module}/{room} may not include {module}/{other_room}'


def may_use(module, room):
    """The last line of a folder's README.md."""
    rooms = ROOMS[module][room].split()
    names = [f'`{module}`' if name == '.' else f'`{module}/{name}`' for name in rooms if name != '*']
    here = 'every room of this module' if '*' in rooms else ', '.join(names)
    below = ', '.join(f'`{name}`' for name in MODULES[module].split())
    parts = [here] if here else []
    if below:
        parts.append(f'modules {below}')
    return 'May use: ' + ('; '.join(parts) or 'nothing') + '.'


def check_readme(module, room, write):
    """What is wrong with the README.md of a folder, or None."""
    path = SRC / module / room / 'README.md'
    if not path.exists():
        return f'src/{module}/{room}: README.md is missing: say what lives here'
    text, line = path.read_text(), may_use(module, room)
    if text.rstrip().endswith(line):
        return None
    if not write:
        return f'{path.relative_to(SRC.parent)}: the last line must be "{line}" (tools/check_layers.py --write)'
    kept = [old for old in text.rstrip().splitlines() if not old.startswith('May use: ')]
    path.write_text('\n'.join(kept).rstrip() + f'\n\n{line}\n')
    return None


def main():
    bad = []
    rooms = collections.Counter()
    names = collections.defaultdict(list)
    for path in sorted(SRC.rglob('*')):
        if path.suffix not in ('.cc', '.h'):
            continue
        relative = path.relative_to(SRC)
        names[relative.parts[0], path.name].append(str(relative))
        if is_exempt(relative):
            continue
        module, room = place(relative)
        rooms[module, room] += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            fault = match and check_include(relative, match.group(1))
            if fault:
                bad.append(f'src/{relative}:{number}: {fault}: {match.group(1)}')
    for (module, room), count in sorted(rooms.items()):
        if room not in ROOMS.get(module, {}):
            bad.append(f'src/{module}/{room}: list this folder and what it may use in tools/check_layers.py')
        elif count > MAX_FILES:
            bad.append(f'src/{module}/{room}: {count} files; split the folder (at most {MAX_FILES} besides tests)')
        else:
            bad += filter(None, [check_readme(module, room, '--write' in sys.argv)])
    bad += [f'{" and ".join(paths)}: one name twice in a module' for paths in names.values() if len(paths) > 1]
    print('\n'.join(bad) if bad else f'layers: {len(rooms)} folders, fine')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
