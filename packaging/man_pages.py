#!/usr/bin/env python3
"""Writes the manual pages of the program from what it says of its commands.

    man_pages.py build/flyball FOLDER

One page for the program and one for each command, with the commands below it.
"""
import json
import os
import re
import subprocess
import sys


def load_reference(program):
    return json.loads(subprocess.run([program, '__reference'], capture_output=True, text=True, check=True).stdout)


def escaped(text):
    """Text as roff takes it: no line is a request, and dashes and backslashes are what they are."""
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.MULTILINE)


def flag_names(flag):
    names = ('\\-%s, ' % flag['shorthand'] if flag['shorthand'] else '') + '\\-\\-' + escaped(flag['name'])
    if flag['type'] == 'bool':
        return '\\fB%s\\fR' % names
    return '\\fB%s\\fR=\\fI%s\\fR' % (names, escaped(flag['type']))


def flag_lines(flags):
    lines = []
    for flag in sorted(flags, key=lambda flag: flag['name']):
        default = flag['default']
        worth_saying = default and default not in ('false', '[]', "''", '0')
        help_text = flag['help'] + (' (default: %s)' % default if worth_saying else '') + (' (required)' if flag['required'] else '')
        lines += ['.TP', flag_names(flag), escaped(help_text)]
    return lines


def example_lines(command):
    return ['.nf'] + ['    ' + escaped(line) for line in command['example'].split('\n')] + ['.fi'] if command['example'] else []


def command_lines(command, level):
    """A command below that of the page."""
    lines = ['.%s "%s %s"' % ('SS' if level else 'SH', escaped(command['path']), escaped(command['args']['name'])), escaped(command['summary'] + '.')]
    lines += example_lines(command) + flag_lines(command['flags'])
    for below in command['commands']:
        lines += command_lines(below, level + 1)
    return lines


def header(name, summary, version):
    return ['.TH "%s" 1 "" "flyball %s" "Flyball"' % (name.upper().replace('-', '\\-'), version), '.SH NAME', '%s \\- %s' % (escaped(name), escaped(summary))]


def command_page(command, version):
    name = command['path'].replace(' ', '-')
    lines = header(name, command['summary'], version)
    usage = '%s%s [options]' % (command['path'], ' COMMAND' if command['commands'] else ' ' + command['args']['name'] if command['args']['name'] else '')
    lines += ['.SH SYNOPSIS', '\\fB%s\\fR' % escaped(usage)]
    if command['args']['help']:
        lines += ['.SH ARGUMENTS', '.TP', '\\fI%s\\fR' % escaped(command['args']['name']), escaped(command['args']['help'])]
    if command['aliases']:
        lines += ['.SH ALIASES', escaped(', '.join(command['aliases']))]
    if command['example']:
        lines += ['.SH EXAMPLE'] + example_lines(command)
    if command['flags']:
        lines += ['.SH OPTIONS'] + flag_lines(command['flags'])
    if command['commands']:
        lines.append('.SH COMMANDS')
        for below in command['commands']:
            lines += command_lines(below, 1)
    return name, lines + ['.SH SEE ALSO', '\\fBflyball\\fR(1), which has the options that every command takes']


def main_page(root, version):
    lines = header('flyball', root['summary'], version) + ['.SH SYNOPSIS', '\\fBflyball\\fR COMMAND [options]']
    section = None
    for command in root['commands']:
        if command['section'] != section:
            section = command['section']
            lines += ['.SH "%s"' % escaped((section or 'Other').upper())]
        lines += ['.TP', '\\fBflyball\\-%s\\fR(1)' % escaped(command['name']), escaped(command['summary'])]
    lines += ['.SH OPTIONS', 'Every command that uses a cluster takes these:'] + flag_lines(root['flags'])
    lines += ['.SH FILES', '.TP', '~/.kube/config', 'The clusters and users, unless $KUBECONFIG names other files',
              '.TP', '~/.local/share/flyball', 'What clusters with names keep; $XDG_DATA_HOME/flyball if that is set']
    return 'flyball', lines


def write_pages(program, folder, version):
    root = load_reference(program)
    os.makedirs(folder, exist_ok=True)
    for name, lines in [main_page(root, version)] + [command_page(command, version) for command in root['commands']]:
        with open(os.path.join(folder, name + '.1'), 'w') as f:
            f.write('\n'.join(line for line in lines if line) + '\n')


if __name__ == '__main__':
    write_pages(sys.argv[1], sys.argv[2], '')
