"""Reads the schema notation (docs/schema.md) into plain objects. Every error names the file and line."""

import json
import re

SCALARS = {
    's': 'kString', 'i32': 'kInt32', 'i64': 'kInt64', 'f64': 'kFloat64', 'b': 'kBool', 'bytes': 'kBytes',
    'time': 'kTime', 'utime': 'kMicroTime', 'duration': 'kDuration', 'qty': 'kQuantity',
    'intstr': 'kIntOrString', 'raw': 'kRaw', 'any': 'kAny',
}
CRUD = 'create,delete,deletecollection,get,list,patch,update,watch'
STRATEGIES = {'replace': 'kReplace', 'merge': 'kMerge', 'retainKeys': 'kRetainKeys',
              'mergeRetainKeys': 'kMergeRetainKeys'}
NUMBER_RULES = {'min': 'kMin', 'max': 'kMax', 'minlen': 'kMinLength', 'maxlen': 'kMaxLength',
                'minitems': 'kMinItems', 'maxitems': 'kMaxItems'}
LIST_RULES = {'enum': 'kEnum', 'oneof': 'kOneOf', 'atmostone': 'kAtMostOneOf'}


class NotationError(Exception):
    pass


class Rule:
    def __init__(self, kind, number=0, high=0, text='', values=()):
        self.kind, self.number, self.high, self.text, self.values = kind, number, high, text, tuple(values)


class TypeRef:
    """A scalar, a named type, or a list or map of a TypeRef."""

    def __init__(self, kind, name='', element=None):
        self.kind, self.name, self.element = kind, name, element
        self.list_type, self.list_declared, self.list_keys = 'kAtomic', True, ()


class Field:
    def __init__(self, name, ref):
        self.name, self.ref = name, ref
        self.always = self.pointer = self.optional = self.demanded = self.atomic = False
        self.proto, self.rules = (), []
        self.patch, self.patch_key = 'kDefault', ''
        self.default, self.published = '', False
        self.gate = ''
        self.description = ''


class Type:
    def __init__(self, kind, package, name):
        self.kind, self.package, self.name = kind, package, name  # kind: kObject, kRaw, kAny
        self.full_name = package.name + '.' + name
        self.fields, self.rules = [], []
        self.atomic, self.description = False, ''
        self.union_discriminator, self.union_fields = '', ()
        self.cpp_name = name
        self.resource = None  # a Kind, for kinds


class Kind:
    def __init__(self, type_):
        self.type = type_
        self.plural = self.singular = self.verbs = ''
        self.short_names, self.categories, self.selectable = (), (), ()
        self.namespaced = self.typed = False
        self.since = 0  # the minor version that first served it by default; 0: any
        self.metadata = 'ObjectMeta'  # 'ListMeta' for Status, '' for none
        self.subresources, self.columns = [], []


class Package:
    def __init__(self, stem):
        self.stem, self.name, self.group, self.version, self.order = stem, '', None, '', 0
        self.alias = stem.split('.')[0]
        self.types = []


def tokens(text):
    """Splits a line at blanks; a quoted string, a JSON default and re:/.../ may hold blanks themselves."""
    out, i, decoder = [], 0, json.JSONDecoder()
    while i < len(text):
        if text[i].isspace():
            i += 1
            continue
        if text[i] == '#':
            break
        if text[i] == '"':
            value, i = decoder.raw_decode(text, i)
            out.append(('text', value))
            continue
        if text[i] in '=~':
            _, end = decoder.raw_decode(text, i + 1)
        elif text.startswith('re:/', i):
            match = re.compile(r're:/(?:[^/\\]|\\.)*/').match(text, i)
            if not match:
                raise ValueError('unfinished re:/')
            end = match.end()
        else:
            end = i
            while end < len(text) and not text[end].isspace():
                end += 1
        out.append(('word', text[i:end]))
        i = end
    return out


def options(words):
    return dict(word.split('=', 1) for word in words if '=' in word)


def names(text):
    return tuple(part for part in text.split(',') if part)


class Reader:
    def __init__(self, path, stem):
        self.path, self.package = path, Package(stem)
        self.type = None

    def read(self):
        with open(self.path, encoding='utf-8') as source:
            for number, line in enumerate(source, 1):
                try:
                    self.line(line)
                except (ValueError, IndexError, KeyError, NotationError) as error:
                    raise NotationError(f'{self.path}:{number}: {error}') from error
        return self.package

    def line(self, line):
        parts = tokens(line)
        if not parts:
            return
        description = parts.pop()[1] if parts[-1][0] == 'text' else ''
        words = [part[1] for part in parts]
        if line[0].isspace():
            self.member(words, description)
        else:
            self.declaration(words, description)

    def declaration(self, words, description):
        keyword = words[0]
        if keyword == 'package':
            self.package.name = words[1]
        elif keyword == 'group':
            self.package.group = '' if words[1] == '-' else words[1]
            self.package.version = words[2]
            self.package.order = int(options(words).get('order', 0))
        elif keyword in ('kind', 'type', 'raw', 'any'):
            self.new_type(keyword, words, description)
        else:
            raise NotationError(f'unknown declaration {keyword}')

    def new_type(self, keyword, words, description):
        table_kind = {'raw': 'kRaw', 'any': 'kAny'}.get(keyword, 'kObject')
        self.type = Type(table_kind, self.package, words[1])
        self.type.description = description
        if keyword == 'kind':
            self.type.resource = Kind(self.type)
        for word in words[2:]:
            if word == 'atomic':
                self.type.atomic = True
            elif word.startswith('union:'):
                _, self.type.union_discriminator, members = word.split(':')
                self.type.union_fields = names(members)
            elif word.startswith('cpp:'):
                self.type.cpp_name = word[4:]
            elif not self.rule(word, self.type.rules):
                raise NotationError(f'unknown attribute {word}')
        self.package.types.append(self.type)

    def member(self, words, description):
        kind = self.type.resource
        handler = getattr(self, 'kind_' + words[0], None) if kind else None
        # A field may be called like a kind's line ("resource"): a field's second word is a type with a number.
        if handler and not (len(words) > 2 and re.fullmatch(r'[0-9.]+', words[2])):
            handler(kind, words[1:], description)
        else:
            self.field(words, description)

    def kind_resource(self, kind, words, _):
        opts = options(words)
        kind.plural, kind.singular = words[0], opts['singular']
        kind.short_names, kind.categories = names(opts.get('short', '')), names(opts.get('categories', ''))
        kind.namespaced = {'namespaced': True, 'cluster': False}[opts['scope']]
        kind.since = int(opts.get('since', '1.0').partition('.')[2])

    def kind_verbs(self, kind, words, _):
        kind.verbs = CRUD if words[0] == 'crud' else words[0]

    def kind_subresource(self, kind, words, _):
        opts = options(words)
        group, version, name = ([''] + opts['kind'].split('/'))[-3:] if 'kind' in opts else ('', '', '')
        kind.subresources.append((words[0], group, version, name, opts.get('verbs', 'get,patch,update')))

    def kind_selectable(self, kind, words, _):
        kind.selectable = tuple(words)

    def kind_column(self, kind, words, description):
        opts = options(words)
        kind.columns.append((words[0], words[1], opts.get('format', ''), description, opts.get('path', ''),
                             int(opts.get('priority', 0))))

    def kind_typed(self, kind, *_):
        kind.typed = True

    def kind_nometa(self, kind, *_):
        kind.metadata = ''

    def kind_listmeta(self, kind, *_):
        kind.metadata = 'ListMeta'

    def field(self, words, description):
        match = re.fullmatch(r'(.*?)([!?*+]*)', words[1])
        field = Field(words[0], self.type_ref(match[1]))
        marks = match[2]
        if marks not in ('', '!', '?', '*', '+', '!?', '*?', '+?'):
            raise NotationError(f'unknown mark {marks}')
        field.always, field.pointer, field.optional = '!' in marks or '*' in marks, '?' in marks, '*' in marks
        field.demanded = '+' in marks
        field.description = description
        rest = words[2:]
        if rest and re.fullmatch(r'[0-9]+(\.[0-9]+)*', rest[0]):
            field.proto = tuple(int(part) for part in rest.pop(0).split('.'))
        for word in rest:
            self.attribute(field, word)
        self.type.fields.append(field)

    def type_ref(self, text):
        if text in SCALARS:
            return TypeRef(SCALARS[text])
        if text[0] == '[' and text[-1] == ']':
            return TypeRef('kList', element=self.type_ref(text[1:-1]))
        if text[0] == '{' and text[-1] == '}':
            return TypeRef('kMap', element=self.type_ref(text[1:-1]))
        if not re.fullmatch(r'([a-z]+\.)?[A-Z]\w*', text):
            raise NotationError(f'not a type: {text}')
        return TypeRef('kObject', name=text)

    def attribute(self, field, word):
        if word[0] in '=~':
            field.default, field.published = word[1:], word[0] == '='
        elif word.startswith('map:'):
            field.ref.list_type, field.ref.list_keys = 'kMap', names(word[4:])
        elif word == 'set':
            field.ref.list_type = 'kSet'
        elif word == 'nolt':
            field.ref.list_declared = False
        elif word == 'atomic':
            field.atomic = True
        elif word.startswith('gate:'):
            field.gate = word[5:]
        elif word.startswith('smp:'):
            strategy, _, field.patch_key = word[4:].partition(':')
            field.patch = STRATEGIES[strategy]
        elif not self.rule(word, field.rules):
            raise NotationError(f'unknown attribute {word}')

    def rule(self, word, rules):
        name, _, rest = word.partition(':')
        if word in ('required', 'immutable'):
            rules.append(Rule('k' + word.capitalize()))
        elif name in NUMBER_RULES:
            rules.append(Rule(NUMBER_RULES[name], number=int(rest)))
        elif name == 'range':
            low, high = rest.split(',')
            rules.append(Rule('kRange', number=int(low), high=int(high)))
        elif name in LIST_RULES:
            rules.append(Rule(LIST_RULES[name], values=rest.split(',')))
        elif name == 're':
            rules.append(Rule('kPattern', text=rest[1:-1]))
        elif name == 'fmt':
            rules.append(Rule('kFormat', text=rest))
        else:
            return False
        return True


class Gate:
    """A feature gate: its state by release, and what it does here."""

    def __init__(self, name, specs):
        self.name, self.effect = name, ''
        self.specs = []  # (minor, stage, on, locked)
        for spec in specs:
            version, stage, default, *locked = spec.split(':')
            self.specs.append((int(version.partition('.')[2]), stage, default == 'on', bool(locked)))


class Release:
    """feature.gates and feature.effects: the version that is spoken, and its gates in alphabetical order."""

    def __init__(self, folder):
        self.version, self.gates = '', {}
        for words in self.lines(folder + '/feature.gates'):
            if words[0] == 'kubernetes':
                self.version = words[1]
            else:
                self.gates[words[0]] = Gate(words[0], words[1:])
        for words in self.lines(folder + '/feature.effects'):
            if words[0] not in self.gates:
                raise NotationError(f'feature.effects: there is no gate {words[0]}')
            self.gates[words[0]].effect = ' '.join(words[1:])

    @staticmethod
    def lines(path):
        with open(path, encoding='utf-8') as source:
            return [line.split() for line in source if line.strip() and not line.startswith('#')]

    def number(self, name):
        """From 1 on: 0 is no gate."""
        if name not in self.gates:
            raise NotationError(f'there is no feature gate {name}')
        return list(self.gates).index(name) + 1


class GoNames:
    """go.names: rows (type, field, embedded structs or '', Go type or ''), sorted."""

    def __init__(self, folder):
        self.rows = []
        for words in Release.lines(folder + '/go.names'):
            embedded = ''
            for i, word in enumerate(words[1:], 1):
                if word == 'in':
                    continue
                if words[i - 1] == 'in':
                    embedded = word.rstrip(':')
                    continue
                field, _, go_type = word.partition('=')
                self.rows.append((words[0], field, embedded, go_type))
        self.rows.sort()

    def check(self, types):
        for name in {row[0] for row in self.rows} - set(types):
            raise NotationError(f'go.names: there is no type {name}')
