"""docs/high-availability.md, followed word by word: three machines on loopback addresses; the first of them fails.

A machine is a loopback address and a folder. Unit files, commands and their order are the page's; `systemctl` starts what ExecStart
says, `scp` copies between folders. The three commands of `flyball up` get a name for the node, which is the machine's otherwise, and
simulated nodes.
"""
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

from etcd_test import usable_etcd
from program import wait_until

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'docs', 'high-availability.md')
NAMES = ['one', 'two', 'three']


def guide(title):
    """The blocks of code of a section, each with the paragraph before it."""
    with open(PAGE) as f:
        text = f.read()
    text = text[text.index('## ' + title):]
    text = text[:text.index('\n## ', 1)]
    return re.findall(r'([^\n]+(?:\n[^\n]+)*)\n\n```(\w+)\n(.*?)```', text, re.S)


def units(blocks):
    """ExecStart by unit."""
    found = {}
    for before, language, code in blocks:
        if language != 'ini':
            continue
        command = re.search(r'^ExecStart=((?:.*\\\n)*.*)$', code, re.M).group(1).replace('\\\n', ' ')
        names = re.findall(r'/etc/systemd/system/([a-z-]+)\.service', before)
        found[names[0]] = command
        for other in names[1:]:  # "the same with `scheduler`"
            word = re.search(r'the same with `(\w+)`', before).group(1)
            found[other] = command.replace(names[0].split('-')[1], word)
    return found


class Machine:
    def __init__(self, folder, index, network, binaries):
        self.address, self.name = network % (index + 1), NAMES[index]
        self.root = os.path.join(folder, self.name)
        self.network, self.binaries, self.processes = network, binaries, {}
        self.over, self.keepers = threading.Event(), []
        os.makedirs(self.root + '/var/lib')

    def local(self, command):
        """What the page says, for this machine."""
        command = command.replace('${NAME}', self.name).replace('${ADDRESS}', self.address)
        command = re.sub(r'\b10\.0\.0\.(\d)\b', lambda m: self.network % int(m.group(1)), command)
        command = command.replace('/var/lib/', self.root + '/var/lib/')
        return [self.binaries.get(word, word) for word in shlex.split(command)]

    def start(self, unit, command):
        """`command`: what the page says, or its words."""
        self.keepers.append(threading.Thread(target=self.keep, args=(unit, self.local(command))))
        self.keepers[-1].start()

    def keep(self, unit, command):
        """As Restart=always and RestartSec=3 say."""
        with open('%s/%s.log' % (self.root, unit), 'w') as log:
            while not self.over.is_set():
                process = self.processes[unit] = subprocess.Popen(command, cwd=self.root, stdout=log, stderr=subprocess.STDOUT)
                if self.over.is_set():
                    process.kill()
                process.wait()
                self.over.wait(3)

    def run(self, command):
        return subprocess.run(self.local(command), cwd=self.root, capture_output=True, text=True, timeout=60)

    def fail(self):
        self.over.set()
        for process in list(self.processes.values()):
            process.kill()
        for keeper in self.keepers:
            keeper.join()

    def logs(self):
        return ''.join('== %s %s\n%s' % (self.name, name, open(os.path.join(self.root, name)).read()[-2000:])
                       for name in sorted(os.listdir(self.root)) if name.endswith('.log'))


def follow(blocks, machines, starts):
    """Does what the blocks of commands say, on the machines the paragraph before names. The output of the last one."""
    said = None
    for before, language, code in blocks:
        place = before.split('\n')[-1] if language == 'sh' else ''
        if 'machine.env' in before or language != 'sh':
            continue
        here = (machines if 'On every machine' in before else machines[1:] if 'On the others' in before else machines[:1])
        for machine in here:
            for line in code.strip().split('\n'):
                said = step(machine, machines, line, starts)
        assert said is not None, place
    return said


def step(machine, machines, line, starts):
    words = line.split()
    if words[:3] == ['systemctl', 'enable', '--now']:
        for unit in words[3:]:
            machine.start(unit, starts[unit])
        return ''
    if words[:2] == ['scp', '-r']:
        wait_until('the server has made ' + words[2], lambda: os.path.exists(machine.root + '/var/lib/flyball/kubeconfig'))
        host, path = words[3].split(':')
        there = machines[int(host[-1]) - 1]
        shutil.copytree(machine.root + words[2], there.root + path + os.path.basename(words[2]))
        return ''
    if words[0] == 'install':
        return subprocess.run(machine.local(line), check=True) and ''
    return wait_until('all are endpoints: ' + line, lambda: (lambda r: r.stdout if all(m.address in r.stdout for m in machines) else None)(
        machine.run('/usr/local/bin/' + line)))


def new_machines(binary, folder, kind):
    network = '127.%d.%d.%%d' % (random.randrange(1, 250), random.randrange(1, 250))
    binaries = {'/usr/local/bin/etcd': usable_etcd(), '/usr/local/bin/flyball': os.path.abspath(binary), 'flyball': os.path.abspath(binary)}
    return [Machine(os.path.join(folder, kind), i, network, binaries) for i in range(3)]


def three_commands(binary, folder, etcd):
    """One `flyball up` on each machine: one cluster, each server of which reaches the nodes of all."""
    machines = new_machines(binary, folder, 'up')
    first, second, third = machines
    found, join = [code.strip() for _, language, code in guide('Three machines, three commands') if language == 'sh']
    own = ' --runtime sim --node-name ${NAME}'
    try:
        for machine in machines:
            machine.start('etcd', etcd)
        first.start('up', found + own)
        key = wait_until('the first machine says how others join',
                         lambda: re.findall(r'--bind-address ADDRESS --join ([0-9a-f]{64})', first.logs()), 120)[0]
        for machine in (second, third):
            machine.start('up', join.replace('ADDRESS', machine.address).replace('KEY', key) + own)
        kubectl = 'flyball --kubeconfig flyball-data/kubeconfig '
        wait_until('all nodes are ready', lambda: third.run(kubectl + 'get nodes --no-headers').stdout.count(' Ready ') == 3, 120)
        wait_until('a Deployment is taken', lambda: second.run(
            kubectl + 'create deployment web --image=i --replicas=6').returncode == 0)
        pods = wait_until('its pods run', lambda: (lambda names: names if len(names) == 6 else None)(third.run(
            kubectl + 'get pods --field-selector=status.phase=Running -o name').stdout.split()), 90)
        for machine in machines:
            for pod in pods:
                logs = machine.run(kubectl + 'logs ' + pod)
                assert logs.returncode == 0, (machine.name, pod, logs)
        wrong = subprocess.run([binary, 'up', '--data-dir', os.path.join(folder, 'stranger'), '--port', '0', '--etcd-servers',
                                'http://%s:2379' % first.address], capture_output=True, text=True, timeout=60)
        assert wrong.returncode == 1 and 'another cluster' in wrong.stderr, wrong
    except BaseException:
        print(''.join(machine.logs() for machine in machines))
        raise
    finally:
        for machine in machines:
            machine.fail()


def main(binary):
    folder = tempfile.mkdtemp(prefix='flyball-ha-')
    machines = new_machines(binary, folder, 'units')
    try:
        blocks = guide('Three machines, step by step')
        three_commands(binary, folder, units(blocks)['etcd'])
        print(follow(blocks, machines, units(blocks)))
        kubectl = '/usr/local/bin/flyball --kubeconfig /var/lib/flyball/kubeconfig '
        machines[0].fail()
        second = machines[1]
        wait_until('the second machine takes a Deployment',
                   lambda: second.run(kubectl + 'create deployment web --image=i --replicas=2').returncode == 0)
        wait_until('the controllers of another machine make its pods',
                   lambda: len(second.run(kubectl + 'get pods -o name').stdout.split()) == 2, 90)
        wait_until('the first machine is no endpoint',
                   lambda: machines[0].address not in second.run(kubectl + 'get endpoints kubernetes').stdout)
    except BaseException:
        print(''.join(machine.logs() for machine in machines))
        raise
    finally:
        for machine in machines:
            machine.fail()
        shutil.rmtree(folder, ignore_errors=True)
    print('three machines, one fails: OK')


if __name__ == '__main__':
    main(sys.argv[1])
