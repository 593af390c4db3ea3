"""merge.py N prefix|bare PROGRAM: N copies of a Python program, their output merged line by line as a Python launcher does, or only read."""

import os
import subprocess
import sys
import threading


def read_bare(stream):
    while os.read(stream.fileno(), 1 << 20):
        pass


def read_lines(rank, stream, lock):
    for line in stream:
        with lock:
            sys.stdout.buffer.write(b"[%d] " % rank + line)


def main():
    count, mode, program = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    lock, threads = threading.Lock(), []
    for rank in range(count):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "JOB_COMPLETION_INDEX": str(rank)})
        arguments = (process.stdout,) if mode == "bare" else (rank, process.stdout, lock)
        threads.append(threading.Thread(target=read_bare if mode == "bare" else read_lines, args=arguments))
        threads[-1].start()
    for thread in threads:
        thread.join()
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
