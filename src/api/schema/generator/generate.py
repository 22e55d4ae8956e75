#!/usr/bin/env python3
"""Turns the schema files into C++.

generate.py OUT FILE...             writes schema_tables.cc, types/*.h and types_*.cc into OUT
generate.py --outputs OUT FILE...   prints what it would write, separated by semicolons, for CMake
"""

import io
import os
import sys

from model import Model
from notation import NotationError
from structs import Structs
from tables import Tables


def write_if_changed(path, text):
    """An unchanged file keeps its time stamp, so that nothing that includes it is compiled again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding='utf-8') as old:
            if old.read() == text:
                return
    with open(path, 'w', encoding='utf-8') as new:
        new.write(text)


def version_header(version):
    major, minor, _ = version.split('.')
    return f'''// Generated from src/api/schema/groups/feature.gates. Do not edit.
#pragma once

#include <string_view>

namespace flyball::api {{

// The Kubernetes version whose API is spoken.
inline constexpr std::string_view kKubernetesVersion = "v{version}";
inline constexpr int kKubernetesMajor = {major};
inline constexpr int kKubernetesMinor = {minor};

}}  // namespace flyball::api
'''


def contents(model):
    """Path below OUT, and text, of everything generated."""
    tables = io.StringIO()
    Tables(model).write(tables)
    yield 'schema_tables.cc', tables.getvalue()
    structs = Structs(model)
    for alias in structs.groups:
        yield f'types/{alias}.h', structs.header(alias)
        yield from structs.sources(alias)
    yield 'types/schema_names.h', structs.schema_names()
    yield 'kubernetes_version.h', version_header(model.release.version)


def main(arguments):
    list_only = arguments[0] == '--outputs'
    out, paths = arguments[list_only], arguments[list_only + 1:]
    try:
        model = Model(paths)
    except NotationError as error:
        sys.exit(str(error))
    if list_only:
        print(';'.join(os.path.join(out, path) for path, _ in contents(model)), end='')
        return
    for path, text in contents(model):
        write_if_changed(os.path.join(out, path), text)


if __name__ == '__main__':
    main(sys.argv[1:])
