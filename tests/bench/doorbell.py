# SPDX-License-Identifier: MIT
"""The server that ivshmem-doorbell wants: it gives each QEMU the memory, and the others' eventfds.

QEMU's docs/specs/ivshmem-spec.rst says what it says: numbers of 64 bits, some with a descriptor.
"""

import os
import socket
import struct
import threading

VERSION = 0


class Server:
    """Serves as many peers as there will be, in a thread; each has one vector."""

    def __init__(self, path, size, peers):
        self.memory = os.memfd_create("doorbell")
        os.truncate(self.memory, size)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(peers)
        self.bells = [os.eventfd(0) for _ in range(peers)]
        self.connections = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        for number, bell in enumerate(self.bells):
            try:
                connection = self.listener.accept()[0]
            except OSError:         # closed
                return
            self._welcome(connection, number)
            for other in self.connections:
                self._tell(other, number, bell)
            self.connections.append(connection)

    def _welcome(self, connection, number):
        self._tell(connection, VERSION)
        self._tell(connection, number)
        self._tell(connection, -1, self.memory)
        for other, bell in enumerate(self.bells[:number + 1]):      # its own last
            self._tell(connection, other, bell)

    @staticmethod
    def _tell(connection, number, *descriptors):
        socket.send_fds(connection, [struct.pack("<q", number)], descriptors)

    def close(self):
        """Peers that are connected go on."""
        self.listener.close()
        for one in (*self.bells, self.memory):
            os.close(one)
        for connection in self.connections:
            connection.close()
