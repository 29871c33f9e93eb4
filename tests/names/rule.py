#!/usr/bin/env python3
"""How keys are spelt as file names, written a second time, to be compared with the program.

rule.py ROUNDS SEED prints one line a case:  KIND MODE KEY NAME  the name of a key, both as hexadecimal digits, and
KIND MODE = NAME KEY  what a program's name stands for (`-`: no key is spelt so). Names of more than 255 bytes,
which are shortened, are left out.
"""
import random
import re
import sys

ESCAPE = re.compile(rb"%[0-9A-F]{2}")
HIGH = re.compile(rb"(?:%[89A-F][0-9A-F])+")
AFTER_AT = re.compile(rb"(?:\d*|\d+\.deleted\.\d+|counter|key)\Z")
PERCENTS = re.compile(rb"%(?:25)*\Z")
WORDS = (b"schema json at history snapshot info key changes prefix from to first last sample columns versions times "
         b"filter by raw count export import").split()


def invalid(data):
    """The positions of bytes that belong to no valid UTF-8 sequence."""
    bad, at = set(), 0
    while at < len(data):
        for width in (1, 2, 3, 4):
            piece = data[at:at + width]
            try:
                if len(piece) == width and len(piece.decode("utf-8")) == 1:
                    break
            except UnicodeDecodeError:
                pass
        else:
            bad.add(at)
            width = 1
        at += width
    return bad


class Rule:
    def __init__(self, kind, raw):
        self.row, self.raw = kind == "row", raw

    def dot_is_escaped(self, rest):
        """Of the dot with which a name begins."""
        return rest in (b"", b".") or self.row and (not self.raw or rest in WORDS)

    def always_escaped(self, byte):
        return byte in (0, 0x2F) or not self.raw and (byte < 0x20 or byte == 0x7F)

    def spell(self, key, every_percent):
        bad = set() if self.raw else invalid(key)
        before, found, after = key.rpartition(b"@")
        at = len(before) if found and not self.row and AFTER_AT.match(after) else None
        name = b""
        for position, byte in enumerate(key):
            rest = key[position + 1:]
            if byte == 0x25:
                escaped = rest.startswith(b"~") or every_percent and ESCAPE.match(key, position)
            elif byte == 0x2E:
                escaped = position == 0 and self.dot_is_escaped(rest)
            else:
                escaped = position == at or position in bad or self.always_escaped(byte)
            name += b"%%%02X" % byte if escaped else bytes([byte])
        return name

    def read_needed(self, name):
        """Escapes that something asks for are read, all others are three characters."""
        key, at = b"", 0
        while at < len(name):
            escape = ESCAPE.match(name, at)
            if not escape:
                key += name[at:at + 1]
                at += 1
                continue
            byte, rest = int(escape[0][1:], 16), name[at + 3:]
            if byte >= 0x80 and not self.raw:
                run = HIGH.match(name, at)[0]
                data = bytes.fromhex(run.replace(b"%", b"").decode())
                bad = invalid(data)
                for number, value in enumerate(data):
                    key += bytes([value]) if number in bad else b"%%%02X" % value
                at += len(run)
                continue
            if byte == 0x2E:
                needed = at == 0 and self.dot_is_escaped(rest)
            elif byte == 0x40:
                needed = not self.row and AFTER_AT.match(rest)
            elif byte == 0x25:
                needed = rest.startswith(b"~")
            else:
                needed = self.always_escaped(byte)
            key += bytes([byte]) if needed else escape[0]
            at += 3
        return key

    def is_needed_spelling(self, key):
        """Whether the key is spelt with the escapes that something asks for, and no more."""
        name = self.spell(key, False)
        if self.read_needed(name) != key:
            return False
        other = read_all(name)
        return other == key or self.spell(other, True) != name or self.is_needed_spelling(other)

    def name(self, key):
        if not self.row and key == b"":
            return b"%"
        if not self.row and PERCENTS.match(key):
            return key + b"25"
        return self.spell(key, not self.is_needed_spelling(key))

    def key(self, name):
        if name in (b"", b".", b".."):
            return None
        if not self.row and PERCENTS.match(name):
            return b"" if name == b"%" else name[:-2]
        keys = [self.read_needed(name), read_all(name)]
        return next((key for key in keys if self.name(key) == name), None)


def read_all(name):
    return ESCAPE.sub(lambda escape: bytes([int(escape[0][1:], 16)]), name)


PIECES = [b"%", b"~", b"@", b".", b"/", b"\0", b"\n", b"\x7f", b"a", b"5", b"2", b"25", b"2F", b"2E", b"40", b"00", b"7F",
          b"C3", b"A9", b"%20", b"%41", b"%C3%A9", b"E2%82%AC", b"\xc3", b"\xa9", b"\xff", b"\xe2\x82", b"\xc3\xa9",
          b"counter", b"key", b".deleted.7", b".schema", b".at"]
WEB = [b"a%20b.html", b"what%3Fx=1", b"caf%C3%A9.html", b"100%", b"50%-off", b"%41BC", b"%zz", b"x%2", b"100%25.txt",
       b"%E2%82%AC", b"a%2Bb", b"x%40y", b"q%7E", b"react@18", b".hidden", b"%", b"%25", b"%2525", b"a%~b"]


def main(rounds, seed):
    dice = random.Random(seed)
    for kind in ("row", "qualifier"):
        for raw in (False, True):
            rule, head = Rule(kind, raw), f"{kind} {'raw' if raw else 'text'}"
            keys = [key for key in WEB if kind == "qualifier" or key]
            for number in range(rounds):
                if number % 4:
                    key = b"".join(dice.choice(PIECES) for _ in range(dice.randint(1, 8)))
                else:
                    key = bytes(dice.randrange(256) for _ in range(dice.randint(1, 6)))
                keys.append(key)
            for key in keys:
                name = rule.name(key)
                assert rule.key(name) == key, (key, name)
                assert not set(name) & {0, 0x2F}, name
                print(head, key.hex() or "-", name.hex())
                given = key.replace(b"/", b"").replace(b"\0", b"")
                if given:
                    meant = rule.key(given)
                    print(head, "=", given.hex(), "-" if meant is None else meant.hex() or "empty")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
