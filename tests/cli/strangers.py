"""Strangers at the door of rank 0, for tests/cli/validate_door.sh.

strangers.py flood PORT SECONDS          connections without end: silent ones, greetings without proof, megabytes
strangers.py hello PORT RANK WORLD       asks for a rank's place with a proof made up, and prints what it gets
strangers.py silent PORT COUNT SECONDS   connections that say nothing and stay
strangers.py giant PORT RANK WORLD       a rank that knows the secret ($SHARDSIM_SECRET) and claims 8 GiB in one message
"""

import hashlib
import hmac
import os
import random
import socket
import struct
import sys
import time

OPENING = b"SHRDSIM2"  # of a handshake
MAGIC = b"SHRDSIM1"  # of a frame
HELLO, CONTRIBUTION = 0, 5


def frame(kind, texts, claimed=None):
    text = b"".join(struct.pack("<Q", len(each)) + each for each in texts)
    return MAGIC + struct.pack("<IIQ", kind, 0, len(text) if claimed is None else claimed) + text


def hello(rank, world):
    return frame(HELLO, [rank.encode(), world.encode(), b""])


def connect(port):
    return socket.create_connection(("127.0.0.1", int(port)), timeout=600)


def exactly(end, count):
    got = b""
    while len(got) < count:
        more = end.recv(count - len(got))
        if not more:
            raise SystemExit("rank 0 hung up")
        got += more
    return got


def what_comes(end):
    try:
        return end.recv(100)
    except ConnectionResetError:
        return b""


def prove(end, key):
    """The caller's side of validate/execute/meet/handshake.h, whatever rank 0 proves itself."""
    nonce = os.urandom(32)
    end.sendall(OPENING + nonce)
    answer = exactly(end, 72)
    end.sendall(hmac.new(key, b"shardsim caller" + nonce + answer[8:40], hashlib.sha256).digest())


def flood(port, seconds):
    until, held, count = time.monotonic() + float(seconds), [], 0
    said = [b"", OPENING + os.urandom(32), OPENING + os.urandom(32) + bytes(1 << 20), hello("1", "2"), MAGIC + bytes(1 << 20)]
    while time.monotonic() < until:
        end = socket.socket()
        end.setblocking(False)
        held.append(end)
        try:
            end.connect(("127.0.0.1", int(port)))
        except BlockingIOError:
            pass
        except OSError:
            break  # the door is shut
        try:
            end.send(said[count % len(said)])
        except OSError:
            pass
        count += 1
        if len(held) >= 400:
            held.pop(random.randrange(len(held))).close()
    print(count)


def main():
    what, port, *more = sys.argv[1:]
    if what == "flood":
        flood(port, *more)
    elif what == "silent":
        held = [connect(port) for _ in range(int(more[0]))]
        time.sleep(float(more[1]))
        print(len(held))
    elif what == "hello":
        end = connect(port)
        end.sendall(hello(*more))  # as a rank of an older build would, 40 bytes and some
        print(what_comes(end))
        end = connect(port)
        prove(end, b"not the secret of this run")
        end.sendall(hello(*more))
        print(what_comes(end))
    elif what == "giant":
        end = connect(port)
        prove(end, os.environ["SHARDSIM_SECRET"].encode())
        end.sendall(hello(*more))
        exactly(end, 24)  # accepted
        end.settimeout(600)
        exactly(end, 24)  # welcome: all are there
        end.sendall(frame(CONTRIBUTION, [], claimed=8 << 30))
        try:
            while end.send(bytes(1 << 20)):
                pass
        except OSError:
            print("rank 0 hung up")


main()
