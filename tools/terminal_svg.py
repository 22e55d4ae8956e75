#!/usr/bin/env python3
"""Types commands into a terminal and draws what it showed, as an SVG that is light or dark as its reader likes it.

    PATH=build:$PATH tools/terminal_svg.py [--columns N] COMMANDS.txt OUTPUT.svg

Each line of the file is a command, run by bash on a pseudo-terminal, in one shell. `#` begins a comment; of a command that begins with
@ nothing is shown (waiting, tidying up). The picture holds what the programs wrote, as it stood at the end: lines that were written over
are not in it.
"""
import argparse
import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import fcntl

PROMPT = '$ '
LINE, CHARACTER, MARGIN, BAR = 18, 7.9, 16, 30
# Light first, dark second.
COLOURS = {'paper': ('#ffffff', '#0d1117'), 'frame': ('#d0d7de', '#30363d'), 'text': ('#1f2328', '#e6edf3'), 'typed': ('#0550ae', '#79c0ff'),
           'prompt': ('#6e7781', '#8b949e')}
ESCAPE = re.compile(r'\x1b\[[0-9;?]*([A-Za-z])')


class Screen:
    """The lines of a terminal that knows line feeds, carriage returns and erasing to the end of the line."""

    def __init__(self):
        self.lines, self.column = [''], 0

    def write(self, text):
        while text:
            escape = ESCAPE.match(text)
            if escape:
                if escape.group(1) == 'K':
                    self.lines[-1] = self.lines[-1][:self.column]
                text = text[escape.end():]
                continue
            character, text = text[0], text[1:]
            if character == '\n':
                self.lines.append('')
                self.column = 0
            elif character == '\r':
                self.column = 0
            elif character >= ' ':
                line = self.lines[-1].ljust(self.column)
                self.lines[-1] = line[:self.column] + character + line[self.column + 1:]
                self.column += 1


def run(command, columns, state):
    """What the command shows. Folder and environment of the shell are kept from one to the next."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    script = 'source %s 2>/dev/null; %s\nstatus=$?; export -p >%s; exit $status' % (state, command, state)
    process = subprocess.Popen(['bash', '-c', script], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                               env={**os.environ, 'TERM': 'xterm', 'COLUMNS': str(columns)})
    os.close(terminal)
    shown = b''
    while True:
        ready = select.select([main], [], [], 0.1)[0]
        try:
            data = os.read(main, 65536) if ready else None
        except OSError:
            data = b''
        if data == b'' or (data is None and process.poll() is not None):
            break
        shown += data or b''
    os.close(main)
    if process.wait() != 0:
        sys.exit('%s: exit status %d\n%s' % (command, process.returncode, shown.decode(errors='replace')))
    screen = Screen()
    screen.write(shown.decode(errors='replace'))
    return [line for line in screen.lines][:-1] if screen.lines[-1] == '' else screen.lines


def picture(lines, columns, title):
    """`lines`: (kind, text) pairs, kind being typed or text."""
    width, height = int(2 * MARGIN + columns * CHARACTER), BAR + 2 * MARGIN + len(lines) * LINE
    style = ['text { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }']
    for shade, query in enumerate(('%s', '@media (prefers-color-scheme: dark) { %s }')):
        rules = ' '.join('.%s { fill: %s; }' % (name, colours[shade]) for name, colours in COLOURS.items() if name != 'frame')
        style.append(query % (rules + ' .paper { stroke: %s; }' % COLOURS['frame'][shade]))
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">' %
           (width, height, width, height, html.escape(title)), '<title>%s</title>' % html.escape(title), '<style>%s</style>' % '\n'.join(style),
           '<rect class="paper" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>' % (width - 1, height - 1)]
    out += ['<circle class="prompt" opacity="0.5" cx="%d" cy="%d" r="5"/>' % (MARGIN + 6 + 18 * i, BAR // 2 + 2) for i in range(3)]
    for number, (kind, text) in enumerate(lines):
        y = BAR + MARGIN + number * LINE + 8
        body = html.escape(text[:columns], quote=False)
        if kind == 'typed':
            body = '<tspan class="prompt">%s</tspan>%s' % (PROMPT, body)
        out.append('<text class="%s" x="%d" y="%d" xml:space="preserve">%s</text>' % (kind, MARGIN, y, body))
    return '\n'.join(out + ['</svg>', ''])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--columns', type=int, default=110)
    parser.add_argument('--title', default='Flyball in a terminal')
    parser.add_argument('commands')
    parser.add_argument('output')
    options = parser.parse_args()
    state = options.output + '.environment'
    lines = []
    try:
        with open(options.commands) as f:
            commands = [line.strip() for line in f if line.strip() and not line.startswith('#')]
        for command in commands:
            shown = run(command.lstrip('@'), options.columns, state)
            if not command.startswith('@'):
                lines += ([('text', '')] if lines else []) + [('typed', command)] + [('text', line) for line in shown]
    finally:
        if os.path.exists(state):
            os.unlink(state)
    with open(options.output, 'w') as f:
        f.write(picture(lines, options.columns, options.title))


if __name__ == '__main__':
    main()
