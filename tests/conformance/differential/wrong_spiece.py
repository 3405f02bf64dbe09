"""A program that runs spiece and spoils its result.

Job: give the self-test something to find. Usage: wrong_spiece.py FAULT SPIECE ARGUMENTS...
Input: the arguments and standard input of spiece. Output: the output of spiece with one fault.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path


def _spoil_model(arguments):
    """Changes one byte in the middle of the model that was trained."""
    for argument in arguments:
        if argument.startswith("--model_prefix="):
            path = Path(argument.split("=", 1)[1] + ".model")
            if path.exists():
                data = bytearray(path.read_bytes())
                data[len(data) // 2] ^= 1
                path.write_bytes(bytes(data))


def _replace_last_number(match):
    return str(int(match.group()) + 1).encode()


def _spoil_output(fault, arguments, output):
    if fault == "one_id" and "--output_format=id" in arguments:
        return re.sub(rb"\b7[0-9]*\b", _replace_last_number, output)
    if fault == "one_span":
        return re.sub(rb'(?<="end":)[0-9]*3\b', _replace_last_number, output)
    if fault == "one_letter":
        return output.replace(b"a", b"b")
    return output


def main():
    fault, program, *arguments = sys.argv[1:]
    text = sys.stdin.buffer.read()
    if fault == "crash" and b"e" in text:
        os.kill(os.getpid(), signal.SIGABRT)
    done = subprocess.run([program] + arguments, input=text, capture_output=True)
    if fault == "model_byte":
        _spoil_model(arguments)
    sys.stdout.buffer.write(_spoil_output(fault, arguments, done.stdout))
    sys.stderr.buffer.write(done.stderr)
    return 0 if fault == "accepts_all" else done.returncode


if __name__ == "__main__":
    sys.exit(main())
