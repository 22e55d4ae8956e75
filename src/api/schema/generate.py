#!/usr/bin/env python3
"""Turns the schema files into C++.

generate.py OUT FILE...       writes OUT/schema_tables.cc
"""

import io
import os
import sys

from model import Model
from notation import NotationError
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


def main(arguments):
    out, paths = arguments[0], arguments[1:]
    try:
        model = Model(paths)
    except NotationError as error:
        sys.exit(str(error))
    tables = io.StringIO()
    Tables(model).write(tables)
    write_if_changed(os.path.join(out, 'schema_tables.cc'), tables.getvalue())


if __name__ == '__main__':
    main(sys.argv[1:])
