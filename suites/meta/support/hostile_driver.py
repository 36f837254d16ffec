"""A compiler behind a command that misbehaves at one request, as its first arguments say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

STAGE, BEHAVIOUR = sys.argv[1:3]
read, write = sys.stdin.buffer, sys.stdout.buffer
DESCRIPTION = "protocol 1\nhardware cpu\nplatform test\nversion test 1"


def say(text: str) -> None:
    write.write(text.encode())
    write.flush()


def hang() -> None:
    time.sleep(600)


def stay_in_the_background() -> None:
    child = subprocess.Popen(["sleep", "600"])
    sys.stderr.write(f"child {child.pid}\n")
    os.kill(os.getpid(), signal.SIGSEGV)


def close_and_stay() -> None:
    os.close(1)
    time.sleep(600)


BEHAVIOURS = {
    "hang": hang,
    "exit": lambda: os._exit(3),
    "abort": lambda: os.kill(os.getpid(), signal.SIGABRT),
    "orphan": stay_in_the_background,
    "close": close_and_stay,
    "endless": lambda: [write.write(b"x" * 65536) for _ in iter(int, 1)],
    "truncate": lambda: (say("ok 1\ntensor<4xf32> 16\n1234"), os._exit(0)),
}
"""Functions that run instead of an answer; any other behaviour is the answer itself."""


def misbehave() -> None:
    if BEHAVIOUR in BEHAVIOURS:
        BEHAVIOURS[BEHAVIOUR]()
    else:
        say(BEHAVIOUR.encode().decode("unicode_escape"))


for line in iter(read.readline, b""):
    request, *words = line.decode().split()
    given = b""
    if request == "compile":
        text = read.read(int(words[1])).decode()
    for _ in range(int(words[2]) if request == "execute" else 0):
        kind, size = read.readline().split()
        given += b"%s %s\n%s" % (kind, size, read.read(int(size)))
    if request == STAGE:
        misbehave()
    elif request == "describe":
        say(f"ok {len(DESCRIPTION)}\n{DESCRIPTION}")
    elif request == "execute":
        write.write(b"ok %d\n" % len(re.findall(b"tensor", given)) + given)
        write.flush()
    else:
        say("ok\n")
