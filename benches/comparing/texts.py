"""Input texts: parts of corpora and generated texts, written to the work folder."""


def kept(work, name, make):
    """Writes a text to the file `name`, which an earlier run may have written with other content; returns its path."""
    path = work / "texts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make)
    return path


def head_of(corpus, size):
    """The first whole lines of a corpus, at most `size` bytes. Skips malformed UTF-8, which some peers refuse."""
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
    """The first `size` bytes, without an incomplete character at the end."""
    return text[:size].decode(errors="ignore").encode()


def one_line(corpus, size):
    """The beginning of a corpus as one line: line feeds become spaces."""
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
