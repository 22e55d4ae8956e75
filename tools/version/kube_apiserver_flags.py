#!/usr/bin/env python3
"""Writes src/cli/foreign_flags/kube_apiserver_flags.cc: every flag of kube-apiserver, its section, type and default.

    kube_apiserver_flags.py KUBE_APISERVER      # the real program, for its --help
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / 'src/cli/foreign_flags/kube_apiserver_flags.cc'
SECTION = re.compile(r'^([A-Z][\w .-]*) flags:\s*$')
FLAG = re.compile(r'^  (?:-\w, |    )--([a-z0-9-]+)(?: (\S+))?(?:  +.*|)$')
DEFAULT = re.compile(r'\(default ("[^"]*"|\[[^\]]*\]|[^()]*)\)\s*$')
# Not part of the help; `grep -r MarkDeprecated` in k8s.io/apiserver/pkg/server/options and in pkg/ and cmd/ of
# k8s.io/kubernetes finds them.
DEPRECATED = (('default-watch-cache-size', 'int'), ('audit-webhook-batch-initial-backoff', 'duration'), ('admission-control', 'strings'),
              ('kubelet-port', 'int'), ('kubelet-read-only-port', 'int'), ('apiserver-count', 'int'))
PAGE = '''#include "cli/foreign_flags/kube_apiserver_flags.h"

namespace flyball::cli {
namespace {

// Flags without a section are deprecated: known, but not shown.
constexpr ForeignFlag kKubeApiserverFlags[] = {
%s};

}  // namespace

std::span<const ForeignFlag> KubeApiserverFlags() {
  return kKubeApiserverFlags;
}

}  // namespace flyball::cli
'''


def flags(text):
    section = None
    for line in text.splitlines():
        if found := SECTION.match(line):
            section = found.group(1)
        elif section and (found := FLAG.match(line)) and found.group(1) != 'help':
            default = DEFAULT.search(line)
            value = default.group(1).strip('"') if default else ''
            yield section, found.group(1), found.group(2) or 'bool', '' if value == '[]' else value


def main():
    text = subprocess.run([sys.argv[1], '--help'], capture_output=True, text=True, check=True).stdout
    rows = list(flags(text))
    listed = {name for _, name, _, _ in rows}
    rows += [('', name, kind, '') for name, kind in DEPRECATED if name not in listed]
    TARGET.write_text(PAGE % ''.join('    {"%s", "%s", "%s", "%s"},\n' % row for row in rows))
    print('%d flags; run clang-format on %s' % (len(rows), TARGET.relative_to(ROOT)))


if __name__ == '__main__':
    main()
