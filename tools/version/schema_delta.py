#!/usr/bin/env python3
"""Compares src/api/schema/groups/*.schema with the Go types of a Kubernetes version and prints, in the notation of docs/schema.md,
each line that has to change. Descriptions are not copied: write them.

    schema_delta.py GOMOD VERSION       # e.g. schema_delta.py ~/go/pkg/mod v0.37.1

GOMOD holds k8s.io/api@VERSION, apimachinery, apiextensions-apiserver and kube-aggregator.
Exit status 1 if anything differs.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = ROOT / 'src' / 'api' / 'schema' / 'groups'
sys.path.insert(0, str(SCHEMA.parent / 'generator'))
from notation import Reader, SCALARS  # noqa: E402

SCALAR_NAMES = {value: key for key, value in SCALARS.items()}
GO_SCALARS = {
    'string': 's', 'int32': 'i32', 'int': 'i32', 'int64': 'i64', 'float64': 'f64', 'bool': 'b', 'metav1.Time': 'time',
    'metav1.MicroTime': 'utime', 'metav1.Duration': 'duration', 'resource.Quantity': 'qty', 'intstr.IntOrString': 'intstr',
    'runtime.RawExtension': 'raw', 'types.UID': 's', '[]byte': 'bytes', 'Time': 'time', 'MicroTime': 'utime', 'ResourceList': '{qty}',
    'v1.ResourceList': '{qty}', 'corev1.ResourceList': '{qty}', 'JSON': 'any', 'types.NodeName': 's', 'runtime.Object': 'raw',
}
STRUCT = re.compile(r'^type (\w+) struct \{\n(.*?)^\}', re.M | re.S)
STRING_TYPE = re.compile(r'^type (\w+) (string|int32|\[\]string|map\[string\]string)$', re.M)
SLICE_TYPE = re.compile(r'^type (\w+) (\[\]\w+|map\[\w+\][\w.]+)$', re.M)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?([*\[\]\w.]+)\s+`(.*?)`', re.M)


class GoPackage:
    """The structs of one package: name to list of (json name, notation) in Go's order."""

    def __init__(self, folder, alias):
        self.alias, self.text = alias, ''
        for path in sorted(folder.glob('*types*.go')) + sorted(folder.glob('types*.go')):
            if '_test' not in path.name and path.read_text() not in self.text:
                self.text += path.read_text()
        self.simple = {name: target for name, target in STRING_TYPE.findall(self.text) + SLICE_TYPE.findall(self.text)}
        self.structs = {m.group(1): m.group(2) for m in STRUCT.finditer(self.text)}

    def type_text(self, go):
        go = go.lstrip('*')
        if go in GO_SCALARS:
            return GO_SCALARS[go]
        if go.startswith('[]'):
            return '[' + self.type_text(go[2:]) + ']'
        match = re.match(r'map\[[\w.]+\](.*)', go)
        if match:
            return '{' + self.type_text(match[1]) + '}'
        if go in self.simple:
            return self.type_text(self.simple[go])
        package, _, name = go.rpartition('.')
        if package in ('v1', 'corev1'):
            return name_of_core(name)
        return {'metav1': 'meta.'}.get(package, package + '.' if package else '') + name

    def fields(self, struct):
        out, last = [], 0
        body = self.structs[struct]
        for match in FIELD.finditer(body):
            comment, last = body[last:match.start()], match.end()
            name, go, tags = match.groups()
            tag = dict(re.findall(r'(\w+):"(.*?)"', tags))
            json_name, *options = tag.get('json', '').split(',')
            if 'inline' in options or json_name in ('', '-', 'metadata', 'kind', 'apiVersion') or not name:
                if not name and ('inline' in options) and 'TypeMeta' not in go and 'ListMeta' not in go:
                    out.append(('# embedded ' + go, '', comment))
                continue
            out.append((json_name, self.notation(go, options, tag, comment), comment))
        return out

    def notation(self, go, options, tag, comment):
        text = self.type_text(go)
        always = 'omitempty' not in options and 'omitzero' not in options
        optional = re.search(r'^\s*// \+(k8s:)?optional', comment, re.M) is not None
        required = re.search(r'^\s*// \+(k8s:)?required', comment, re.M) is not None
        pointer = go.startswith('*')
        mark = ('*' if optional else '!') if always else ('!' if required and not pointer else '')
        text += mark + ('?' if pointer else '')
        number = re.match(r'\w+,(\d+)', tag.get('protobuf', ''))
        text += ' ' + number[1] if number else ''
        text += attributes(go, tag, comment)
        return text


def name_of_core(name):
    return {'ResourceList': '{qty}'}.get(name, 'core.' + name if name[0].isupper() else name)


def attributes(go, tag, comment):
    text = ''
    default = re.search(r'\+default=(\S+)', comment)
    if default:
        text += ' =' + default[1]
    is_list = go.lstrip('*').startswith('[]') and go.lstrip('*') != '[]byte'
    kind = re.search(r'\+listType=(\w+)', comment)
    keys = re.findall(r'\+listMapKey=(\w+)', comment)
    if kind and kind[1] == 'map':
        text += ' map:' + ','.join(keys)
    elif kind and kind[1] == 'set':
        text += ' set'
    elif is_list and not kind:
        text += ' nolt'
    strategy = tag.get('patchStrategy')
    if strategy:
        name = 'mergeRetainKeys' if strategy == 'merge,retainKeys' else strategy
        text += ' smp:' + name + (':' + tag['patchMergeKey'] if 'patchMergeKey' in tag else '')
    gate = re.findall(r'\+featureGate=(\w+)', comment)
    return text + ''.join(' gate:' + name for name in gate)


def ref_text(ref):
    if ref.kind == 'kList':
        return '[' + ref_text(ref.element) + ']'
    if ref.kind == 'kMap':
        return '{' + ref_text(ref.element) + '}'
    return ref.name or SCALAR_NAMES.get(ref.kind, ref.kind)


def ours(field):
    """The comparable part of one of our fields."""
    text = ref_text(field.ref)
    text += ('*' if field.optional else '!' if field.always else '') + ('?' if field.pointer else '')
    text += ' ' + '.'.join(map(str, field.proto)) if field.proto else ''
    if field.published:
        text += ' =' + field.default
    if field.ref.kind == 'kList':
        if field.ref.list_type == 'kMap':
            text += ' map:' + ','.join(field.ref.list_keys)
        elif field.ref.list_type == 'kSet':
            text += ' set'
        elif not field.ref.list_declared:
            text += ' nolt'
    if field.patch != 'kDefault':
        name = field.patch[1:2].lower() + field.patch[2:]
        text += ' smp:' + name + (':' + field.patch_key if field.patch_key else '')
    return text + ''.join(' gate:' + gate for gate in getattr(field, 'gates', ()))


def folder_of(package, modules, version):
    name = package.name
    for prefix, module in (('io.k8s.api.', 'api'), ('io.k8s.apimachinery.', 'apimachinery'),
                           ('io.k8s.apiextensions-apiserver.', 'apiextensions-apiserver'),
                           ('io.k8s.kube-aggregator.', 'kube-aggregator')):
        if name.startswith(prefix):
            return modules / 'k8s.io' / f'{module}@{version}' / name[len(prefix):].replace('.', '/')
    return None


def compare(package, go):
    lines = []
    known = {type_.name: type_ for type_ in package.types}
    for name in go.structs:
        if name.endswith('List') and name[:-4] in go.structs:
            continue
        fields = go.fields(name)
        if name not in known:
            lines.append(f'+ type {name}')
            lines += [f'+   {field} {text}' for field, text, _ in fields]
            continue
        mine = {field.name: ours(field) for field in known[name].fields}
        for field, text, _ in fields:
            if field.startswith('#') or field in ('metadata',):
                continue
            if field not in mine:
                lines.append(f'+ {name}.{field} {text}')
            elif mine[field] != text:
                lines.append(f'~ {name}.{field} {text}      (now: {mine[field]})')
        gone = set(mine) - {field for field, _, _ in fields} - {'metadata', 'kind', 'apiVersion'}
        if not any(field.startswith('#') for field, _, _ in fields):
            lines += [f'- {name}.{field}' for field in sorted(gone)]
    return lines


def main():
    modules, version = pathlib.Path(sys.argv[1]).expanduser(), sys.argv[2]
    found = 0
    for path in sorted(SCHEMA.glob('*.schema')):
        package = Reader(path, path.stem).read()
        folder = folder_of(package, modules, version)
        if folder is None or not folder.is_dir():
            continue
        lines = compare(package, GoPackage(folder, package.alias))
        found += len(lines)
        if lines:
            print(f'{path.name}\n  ' + '\n  '.join(lines))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
