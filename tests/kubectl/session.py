"""A session with kubectl that reads like one: what is typed, and what must be printed."""
import re
import shlex
import textwrap
import time

# What differs from run to run, and what kubectl pads with.
NORMAL = [(re.compile(pattern), text) for pattern, text in [
    (r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '<uid>'),
    (r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', '<time>'),
    (r'(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w+ \d{4} \d\d:\d\d:\d\d [+-]\d{4}', '<time>'),
    (r'(?<![\w.-])\d+(ms|s|m|h)(\d+(s|m))?(?![\w.])', '<age>'),
    (r'resourceVersion: "\d+"', 'resourceVersion: <rv>'),
    (r'https://127\.0\.0\.1:\d+', '<server>'),
    (r'(?<=\S)[ \t]{2,}', '  '), (r'\s+$', ''),
]]


def normal(text):
    """Lines without what differs from run to run; indentation stays, padding between columns does not."""
    lines = textwrap.dedent(text).strip('\n').splitlines()
    for pattern, replacement in NORMAL:
        lines = [pattern.sub(replacement, line) for line in lines]
    return '\n'.join(lines).strip('\n')


def as_yaml(text):
    """kubectl takes whatever begins with a brace for JSON; after a comment it is YAML, which JSON is too."""
    return '# YAML\n' + text if text and text.lstrip().startswith('{') else text


class Session:
    """Runs kubectl commands in one namespace and remembers every difference, so that one run shows them all."""

    def __init__(self, kubectl, namespace, folder):
        self.kubectl, self.namespace, self.folder = kubectl, namespace, folder
        self.commands, self.failures = 0, []

    def process(self, command, stdin=None, env=None):
        self.commands += 1
        return self.kubectl.run('-n', self.namespace, *shlex.split(command), stdin=as_yaml(stdin), check=False, env=env, cwd=self.folder)

    def run(self, command, stdin=None, env=None):
        """Standard output then standard error, and the exit status."""
        result = self.process(command, stdin, env)
        return result.stdout + result.stderr, result.returncode

    def out(self, command, stdin=None):
        """The standard output of a command that must succeed."""
        result = self.process(command, stdin)
        self.check(result.returncode == 0, command, 'exit status %d\n%s' % (result.returncode, result.stderr))
        return result.stdout.strip()

    def sees(self, command, want, stdin=None, status=0, env=None):
        """The command prints exactly this."""
        got, got_status = self.run(command, stdin, env)
        same = normal(got) == normal(want) and got_status == status
        self.check(same, command, 'want (status %d):\n%s\ngot (status %d):\n%s' % (status, normal(want), got_status, normal(got)))

    def has(self, command, *parts, stdin=None, status=0):
        """The command prints all of these somewhere."""
        got, got_status = self.run(command, stdin)
        missing = [part for part in parts if normal(part) not in normal(got)]
        self.check(not missing and got_status == status, command,
                   'want (status %d): %s\ngot (status %d):\n%s' % (status, missing, got_status, normal(got)))

    def lacks(self, command, *parts):
        """The command succeeds and prints none of these."""
        got, status = self.run(command)
        there = [part for part in parts if part in got]
        self.check(not there and status == 0, command, 'do not want: %s\ngot (status %d):\n%s' % (there, status, got))

    def eventually(self, command, want, seconds=60):
        """The command comes to print exactly this."""
        deadline = time.monotonic() + seconds
        while (got := normal(self.run(command)[0])) != normal(want) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.check(got == normal(want), command, 'want in the end:\n%s\ngot:\n%s' % (normal(want), got))

    def check(self, holds, what, detail):
        if not holds:
            self.failures.append('$ kubectl %s\n%s' % (what, detail))

    def file(self, name, text):
        """Writes a file into the session's folder."""
        with open('%s/%s' % (self.folder, name), 'w') as f:
            text = textwrap.dedent(text).lstrip('\n')
            f.write(as_yaml(text) if name.endswith('.yaml') else text)
        return name
