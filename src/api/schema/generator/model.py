"""The whole schema: every package read, the fields kinds have in common added, names resolved."""

import os

from notation import Field, GoNames, NotationError, Reader, Release, Type, TypeRef

COMMON_FIELDS = (
    ('kind', 'Kind is a string value that names the REST resource this object represents, in CamelCase. Cannot be updated.'),
    ('apiVersion', 'APIVersion defines the versioned schema of this representation of an object.'),
)


class Model:
    def __init__(self, paths):
        self.packages = [Reader(path, os.path.basename(path)[:-len('.schema')]).read() for path in sorted(paths)]
        self.release = Release(os.path.dirname(paths[0]))
        self.go_names = GoNames(os.path.dirname(paths[0]))
        self.types = {}
        for package in self.packages:
            for type_ in package.types:
                self.types[type_.full_name] = type_
        self.go_names.check(self.types)
        self.meta = next(package for package in self.packages if package.alias == 'meta')
        for package in self.packages:
            for type_ in list(package.types):
                if type_.resource:
                    self.complete_kind(package, type_)
        for type_ in self.types.values():
            for field in type_.fields:
                self.bind(type_.package, field.ref)

    def complete_kind(self, package, type_):
        type_.fields[0:0] = self.common_fields(type_.resource.metadata)
        if 'list' in type_.resource.verbs.split(','):
            self.add_list(package, type_)

    def common_fields(self, metadata):
        fields = []
        for name, description in COMMON_FIELDS:
            field = Field(name, TypeRef('kString'))
            field.description = description
            fields.append(field)
        if metadata:
            field = Field('metadata', TypeRef('kObject', name='meta.' + metadata))
            field.proto = (1,)
            field.description = {'ObjectMeta': "Standard object's metadata.",
                                 'ListMeta': 'Standard list metadata.'}[metadata]
            fields.append(field)
        return fields

    def add_list(self, package, item):
        list_type = Type('kObject', package, item.name + 'List')
        list_type.description = f'A list of {item.name} objects.'
        list_type.fields = self.common_fields('ListMeta')
        items = Field('items', TypeRef('kList', element=TypeRef('kObject', name=item.name)))
        items.ref.list_declared = False
        items.always, items.proto, items.description = True, (2,), f'List of {item.resource.plural}.'
        list_type.fields.append(items)
        self.types[list_type.full_name] = list_type

    def bind(self, package, ref):
        if ref.element:
            self.bind(package, ref.element)
        if ref.kind == 'kObject':
            ref.target = self.resolve(package, ref.name)

    def resolve(self, package, name):
        alias, _, short = name.rpartition('.')
        candidates = [package] if not alias else [p for p in self.packages if p.alias == alias]
        for candidate in candidates:
            found = self.types.get(candidate.name + '.' + short)
            if found:
                return found
        raise NotationError(f'{package.stem}: there is no type {name}')

    def kinds(self):
        """The kinds that are resources, in discovery order."""
        for package in sorted((p for p in self.packages if p.group is not None), key=lambda p: p.order):
            for type_ in package.types:
                if type_.resource and type_.resource.plural:
                    yield type_.resource

    def all_kinds(self):
        for package in self.packages:
            for type_ in package.types:
                if type_.resource:
                    yield type_.resource
