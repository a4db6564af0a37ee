"""Completes the names of a hostile container in a shell on a terminal, and runs the lines that come of it.

usage: complete_in_pty.py bash|zsh|fish; the programs are on the PATH, and in the current directory is x.rab, whose datasets are called
as names.json says: a list of [what is typed, the argument that is to come of it]. No file called OWNED... may appear.
"""

import json
import os
import pty
import re
import select
import signal
import sys
import time

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(COMPLETE=bash rab)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(COMPLETE=zsh rab); bindkey -e"),
    "fish": (["fish", "--no-config", "-i"], "COMPLETE=fish rab | source"),
}
LONGEST = 60


class Shell:
    def __init__(self, command):
        self.out, self.count = b"", 0
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb" if command[0] != "fish" else "xterm", PS1="$ ")
            os.execvp(command[0], command)

    def wait_for(self, text):
        end = time.monotonic() + LONGEST
        while text not in self.out:
            ready, _, _ = select.select([self.terminal], [], [], end - time.monotonic())
            assert ready, (text, self.out)
            self.out += os.read(self.terminal, 65536)

    def run(self, line):
        self.count += 1
        os.write(self.terminal, line.encode() + b"\r")
        self.mark()

    def mark(self):
        """Waits until the shell has come here: what it echoes of the word is in two parts, what it prints in one."""
        self.count += 1
        os.write(self.terminal, b"echo MA''RK%d.\r" % self.count)
        self.wait_for(b"MARK%d." % self.count)

    def arguments(self, typed):
        """The arguments of a line that is typed and completed, as the shell hands them to a program."""
        self.count += 1
        path = f"arguments-{self.count}"
        line = f"rab cat x.rab {typed}\t".encode()
        # Ctrl-A goes to the beginning: another program gets the line.
        os.write(self.terminal, line + b"\x01python3 -c 'import json,sys;json.dump(sys.argv[2:],open(sys.argv[1],\"w\"))' " + path.encode() + b" \r")
        self.mark()
        assert os.path.exists(path), self.out[-2000:]
        return json.load(open(path))


    def end(self):
        os.close(self.terminal)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def owned():
    return [name for name in os.listdir() if name.startswith("OWNED")]


command, setup = SHELLS[sys.argv[1]]
shell = Shell(command)
shell.run(setup)
for typed, wanted in json.load(open("names.json")):
    found = shell.arguments(typed)
    assert found == ["rab", "cat", "x.rab", wanted], (typed, found, wanted)
    assert not owned(), (typed, owned())
shell.end()
# Lists of them.
for keys in b"\t\t", b"'\t\t", b'"\t\t':
    shell = Shell(command)
    shell.run(setup)
    os.write(shell.terminal, b"rab cat x.rab " + keys)
    shell.wait_for(b"OWNED_")
    shell.end()
    assert not owned(), (keys, owned())
print("ok")
