"""The reference pages of the documentation, from the code and the program: commands and flags, kinds, metrics, events, conformance.

Each function returns a page as Markdown.
"""
import collections
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = [path for path in sorted((ROOT / 'src').rglob('*.cc')) + sorted((ROOT / 'src').rglob('*.h'))
          if not re.search(r'_(test|bench|fuzz)\.cc$|/testing/', str(path))]
TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
METRIC = re.compile(r'Get(Counter|Gauge|Histogram)\(\s*"(\w+)",\s*' + TEXT)
EVENT = re.compile(r'(?:\.|->)(Normal|Warning)\(\s*[^,;()]+(?:\([^()]*\))?,\s*"([A-Z]\w+)"')


def cell(text):
    """Text for a table."""
    return text.replace('|', '\\|').replace('\n', ' ').replace('<', '&lt;').replace('*', '\\*')


def table(header, rows):
    lines = ['| ' + ' | '.join(header) + ' |', '|' + '---|' * len(header)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows]) + '\n'


def flag_rows(flags):
    for flag in sorted(flags, key=lambda flag: flag['name']):
        name = ('`-%s`, ' % flag['shorthand'] if flag['shorthand'] else '') + '`--%s`' % flag['name']
        yield name, flag['type'].lower(), '`%s`' % flag['default'] if flag['default'] not in ('', '[]') else '', cell(flag['help'])


def command_section(command, level):
    arguments = ' ' + command['args']['name'] if command['args']['name'] else ''
    text = '%s %s\n\n%s.\n\n    %s%s [options]\n\n' % ('#' * level, command['path'], cell(command['summary']).rstrip('.'), command['path'], arguments)
    if command['args']['help']:
        text += '%s: %s.\n\n' % (cell(command['args']['name']), cell(command['args']['help']))
    if command['example']:
        text += 'Example:\n\n' + ''.join('    %s\n' % line for line in command['example'].split('\n')) + '\n'
    if command['flags']:
        text += table(['flag', 'type', 'default', 'meaning'], flag_rows(command['flags'])) + '\n'
    for below in command['commands']:
        text += command_section(below, min(level + 1, 6))
    return text


def commands(program):
    root = json.loads(subprocess.run([program, '__reference'], capture_output=True, text=True, check=True).stdout)
    text = '# Commands and flags\n\nWhat `flyball COMMAND --help` says, of all commands.\n\n'
    sections = collections.OrderedDict()
    for command in root['commands']:
        sections.setdefault(command['section'] or 'Other', []).append(command)
    for title, inside in sections.items():
        text += '## %s\n\n' % title + ''.join(command_section(command, 3) for command in inside)
    return text + '## Flags of every command that uses a cluster\n\n' + table(['flag', 'type', 'default', 'meaning'], flag_rows(root['flags']))


class Server:
    """A server to ask for what only a running one knows."""

    def __init__(self, program):
        self.program = program
        self.process = subprocess.Popen([program, 'testserver', '--print', 'json', '--controllers'], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.kubeconfig = json.loads(self.process.stdout.readline())['kubeconfig']

    def ask(self, *arguments):
        return subprocess.run([self.program, *arguments, '--kubeconfig', self.kubeconfig], capture_output=True, text=True, check=True).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def kinds(server):
    """What is served, by discovery."""
    rows = []
    for version in server.ask('api-versions').split():
        path = '/apis/' + version if '/' in version else '/api/' + version
        resources = json.loads(server.ask('get', '--raw', path))['resources']
        subresources = collections.defaultdict(list)
        for resource in resources:
            if '/' in resource['name']:
                name, below = resource['name'].split('/', 1)
                subresources[name].append(below)
        for resource in resources:
            if '/' not in resource['name']:
                rows.append((version, resource['kind'], '`%s`' % resource['name'], ', '.join(resource.get('shortNames', [])),
                             'yes' if resource['namespaced'] else 'no', ' '.join(resource['verbs']), ', '.join(sorted(subresources[resource['name']]))))
    text = '# What the API serves\n\n%d kinds in %d group versions, as discovery lists them. Feature gates and `--runtime-config` add more\n([feature gates](../feature-gates.md)).\n\n'
    return text % (len(rows), len({row[0] for row in rows})) + table(['version', 'kind', 'resource', 'short', 'namespaced', 'verbs', 'subresources'], sorted(rows))


def unquoted(text):
    return ''.join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', text))


def metrics(server):
    """Those in the source with a text of their own, and those that a server shows."""
    found = {}
    for path in SOURCE:
        for kind, name, text in METRIC.findall(path.read_text()):
            found[name] = (kind.lower(), unquoted(text), str(path.relative_to(ROOT)))
    shown = server.ask('get', '--raw', '/metrics')
    helps, types = (dict(re.findall(r'^# %s (\w+) (.*)$' % what, shown, re.M)) for what in ('HELP', 'TYPE'))
    for name, kind in types.items():
        found.setdefault(name, (kind, helps.get(name, ''), ''))
    rows = [('`%s`' % name, kind, cell(text), '`%s`' % path if path else '') for name, (kind, text, path) in sorted(found.items())]
    return '# Metrics\n\n%d metrics of `/metrics`, with the names of Kubernetes where it has them.\n\n' % len(rows) + table(['metric', 'type', 'meaning', 'source'], rows)


def events():
    """Reasons of events that controllers and nodes record."""
    found = collections.defaultdict(set)
    for path in SOURCE:
        for kind, reason in EVENT.findall(path.read_text()):
            found[reason].add((kind, str(path.relative_to(ROOT))))
    rows = [('`%s`' % reason, ', '.join(sorted({kind for kind, _ in where})), ', '.join('`%s`' % path for path in sorted({path for _, path in where})))
            for reason, where in sorted(found.items())]
    return '# Events\n\nThe reasons of Events, and who records them. `kubectl events --for KIND/NAME` shows those of an object.\n\n' + table(['reason', 'type', 'source'], rows)


def conformance():
    lines = (ROOT / 'tests/conformance/expected.tsv').read_text().strip().split('\n')[1:]
    rows = [(line.split('\t') + [''] * 4)[:4] for line in lines]
    states = collections.Counter(row[2] for row in rows)
    text = '# Conformance tests\n\n%d tests of the suite of Kubernetes: %s. [Conformance](../conformance.md) says what the classes are.\n\n'
    return text % (len(rows), ', '.join('%d %s' % (count, state) for state, count in states.most_common())) + \
        table(['test', 'class', 'state', 'why'], [tuple(cell(field) for field in row) for row in rows])


def write_all(program, folder):
    with Server(program) as server:
        pages = {'commands': commands(program), 'kinds': kinds(server), 'metrics': metrics(server), 'events': events(), 'conformance': conformance()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / (name + '.md')).write_text(text)
