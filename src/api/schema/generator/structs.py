"""Writes the C++ structs of the typed kinds: types/<group>.h, and types_<group>.cc with their codecs."""

import re

from tables import literal

KEYWORDS = frozenset(
    'and asm auto bool break case catch char class concept const continue default delete do double else enum '
    'explicit export extern false float for friend goto if inline int long mutable namespace new not operator '
    'or private protected public register return short signed sizeof static struct switch template this throw '
    'true try typedef typeid union unsigned using virtual void volatile while xor'.split())
# What compilers define as macros unless told to keep to the standard: users' programs may be built either way.
MACROS = {'linux', 'unix'}
CPP_SCALARS = {
    'kString': 'std::string', 'kInt32': 'std::int32_t', 'kInt64': 'std::int64_t', 'kFloat64': 'double',
    'kBool': 'bool', 'kBytes': 'std::string', 'kTime': 'api::Time', 'kMicroTime': 'api::Time',
    'kDuration': 'std::string', 'kQuantity': 'api::Quantity', 'kIntOrString': 'api::IntOrString',
    'kRaw': 'json::Value', 'kAny': 'json::Value',
}
# Raw types whose structs hold the JSON text instead of a tree: there are many of them, and few are looked into.
TEXTS = {'FieldsV1'}
INITIALISED = {'kInt32': ' = 0', 'kInt64': ' = 0', 'kFloat64': ' = 0', 'kBool': ' = false'}
CODECS = {'kBytes': 'Bytes', 'kTime': 'Moment', 'kMicroTime': 'MicroMoment'}
# How a value is seen to be there where empty ones are left out.
PRESENT = {'kInt32': '{} != 0', 'kInt64': '{} != 0', 'kFloat64': '{} != 0', 'kBool': '{}', 'kRaw': '!{}.is_null()',
           'kAny': '!{}.is_null()'}
# What Go writes even when nothing was given, unless it is a pointer.
NEVER_EMPTY = {'kObject', 'kTime', 'kMicroTime', 'kQuantity', 'kIntOrString'}
LINE = 110
PART = 60  # structs a source file


def member_name(name):
    """nodeName -> node_name, podIPs -> pod_ips, namespace -> namespace_."""
    name = re.sub(r'([A-Z]{2,})s(?=[A-Z]|$)', lambda m: m[1].capitalize() + 's', name)
    name = re.sub(r'([a-z0-9])([A-Z])', r'\1_\2', name)
    name = re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1_\2', name).lower()
    name = re.sub(r'\W', '_', name)
    return name + '_' if name in KEYWORDS or name in MACROS else name


def comment(text, indent=''):
    out, line = '', indent + '//'
    for word in text.split():
        if len(line) + 1 + len(word) > LINE:
            out, line = out + line + '\n', indent + '//'
        line += ' ' + word
    return out + line + '\n' if text else ''


def is_struct(type_):
    return type_.kind == 'kObject' and type_.cpp_name != 'json'


def is_text(ref):
    return ref.kind == 'kObject' and ref.target.kind == 'kRaw' and ref.target.name in TEXTS


class Structs:
    """The structs needed by the typed kinds, in groups: one header and one source each."""

    def __init__(self, model):
        self.groups = {}
        self.placed = set()
        self.optional = set()  # types that are held in an Optional somewhere
        for kind in model.all_kinds():
            if kind.typed:
                self.place(kind.type)

    def place(self, type_):
        """Adds a type after everything it holds: C++ wants complete types."""
        if type_.full_name in self.placed or not is_struct(type_):
            return
        self.placed.add(type_.full_name)
        for target in self.targets(type_):
            self.place(target)
        self.optional.update(field.ref.target.full_name for field in type_.fields
                             if self.kind_of(field) == 'kObject' and self.is_optional(field))
        self.groups.setdefault(type_.package.alias, []).append(type_)

    def targets(self, type_):
        for field in type_.fields:
            ref = field.ref
            while ref.element:
                ref = ref.element
            if ref.kind == 'kObject':
                yield ref.target

    def cpp_type(self, ref):
        if ref.kind == 'kList':
            return f'std::vector<{self.cpp_type(ref.element)}>'
        if ref.kind == 'kMap':
            return f'std::map<std::string, {self.cpp_type(ref.element)}>'
        if is_text(ref):
            return 'std::string'
        if ref.kind == 'kObject':
            return ref.target.cpp_name if is_struct(ref.target) else 'json::Value'
        return CPP_SCALARS[ref.kind]

    def is_optional(self, field):
        kind = self.kind_of(field)
        if kind in ('kTime', 'kMicroTime'):
            return True
        return field.pointer and kind not in ('kRaw', 'kText', 'kAny')

    def kind_of(self, field):
        ref = field.ref
        if is_text(ref):
            return 'kText'
        if ref.kind == 'kObject' and not is_struct(ref.target):
            return 'kAny'
        return ref.kind

    def codec(self, ref):
        if ref.kind == 'kList':
            return f'List<{self.codec(ref.element)}>'
        if ref.kind == 'kMap':
            return f'Map<{self.codec(ref.element)}>'
        return 'JsonText' if is_text(ref) else CODECS.get(ref.kind, 'Plain')

    def read_expression(self, field):
        member = 'o.' + member_name(field.name)
        target = f'&{member}.emplace()' if self.is_optional(field) else f'&{member}'
        codec = self.codec(field.ref)
        function = 'ReadValue' if codec == 'Plain' else f'{codec}::Read'
        return f'{function}(d, v, {target})'

    def write_statement(self, field):
        member = 'in.' + member_name(field.name)
        optional, kind = self.is_optional(field), self.kind_of(field)
        value = f'*{member}' if optional else member
        codec = self.codec(field.ref)
        if codec != 'Plain':
            value = f'{codec}::Write({value})'
        elif kind in ('kObject', 'kQuantity', 'kIntOrString'):
            value = f'ToJson({value})'
        append = f'out.Append({literal(field.name)}, {value});'
        present = member if optional else PRESENT.get(kind, '!{}.empty()').format(member)
        if field.always or (kind in NEVER_EMPTY and not field.pointer):
            return f'out.Append({literal(field.name)}, {member} ? {value} : json::Value());' if optional else append
        return f'if ({present}) {append}'

    def fields(self, type_):
        """apiVersion and kind of a kind are in its traits, not in the struct."""
        common = ('apiVersion', 'kind') if type_.resource else ()
        return [field for field in type_.fields if field.name not in common]

    def header(self, alias):
        types = self.groups[alias]
        others = {target.package.alias for type_ in types for target in self.targets(type_)
                  if is_struct(target)} - {alias}
        includes = sorted(['api/values/int_or_string.h', 'api/types/kind_traits.h', 'api/types/optional.h', 'api/values/quantity.h', 
                           'api/values/time.h', 'base/values/result.h', 'json/value.h'] + [f'api/types/{other}.h' for other in others])
        out = '// Generated from src/api/schema/groups/*.schema. Do not edit.\n#pragma once\n\n'
        out += ''.join(f'#include <{name}>\n' for name in ('cstdint', 'map', 'optional', 'string',
                                                           'string_view', 'vector'))
        out += '\n' + ''.join(f'#include "{name}"\n' for name in includes)
        out += '\nnamespace flyball::api::codec {\nclass Decoder;\n}\n\nnamespace flyball {\n'
        for type_ in types:
            out += '\n' + self.struct(type_)
        return out + '\n}  // namespace flyball\n'

    def schema_names(self):
        """Which schema a struct is made from, for those who describe structs that hold it."""
        types = [type_ for group in self.groups.values() for type_ in group]
        out = '// Generated from src/api/schema/groups/*.schema. Do not edit.\n#pragma once\n\n#include <string_view>\n\n'
        out += 'namespace flyball {\n\n// `value` is the OpenAPI name of a generated struct; others have none.\n'
        out += 'template <typename T>\nstruct SchemaNameOf {};\n\n'
        for type_ in types:
            out += f'struct {type_.cpp_name};\ntemplate <>\nstruct SchemaNameOf<{type_.cpp_name}> {{\n'
            out += f'  static constexpr std::string_view value = {literal(type_.full_name)};\n}};\n'
        return out + '\n}  // namespace flyball\n'

    def struct(self, type_):
        name = type_.cpp_name
        out = comment(type_.description) + f'struct {name} {{\n'
        for field in self.fields(type_):
            cpp = self.cpp_type(field.ref)
            if self.is_optional(field):
                optional = 'api::Optional' if self.kind_of(field) == 'kObject' else 'std::optional'
                declaration = f'{optional}<{cpp}> {member_name(field.name)} = {{}};'
            else:
                declaration = f'{cpp} {member_name(field.name)}{INITIALISED.get(field.ref.kind, " = {}")};'
            out += comment(field.description, '  ') + f'  {declaration}\n'
        out += f'\n  bool operator==(const {name}&) const = default;\n}};\n'
        out += f'Status FromJson(const json::Value& value, {name}* out);\n'
        out += f'json::Value ToJson(const {name}& object);\n'
        out += f'bool ReadValue(api::codec::Decoder& decoder, const json::Value& value, {name}* out);\n'
        if type_.resource:
            out += self.traits(type_)
        if type_.full_name in self.optional:
            out += f'extern template class api::Optional<{name}>;\n'
        return out

    def traits(self, type_):
        kind, package = type_.resource, type_.package
        return (f'\ntemplate <>\nstruct KindTraits<{type_.cpp_name}> {{\n'
                f'  static constexpr std::string_view group = {literal(package.group)}, '
                f'version = {literal(package.version)}, kind = {literal(type_.name)}, '
                f'plural = {literal(kind.plural)};\n'
                f'  static constexpr bool namespaced = {"true" if kind.namespaced else "false"};\n}};\n')

    def sources(self, alias):
        """Large groups are cut into several files, so that they compile side by side."""
        types = self.groups[alias]
        for part, first in enumerate(range(0, len(types), PART), 1):
            name = f'types_{alias}.cc' if len(types) <= PART else f'types_{alias}_{part}.cc'
            yield name, self.source(alias, types[first:first + PART])

    def source(self, alias, types):
        out = '// Generated from src/api/schema/groups/*.schema. Do not edit.\n'
        out += f'#include "api/types/{alias}.h"\n\n#include "api/types/typed_codec.h"\n\nnamespace flyball {{\n'
        out += '\nusing namespace api::codec;\n'
        for type_ in types:
            out += self.reader(type_) + self.writer(type_) + self.entry_points(type_)
        out += '\n'
        for type_ in types:
            if type_.full_name in self.optional:
                out += f'template class api::Optional<{type_.cpp_name}>;\n'
        return out + '\n}  // namespace flyball\n'

    def reader(self, type_):
        name, fields = type_.cpp_name, self.fields(type_)
        out = f'\nbool ReadValue(Decoder& decoder, const json::Value& value, {name}* out) {{\n'
        if not fields:
            return out + '  return decoder.ReadObject(value, {}, out, nullptr);\n}\n'
        names = ', '.join(literal(field.name) for field in fields)
        out += f'  static constexpr std::string_view kNames[] = {{{names}}};\n'
        out += '  return decoder.ReadObject(value, kNames, out,\n'
        out += '      [](Decoder& d, std::size_t field, const json::Value& v, void* target) {\n'
        out += f'    auto& o = *static_cast<{name}*>(target);\n    switch (field) {{\n'
        for i, field in enumerate(fields):
            out += f'      case {i}: return {self.read_expression(field)};\n'
        return out + '    }\n    return true;\n  });\n}\n'

    def writer(self, type_):
        out = f'\njson::Value ToJson(const {type_.cpp_name}& in) {{\n  json::Object out;\n'
        if type_.resource:
            package = type_.package
            api_version = f'{package.group}/{package.version}' if package.group else package.version
            out += f'  out.Append("kind", {literal(type_.name)});\n'
            out += f'  out.Append("apiVersion", {literal(api_version)});\n'
        for field in self.fields(type_):
            out += f'  {self.write_statement(field)}\n'
        if not self.fields(type_):
            out += '  (void)in;\n'
        return out + '  return out;\n}\n'

    def entry_points(self, type_):
        name = type_.cpp_name
        out = f'\nStatus FromJson(const json::Value& value, {name}* out) {{\n'
        out += f'  Decoder decoder;\n  Renew(out);\n'
        check = f'decoder.CheckKind(value, {literal(type_.name)}) && ' if type_.resource else ''
        return out + f'  return decoder.Finish({check}ReadValue(decoder, value, out), {literal(name)});\n}}\n'
