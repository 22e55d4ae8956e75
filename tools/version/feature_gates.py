#!/usr/bin/env python3
"""Writes src/api/schema/groups/feature.gates: every feature gate of a Kubernetes version and its state in each release.

    feature_gates.py GOMOD v1.37.1      # GOMOD holds k8s.io/kubernetes@v1.37.1, k8s.io/apiserver@v0.37.1, ...

A line is `NAME VERSION:STAGE:DEFAULT[:locked]...`, oldest first.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = (('kubernetes', 'pkg/features/kube_features.go'), ('apiserver', 'pkg/features/kube_features.go'),
         ('apiextensions-apiserver', 'pkg/features/kube_features.go'), ('component-base', 'zpages/features/kube_features.go'),
         ('component-base', 'logs/api/v1/kube_features.go'), ('component-base', 'metrics/features/kube_features.go'))
CONSTANT = re.compile(r'^\s*(\w+)\s+(?:featuregate\.Feature\s+)?=\s*"(\w+)"', re.M)
ENTRY = re.compile(r'^\t+(?:\w+\.)?(\w+): (?:featuregate\.VersionedSpecs)?\{\n(.*?)^\t+\},', re.M | re.S)
SPEC = re.compile(r'Version: version\.MustParse\("([\d.]+)"\), Default: (true|false), PreRelease: featuregate\.(\w*)(?:, (.*?))?\}')
STAGES = {'Alpha': 'alpha', 'Beta': 'beta', 'GA': 'ga', 'Deprecated': 'deprecated', 'PreAlpha': 'alpha'}


def main():
    modules, version = pathlib.Path(sys.argv[1]).expanduser() / 'k8s.io', sys.argv[2]
    staging = 'v0.' + version.split('.', 1)[1]
    names, gates = {}, {}
    texts = [(modules / f'{module}@{version if module == "kubernetes" else staging}' / path).read_text()
             for module, path in FILES]
    for text in texts:
        names.update(CONSTANT.findall(text))
    for text in texts:
        for constant, body in ENTRY.findall(text):
            specs = [f'{at}:{STAGES[stage]}:{"on" if default == "true" else "off"}'
                     + (':locked' if 'LockToDefault: true' in rest else '')
                     for at, default, stage, rest in SPEC.findall(body)]
            if specs:
                gates[names.get(constant, constant)] = specs
    path = ROOT / 'src' / 'api' / 'schema' / 'groups' / 'feature.gates'
    lines = [f'{name} {" ".join(specs)}' for name, specs in sorted(gates.items())]
    path.write_text('# The feature gates of Kubernetes and their state by release. Written by tools/version/feature_gates.py.\n'
                    f'kubernetes {version[1:]}\n'
                    + '\n'.join(lines) + '\n')
    print(f'{len(lines)} gates')


if __name__ == '__main__':
    main()
