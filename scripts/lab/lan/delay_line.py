#!/usr/bin/python3
"""Passes Ethernet frames between two interfaces, each after a while.

For kernels without sch_netem. Usage: delay_line.py IF IF DELAY_MS JITTER_MS
Says "up" on stdout once it passes frames, and runs until it is ended.
"""
import collections
import random
import select
import socket
import sys
import time

ALL_PROTOCOLS = 0x0003
OWN_FRAME = 4  # PACKET_OUTGOING: what this program sent itself
BUFFER = 4 << 20


def tap(interface):
    port = socket.socket(
        socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)
    )
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    port.bind((interface, ALL_PROTOCOLS))
    port.setblocking(False)
    return port


def main(first, second, delay_ms, jitter_ms):
    ends = {tap(first): None, tap(second): None}
    one, other = ends
    ends = {one: other, other: one}
    # One line a direction: a frame never overtakes the one before it.
    lines = {end: collections.deque() for end in ends}
    print("up", flush=True)
    while True:
        due = [line[0][0] for line in lines.values() if line]
        wait = None if not due else max(0.0, min(due) - time.monotonic())
        for end in select.select(list(ends), [], [], wait)[0]:
            while True:
                try:
                    frame, sender = end.recvfrom(65535)
                except BlockingIOError:
                    break
                if sender[2] == OWN_FRAME:
                    continue
                late = (delay_ms + random.uniform(-jitter_ms, jitter_ms)) / 1000
                lines[end].append((time.monotonic() + max(0.0, late), frame))
        now = time.monotonic()
        for end, line in lines.items():
            while line and line[0][0] <= now:
                try:
                    ends[end].send(line.popleft()[1])
                except OSError:
                    pass  # A full queue or a link that is down loses frames.


main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
