"""Writes schema_tables.cc: the constant tables behind api/schema/schema.h. Nothing in them runs at start-up."""

import base64
import hashlib

from notation import SCALARS

# Kinds that are stored as another group or version than they are served in.
STORED_AS = {('events.k8s.io', 'v1', 'Event'): ('', 'v1'), ('autoscaling', 'v1', 'HorizontalPodAutoscaler'): ('autoscaling', 'v2')}

HEADER = '''// Generated from src/api/schema/groups/*.schema. Do not edit.
#include "api/schema/schema.h"
#include "api/schema/feature_gates.h"
#include "api/schema/go_type_name.h"
#include "api/schema/storage_version.h"

namespace flyball::api {
namespace {

using std::string_view;
'''


def literal(text):
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('?', '\\?')
    return f'"{escaped}"'


class Pool:
    """Equal items are stored once; a sequence becomes a span of one big array."""

    def __init__(self, array):
        self.array, self.items, self.places = array, [], {}

    def span(self, items):
        items = tuple(items)
        if not items:
            return '{}'
        if items not in self.places:
            self.places[items] = len(self.items)
            self.items.extend(items)
        return f'{{{self.array} + {self.places[items]}, {len(items)}}}'


class Tables:
    def __init__(self, model):
        self.model = model
        self.strings, self.rules = Pool('kStrings'), Pool('kRules')
        self.subresources, self.columns = Pool('kSubresources'), Pool('kColumns')
        self.gates, self.gated = Pool('kGateSpecs'), set()  # gates of fields
        self.fields = []
        self.types, self.type_index = [], {}
        for kind in SCALARS.values():
            self.type_index[kind] = len(self.types)
            self.types.append(f'.kind = TypeKind::{kind}')
        self.named = sorted(model.types.values(), key=lambda t: t.full_name)
        for type_ in self.named:
            self.type_index[type_.full_name] = len(self.types)
            self.types.append(None)
        for type_ in self.named:
            self.types[self.type_index[type_.full_name]] = self.named_type(type_)

    def string_span(self, items):
        return self.strings.span(literal(item) for item in items)

    def rule_span(self, rules):
        return self.rules.span(self.rule(rule) for rule in rules)

    def rule(self, rule):
        parts = [f'.kind = Rule::Kind::{rule.kind}']
        if rule.number:
            parts.append(f'.a = {rule.number}')
        if rule.high:
            parts.append(f'.b = {rule.high}')
        if rule.text:
            parts.append(f'.text = {literal(rule.text)}')
        if rule.values:
            parts.append(f'.values = {self.string_span(rule.values)}')
        return '{' + ', '.join(parts) + '}'

    def named_type(self, type_):
        first = len(self.fields)
        self.fields.extend([None] * len(type_.fields))
        for i, field in enumerate(type_.fields):
            self.fields[first + i] = self.field(field)
        parts = [f'.kind = TypeKind::{type_.kind}', f'.name = {literal(type_.full_name)}']
        if type_.description:
            parts.append(f'.description = {literal(type_.description)}')
        if type_.fields:
            parts.append(f'.fields = {{kFields + {first}, {len(type_.fields)}}}')
        if type_.atomic:
            parts.append('.atomic = true')
        if type_.rules:
            parts.append(f'.rules = {self.rule_span(type_.rules)}')
        if type_.union_discriminator:
            parts.append(f'.union_discriminator = {literal(type_.union_discriminator)}')
        if type_.union_fields:
            parts.append(f'.union_fields = {self.string_span(type_.union_fields)}')
        return ', '.join(parts)

    def type_of(self, ref):
        if ref.kind == 'kObject':
            return self.type_index[ref.target.full_name]
        if ref.kind not in ('kList', 'kMap'):
            return self.type_index[ref.kind]
        parts = [f'.kind = TypeKind::{ref.kind}', f'.element = kTypes + {self.type_of(ref.element)}']
        if ref.kind == 'kList':
            if ref.list_type != 'kAtomic':
                parts.append(f'.list_type = ListType::{ref.list_type}')
            if ref.list_declared:
                parts.append('.list_type_declared = true')
            if ref.list_keys:
                parts.append(f'.list_keys = {self.string_span(ref.list_keys)}')
        text = ', '.join(parts)
        if text not in self.type_index:
            self.type_index[text] = len(self.types)
            self.types.append(text)
        return self.type_index[text]

    def field(self, field):
        parts = [f'.name = {literal(field.name)}', f'.type = kTypes + {self.type_of(field.ref)}']
        if field.description:
            parts.append(f'.description = {literal(field.description)}')
        for flag in ('always', 'optional', 'demanded', 'pointer', 'atomic'):
            if getattr(field, flag):
                parts.append(f'.{flag} = true')
        if field.rules:
            parts.append(f'.rules = {self.rule_span(field.rules)}')
        if field.patch != 'kDefault':
            parts.append(f'.patch = PatchStrategy::{field.patch}')
        if field.patch_key:
            parts.append(f'.patch_key = {literal(field.patch_key)}')
        if field.default:
            parts.append(f'.default_json = {literal(field.default)}')
        if field.published:
            parts.append('.default_published = true')
        if field.gate:
            number = self.model.release.number(field.gate)
            self.gated.add(field.gate)
            parts.append(f'.gate = {number}')
        if field.proto:
            parts.append('.proto = {' + ', '.join(str(n) for n in field.proto) + '}')
        return ', '.join(parts)

    def kind(self, kind):
        package = kind.type.package
        columns = self.columns.span('{' + ', '.join(literal(c) for c in column[:5]) + f', {column[5]}}}'
                                    for column in kind.columns)
        subresources = self.subresources.span('{' + ', '.join(literal(p) for p in sub) + '}'
                                              for sub in kind.subresources)
        parts = [
            f'.group = {literal(package.group)}', f'.version = {literal(package.version)}',
            f'.kind = {literal(kind.type.name)}', f'.plural = {literal(kind.plural)}',
            f'.singular = {literal(kind.singular)}', f'.short_names = {self.string_span(kind.short_names)}',
            f'.categories = {self.string_span(kind.categories)}',
            f'.namespaced = {"true" if kind.namespaced else "false"}', f'.verbs = {literal(kind.verbs)}',
            f'.subresources = {subresources}', f'.selectable_fields = {self.string_span(kind.selectable)}',
            f'.columns = {columns}', f'.since = {kind.since}', f'.type = kTypes + {self.type_index[kind.type.full_name]}',
        ]
        return ', '.join(parts)

    def write(self, out):
        kinds = [self.kind(kind) for kind in self.model.kinds()]
        out.write(HEADER)
        out.write(f'\nextern const TypeInfo kTypes[{len(self.types)}];\n')
        self.array(out, 'string_view', 'kStrings', self.strings.items)
        self.array(out, 'Rule', 'kRules', self.rules.items)
        self.array(out, 'FieldInfo', 'kFields', ['{' + field + '}' for field in self.fields])
        self.array(out, 'TypeInfo', f'kTypes', ['{' + type_ + '}' for type_ in self.types])
        self.array(out, 'SubresourceInfo', 'kSubresources', self.subresources.items)
        self.array(out, 'ColumnInfo', 'kColumns', self.columns.items)
        self.array(out, 'KindInfo', 'kKinds', ['{' + kind + '}' for kind in kinds])
        self.array(out, 'TypeInfo*', 'kNamed',
                   [f'kTypes + {self.type_index[type_.full_name]}' for type_ in self.named])
        self.write_gates(out)
        out.write('\n}  // namespace\n')
        out.write('\nstd::span<const GateInfo> KnownGates() { return kGates; }\n')
        out.write('\nstd::span<const KindInfo> BuiltinKinds() { return kKinds; }\n')
        out.write('std::span<const TypeInfo* const> BuiltinTypes() { return kNamed; }\n')
        self.write_go_names(out)
        self.write_storage_hashes(out)
        self.write_body_kinds(out)
        out.write('\n}  // namespace flyball::api\n')

    def gate(self, gate):
        specs = self.gates.span(f'{{{minor}, GateStage::k{stage.capitalize()}, {str(on).lower()}, {str(locked).lower()}}}'
                                for minor, stage, on, locked in gate.specs)
        effect = gate.effect or ('Fields of the API.' if gate.name in self.gated else '')
        return f'{{{literal(gate.name)}, {specs}, {literal(effect)}}}'

    def write_gates(self, out):
        gates = [self.gate(gate) for gate in self.model.release.gates.values()]
        self.array(out, 'GateSpec', 'kGateSpecs', self.gates.items)
        self.array(out, 'GateInfo', 'kGates', gates)

    def write_go_names(self, out):
        out.write('\nstd::span<const GoNamedField> GoNamedFields() {\n  static constexpr GoNamedField kRows[] = {\n')
        for row in self.model.go_names.rows:
            out.write('      {' + ', '.join(literal(part) for part in row) + '},\n')
        out.write('  };\n  return kRows;\n}\n')

    def write_storage_hashes(self, out):
        """A hash of the version each kind is stored in, as upstream makes it (discovery.StorageVersionHash)."""
        out.write('\nstring_view StorageVersionHash(const KindInfo& kind) {\n')
        out.write('  struct Row { string_view group, version, plural, hash; };\n')
        out.write('  static constexpr Row kRows[] = {\n')
        for kind in self.model.kinds():
            if 'list' not in kind.verbs.split(',') or kind.type.name == 'ComponentStatus':
                continue
            package = kind.type.package
            group, version = STORED_AS.get((package.group, package.version, kind.type.name),
                                           (package.group, package.version))
            digest = hashlib.sha256(f'{group}/{version}/{kind.type.name}'.encode()).digest()
            text = base64.b64encode(digest[:8]).decode()
            out.write(f'      {{{literal(package.group)}, {literal(package.version)}, {literal(kind.plural)}, '
                      f'{literal(text)}}},\n')
        out.write('  };\n  for (const Row& row : kRows) {\n')
        out.write('    if (row.plural == kind.plural && row.group == kind.group && row.version == kind.version) '
                  'return row.hash;\n')
        out.write('  }\n  return {};\n}\n')

    def write_body_kinds(self, out):
        """Group, version and kind of everything that is sent as a whole, for FindKindType()."""
        rows = []
        for kind in self.model.all_kinds():
            if kind.type.package.group is None:
                continue
            package = kind.type.package
            rows.append((package.group, package.version, kind.type.name, self.type_index[kind.type.full_name]))
        out.write('\nconst TypeInfo* FindKindType(string_view group, string_view version, string_view kind) {\n')
        out.write('  struct Row { string_view group, version, kind; const TypeInfo* type; };\n')
        out.write('  static constexpr Row kRows[] = {\n')
        for group, version, name, index in sorted(rows):
            out.write(f'      {{{literal(group)}, {literal(version)}, {literal(name)}, kTypes + {index}}},\n')
        out.write('  };\n  for (const Row& row : kRows) {\n')
        out.write('    if (row.kind == kind && row.group == group && row.version == version) return row.type;\n')
        out.write('  }\n  return nullptr;\n}\n')

    def array(self, out, type_, name, items):
        pointer = ' const' if type_.endswith('*') else ''
        out.write(f'\nconstinit const {type_}{pointer} {name}[] = {{\n')
        for item in items:
            out.write(f'    {item},\n')
        out.write('};\n')
