"""Pass a command to the server of commands.py, and end as the command ends.

    python -IS command_client.py ADDRESS [ARGUMENT ...]

It imports little, as it stands for a program that loads much.
"""

from __future__ import annotations

import os
import socket
import sys


def main(address: str, arguments: list[str]) -> int:
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        folder = os.getcwd()  # noqa: PTH109 - pathlib takes longer to load than all else here
        given = repr((arguments, folder, dict(os.environ)))
        socket.send_fds(server, [b"\n"], [0, 1, 2])
        server.sendall(given.encode("utf-8", "surrogateescape"))
        server.shutdown(socket.SHUT_WR)
        return int(server.recv(16))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
