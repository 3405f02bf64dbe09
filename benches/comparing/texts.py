"""The texts to encode: cut from corpora, or made up. They are kept in the work folder."""


def kept(work, name, make):
    """A text in a file; a text of the same name may have been another one the last time."""
    path = work / "texts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make)
    return path


def head_of(corpus, size):
    """Whole lines of a corpus, `size` bytes of them at most. Not all peers take text that is not UTF-8."""
    made = bytearray()
    with open(corpus, "rb") as file:
        for line in file:
            line = line.rstrip(b"\n") + b"\n"
            if len(made) + len(line) > size:
                break
            try:
                line.decode()
            except UnicodeDecodeError:
                continue
            made += line
    return bytes(made)


def valid_start(text, size):
    """The first `size` bytes, without a broken character at the end."""
    return text[:size].decode(errors="ignore").encode()


def one_line(corpus, size):
    """A single line of a corpus' text."""
    return valid_start(head_of(corpus, 2 * size).replace(b"\n", b" "), size) + b"\n"


def short_lines(corpus, size, length=20):
    """Lines of `length` bytes at most."""
    lines = []
    for line in head_of(corpus, size).splitlines():
        while line:
            part = valid_start(line, length) or line
            lines.append(part)
            line = line[len(part):]
    return b"\n".join(lines) + b"\n"
