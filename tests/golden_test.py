"""Replays the recorded conversations of a real kube-apiserver against `flyball apiserver`. The set of steps that differ
must be exactly the one in expected-failures.txt: a step that newly fails and one that newly passes both fail the test.

    golden_test.py build/flyball                     # what ctest runs
    golden_test.py build/flyball --show [PART...]    # every difference; of cases/PART only, if given
    golden_test.py build/flyball --list [PART...]    # the steps that differ, in the format of expected-failures.txt
"""
import importlib.util
import json
import os
import sys
import tempfile

from program import Program, recordings


def load_recorder(golden):
    """The recorder's own way to send a step and to compare its outcome."""
    spec = importlib.util.spec_from_file_location('golden', os.path.join(golden, 'golden.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_expected(path):
    """Lines `scenario: 1 4 7` below a comment with the reason; steps without a reason are an error."""
    expected, reason = {}, ''
    for line in open(path, encoding='utf-8'):
        line = line.strip()
        if not line:
            reason = ''
        elif line.startswith('#'):
            reason = (reason + ' ' + line.lstrip('# ')).strip()
        else:
            if not reason:
                sys.exit('%s: no reason for "%s"' % (path, line))
            scenario, _, steps = line.rpartition(':')
            for step in steps.split():
                expected[scenario, int(step)] = reason
    return expected


def read_scenarios(golden, parts):
    cases = os.path.join(golden, 'cases')
    for part in parts or sorted(os.listdir(cases)):
        for name in sorted(os.listdir(os.path.join(cases, part))):
            with open(os.path.join(cases, part, name), encoding='utf-8') as f:
                yield from json.load(f)


class Replay:
    def __init__(self, recorder, url, expected):
        self.recorder, self.expected = recorder, expected
        self.server = recorder.Server(url, 'test-token', None, True)
        self.passed, self.differences = 0, {}

    def run(self, scenario):
        environment = {}
        for number, step in enumerate(scenario['steps']):
            place = scenario['name'], number
            if place in self.expected:
                step = {key: value for key, value in step.items() if key != 'until'}  # it will not come true: do not wait
            try:
                got = self.recorder.run_step(self.server, step, environment)
                differences = self.recorder.difference(step['expect'], json.loads(json.dumps(got)))
            except Exception as e:  # a broken connection is a failed step, not a broken run
                differences = ['no answer: %r' % e]
            if differences:
                path = self.recorder.expand(step['path'], environment)
                self.differences[place] = '\n     '.join(['%s %s' % (step['method'], path), *differences])
            else:
                self.passed += 1


def replay(binary, golden, parts, expected):
    folder = tempfile.mkdtemp(prefix='flyball-test-')
    tokens = os.path.join(folder, 'tokens.csv')
    with open(tokens, 'w') as f:
        f.write('test-token,admin,1,"system:masters"\n')
    program = Program(binary, 'apiserver', '--data-dir', folder, '--secure-port', '0', '--token-auth-file', tokens,
                      '--service-cluster-ip-range', '10.96.0.0/16', '--service-account-issuer',
                      'https://kubernetes.default.svc.cluster.local',
                      # The address the recorded server had.
                      '--external-hostname', '192.0.2.2:26443', data_dir=folder)
    try:
        result = Replay(load_recorder(golden), program.url, expected)
        for scenario in read_scenarios(golden, parts):
            result.run(scenario)
        return result
    finally:
        program.stop()
        program.remove()


def as_lines(steps):
    scenarios = {}
    for scenario, step in sorted(steps):
        scenarios.setdefault(scenario, []).append(str(step))
    return '\n'.join('%s: %s' % (scenario, ' '.join(numbers)) for scenario, numbers in scenarios.items())


def show(differences, places):
    for scenario, step in sorted(places):
        print('FAIL %s step %d: %s' % (scenario, step, differences[scenario, step]))


def main():
    golden = recordings()
    expected = read_expected(os.path.join(golden, 'expected-failures.txt'))
    options = [a for a in sys.argv[2:] if a.startswith('--')]
    parts = [a for a in sys.argv[2:] if not a.startswith('--')]
    result = replay(sys.argv[1], golden, parts, expected)
    failed = result.differences.keys()
    if options == ['--list']:
        print(as_lines(failed))
        return 0
    print('%d passed, %d failed' % (result.passed, len(failed)))
    if options == ['--show']:
        show(result.differences, failed)
        return 0
    new, mended = failed - expected.keys(), expected.keys() - failed
    if new:
        print('%d steps differ that are not in expected-failures.txt:\n%s' % (len(new), as_lines(new)))
        show(result.differences, new)
    if mended:
        print('%d steps come out as recorded; take them out of expected-failures.txt:\n%s' % (len(mended), as_lines(mended)))
    return 1 if new or mended else 0


if __name__ == '__main__':
    sys.exit(main())
