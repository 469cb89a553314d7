"""C++ names as compilers write them into libraries (Itanium ABI), made readable: what loaders complain of.

Names, templates, parameters, std types, constructors, operators and back references; not lambdas, decltype or
expressions: what is not understood is told as None, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping

MAX_CHARS = 4_000
MAX_SHOWN = 8_000
_MAX_DEPTH = 60

_BUILTIN: Mapping[str, str] = {
    **{"v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char"},
    **{"s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long"},
    **{"m": "unsigned long", "x": "long long", "y": "unsigned long long", "n": "__int128"},
    **{
        "o": "unsigned __int128",
        "f": "float",
        "d": "double",
        "e": "long double",
        "g": "__float128",
        "z": "...",
    },
}
_BUILTIN_D: Mapping[str, str] = {
    **{"d": "decimal64", "h": "_Float16", "i": "char32_t", "s": "char16_t", "u": "char8_t"},
    **{"n": "decltype(nullptr)", "a": "auto"},
}
_STD: Mapping[str, str] = {
    **{"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string"},
    **{"i": "std::istream", "o": "std::ostream", "d": "std::iostream"},
}
_OPERATORS: Mapping[str, str] = {
    **{"nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "pl": "+", "mi": "-", "ml": "*"},
    **{"dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*="},
    **{"dV": "/=", "ls": "<<", "rs": ">>", "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<"},
    **{"gt": ">", "le": "<=", "ge": ">=", "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++"},
    **{
        "mm": "--",
        "cm": ",",
        "pm": "->*",
        "pt": "->",
        "cl": "()",
        "ix": "[]",
        "co": "~",
        "ng": "-",
        "ps": "+",
    },
    **{"ad": "&", "de": "*"},
}
_SPECIAL: Mapping[str, str] = {
    **{"TV": "vtable for ", "TI": "typeinfo for ", "TS": "typeinfo name for ", "TT": "VTT for "},
    "GV": "guard variable for ",
}


_FUNCTION, _ARRAY = "\1", "\2"
"""Where the mark of a pointer to a function, or to an array, would stand; no name holds these."""


class _Unknown(Exception):
    """A form that is not read here, or a name that is cut."""


def demangle(symbol: str) -> str | None:
    """ "_ZN3atb9OperationE" -> "atb::Operation"; None for what is no such name or is not understood.

    A version ("@GLIBCXX_3.4") and what compilers add (".part.0") are left out. Bounded in length and depth.
    """
    bare = symbol.split("@", 1)[0]
    if not bare.startswith("_Z") or len(bare) > MAX_CHARS or not bare.isascii():
        return None
    try:
        name = _bare(_Reader(bare.split(".", 1)[0]).whole())
    except (_Unknown, RecursionError):
        return None
    return name if len(name) <= MAX_SHOWN else None


def name_of(symbol: str) -> str | None:
    """The same without what it returns and takes: "atb::CreateOperation<int>"; None as in `demangle`."""
    whole = demangle(symbol)
    bare = symbol.split("@", 1)[0].split(".", 1)[0]
    if whole is None or bare[2:4] in _SPECIAL:
        return whole
    try:
        return _bare(_Reader(bare).name()[0])
    except (_Unknown, RecursionError):
        return whole


def namespace_of(symbol: str) -> str:
    """The outermost namespace or the name itself: "atb" of a name in atb, "" where that cannot be told.

    Of names in std (a container of something else) the one in their arguments is not looked for.
    """
    name = name_of(symbol)
    if name is None:
        return _first_name(symbol)
    for special in _SPECIAL.values():
        name = name.removeprefix(special)
    head = name.split("(", 1)[0].split("<", 1)[0]
    return head.split("::", 1)[0].rsplit(" ", 1)[-1] if "::" in head else ""


def _first_name(symbol: str) -> str:
    """The first name of a symbol that is cut or not understood: "_ZNK3c1010TensorImpl4..." -> "c10"."""
    rest = symbol.removeprefix("_Z")
    while rest[:1] in ("N", "K", "V", "R", "O", "T", "I", "S") and rest:
        rest = rest[1:]
    n_digits = len(rest) - len(rest.lstrip("0123456789"))
    if not 0 < n_digits < 4:
        return ""
    size = int(rest[:n_digits])
    return rest[n_digits : n_digits + size]


class _Reader:
    """One name, read from left to right. substitutions: what back references mean, in their order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 2
        self.depth = 0
        self.n_made = 0
        self.substitutions: list[str] = []
        self.arguments: list[tuple[str, ...]] = []
        self.in_pack: int | None = None
        self.pack_size: int | None = None
        self.has_return = False

    def whole(self) -> str:
        special = self.text[self.at : self.at + 2]
        if special in _SPECIAL:
            self.at += 2
            return _SPECIAL[special] + (self.type() if special[0] == "T" else self.name()[0])
        if special in ("Th", "Tv"):
            raise _Unknown
        return self.encoding()

    def encoding(self) -> str:
        name, qualifiers = self.name()
        if self.at == len(self.text):
            return name
        returned = self.type() + " " if self.has_return else ""
        parameters = self.parameters(stop="")
        return self.made(f"{returned}{name}({parameters}){qualifiers}")

    def parameters(self, stop: str) -> str:
        found: list[str] = []
        while self.at < len(self.text) and not (stop and self.peek() == stop):
            found.append(self.type())
        return "" if found == ["void"] else ", ".join(filter(None, found))

    # ---- small steps ----

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def take(self, word: str) -> bool:
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def need(self, word: str) -> None:
        if not self.take(word):
            raise _Unknown

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit():
            self.at += 1
        if not 0 < self.at - start < 6:
            raise _Unknown
        return int(self.text[start : self.at])

    def made(self, text: str) -> str:
        """Back references can double a name again and again: the sum of all that is made is bounded."""
        self.n_made += len(text)
        if self.n_made > 40 * MAX_SHOWN:
            raise _Unknown
        return text

    def kept(self, text: str) -> str:
        self.substitutions.append(self.made(text))
        return text

    # ---- names ----

    def name(self) -> tuple[str, str]:
        """The name of a function or object, and the qualifiers of a method (" const")."""
        self.has_return = False
        if self.take("N"):
            return self.nested()
        if self.take("Z"):
            outer = self.encoding_until_e()
            if self.take("s"):
                return f"{outer}::string literal", ""
            inner, qualifiers = self.name()
            return f"{outer}::{inner}", qualifiers
        if self.peek() == "S" and self.peek(2) != "St":
            name = self.substitution()
        else:
            is_std = self.take("St")
            name = ("std::" if is_std else "") + self.unqualified("")
            if self.peek() == "I":
                self.kept(name)
        if self.peek() == "I":
            name += " " if name.endswith("<") else ""
            name += self.template_arguments(is_own=True)
            self.has_return = True
        return name, ""

    def encoding_until_e(self) -> str:
        name, qualifiers = self.name()
        returned = ""
        if self.peek() != "E":
            if self.has_return:
                returned = self.type() + " "
            name = f"{returned}{name}({self.parameters(stop='E')}){qualifiers}"
        self.need("E")
        return name

    def nested(self) -> tuple[str, str]:
        qualifiers = ""
        for mark, word in (("r", " restrict"), ("V", " volatile"), ("K", " const")):
            if self.take(mark):
                qualifiers += word
        for mark, word in (("R", " &"), ("O", " &&")):
            if self.take(mark):
                qualifiers += word
        name, last = "", ""
        is_template = False
        while not self.take("E"):
            if self.peek() == "I":
                if not name:
                    raise _Unknown
                name += self.template_arguments(is_own=True)
                if self.peek() != "E":
                    self.kept(name)
                is_template = True
                continue
            if self.peek() == "S" and self.peek(2) != "St":
                if name:
                    raise _Unknown
                name = self.substitution()
                last = _last_of(name)
                is_template = False
                continue
            if self.peek() == "T":
                if name:
                    raise _Unknown
                name = self.kept(self.template_parameter())
                continue
            if self.take("St"):
                name, last = "std", "std"
                continue
            part = self.unqualified(last)
            name = f"{name}::{part}" if name else part
            last = part
            is_template = False
            if self.peek() != "E":
                self.kept(name)
        self.has_return = is_template and not _is_structor(name)
        return name, qualifiers

    def unqualified(self, last: str) -> str:
        letter = self.peek()
        if letter.isdigit():
            return self.tags(self.source_name())
        if letter == "L":
            self.at += 1
            return self.unqualified(last)
        two = self.peek(2)
        if letter == "C" and two[1:] in ("1", "2", "3", "5"):
            self.at += 2
            return self.tags(_plain(last))
        if letter == "D" and two[1:] in ("0", "1", "2", "5"):
            self.at += 2
            return self.tags("~" + _plain(last))
        if two == "cv":
            self.at += 2
            return f"operator {self.type()}"
        if two == "li":
            self.at += 2
            return 'operator"" ' + self.source_name()
        if two in _OPERATORS:
            self.at += 2
            return self.tags(f"operator{_OPERATORS[two]}")
        raise _Unknown

    def source_name(self) -> str:
        size = self.number()
        found = self.peek(size)
        if len(found) < size or not size:
            raise _Unknown
        self.at += size
        return "(anonymous namespace)" if found.startswith("_GLOBAL__N") else found

    def tags(self, name: str) -> str:
        while self.take("B"):
            name += f"[abi:{self.source_name()}]"
        return name

    # ---- back references ----

    def index(self) -> int:
        if self.take("_"):
            return 0
        value, n_digits = 0, 0
        while not self.take("_"):
            letter = self.peek()
            if not letter or not (letter.isdigit() or "A" <= letter <= "Z") or n_digits > 4:
                raise _Unknown
            value = value * 36 + int(letter, 36)
            self.at += 1
            n_digits += 1
        return value + 1

    def substitution(self) -> str:
        self.need("S")
        letter = self.peek()
        if letter in _STD and letter != "t":
            self.at += 1
            return _STD[letter]
        index = self.index()
        if index >= len(self.substitutions):
            raise _Unknown
        return self.substitutions[index]

    def template_parameter(self) -> str:
        self.need("T")
        index = self.index()
        if index >= len(self.arguments):
            raise _Unknown
        values = self.arguments[index]
        if self.in_pack is None or len(values) == 1:
            return ", ".join(values)
        self.pack_size = len(values)
        return values[self.in_pack] if self.in_pack < len(values) else ""

    def expansion(self) -> str:
        """A type once for each member of the pack in it; back references count it once."""
        outer, start = (self.in_pack, self.pack_size), self.at
        self.in_pack, self.pack_size = 0, None
        shown = [self.type()]
        end, n_kept = self.at, len(self.substitutions)
        size = 1 if self.pack_size is None else self.pack_size
        for number in range(1, min(size, 64)):
            self.at, self.in_pack = start, number
            shown.append(self.type())
            del self.substitutions[n_kept:]
        self.at = end
        self.in_pack, self.pack_size = outer
        return ", ".join(shown) if size else ""

    def template_arguments(self, *, is_own: bool) -> str:
        self.need("I")
        found: list[tuple[str, ...]] = []
        while not self.take("E"):
            found.append(self.template_argument())
        if is_own:
            self.arguments = found
        inner = _bare(", ".join(shown for one in found for shown in one if shown))
        return self.made(f"<{inner} >" if inner.endswith(">") else f"<{inner}>")

    def template_argument(self) -> tuple[str, ...]:
        """What stands for one parameter: one text, or those of a pack."""
        if self.take("J"):
            found: list[str] = []
            while not self.take("E"):
                found += self.template_argument()
            return tuple(found)
        if self.take("L"):
            return (self.literal(),)
        if self.peek() == "X":
            raise _Unknown
        return (self.type(),)

    def literal(self) -> str:
        if self.take("_Z"):
            name = self.encoding_until_e()
            return name
        type_name = self.type()
        sign = "-" if self.take("n") else ""
        start = self.at
        while self.peek() and self.peek() != "E":
            self.at += 1
        value = self.text[start : self.at]
        self.need("E")
        if type_name == "bool" and value in ("0", "1"):
            return "true" if value == "1" else "false"
        suffixes = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul"}
        if type_name in suffixes:
            return f"{sign}{value}{suffixes[type_name]}"
        return f"({type_name}){sign}{value}"

    # ---- types ----

    def type(self) -> str:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Unknown
        found = self.made(self._type())
        self.depth -= 1
        return found

    def _type(self) -> str:
        letter = self.peek()
        if letter in _BUILTIN:
            self.at += 1
            return _BUILTIN[letter]
        if letter == "D":
            return self.d_type()
        for mark, word in (("P", "*"), ("R", "&"), ("O", "&&")):
            if self.take(mark):
                return self.kept(_pointing(self.type(), word))
        if letter in ("r", "V", "K"):
            words = ""
            for mark, word in (("r", " restrict"), ("V", " volatile"), ("K", " const")):
                if self.take(mark):
                    words = word + words
            return self.kept(_qualified(self.type(), words))
        if letter == "F":
            return self.function()
        if letter == "A":
            self.at += 1
            size = str(self.number()) if self.peek().isdigit() else ""
            self.need("_")
            element, _, more = self.type().partition(_ARRAY)
            return self.kept(f"{element}{_ARRAY}[{size}]{more}")
        if letter == "M":
            self.at += 1
            owner, member = self.type(), self.type()
            if _FUNCTION in member:
                return self.kept(member.replace(_FUNCTION, f"({owner}::*)"))
            return self.kept(f"{member} {owner}::*")
        if letter == "T":
            name = self.kept(self.template_parameter())
            return self.kept(name + self.template_arguments(is_own=False)) if self.peek() == "I" else name
        return self.class_type()

    def class_type(self) -> str:
        if self.peek() == "S" and self.peek(2) != "St":
            name = self.substitution()
            if self.peek() == "I":
                return self.kept(name + self.template_arguments(is_own=False))
            return name
        if self.take("N"):
            saved = self.arguments, self.has_return
            name, qualifiers = self.nested()
            self.arguments, self.has_return = saved
            return self.name_kept(name + qualifiers)
        if self.peek().isdigit() or self.peek(2) == "St":
            is_std = self.take("St")
            name = self.kept(("std::" if is_std else "") + self.unqualified(""))
            if self.peek() == "I":
                return self.kept(name + self.template_arguments(is_own=False))
            return name
        raise _Unknown

    def name_kept(self, name: str) -> str:
        """A nested name's last part was not kept inside; a template's was."""
        if not self.substitutions or self.substitutions[-1] != name:
            self.kept(name)
        return name

    def d_type(self) -> str:
        two = self.peek(2)
        if two == "Dp":
            self.at += 2
            return self.kept(self.expansion())
        if two[1:] in _BUILTIN_D:
            self.at += 2
            return _BUILTIN_D[two[1:]]
        raise _Unknown

    def function(self) -> str:
        self.need("F")
        self.take("Y")
        returned = self.type()
        parameters = self.parameters(stop="E")
        self.need("E")
        return self.kept(f"{_bare(returned)} {_FUNCTION}({_bare(parameters)})")


def _pointing(type_name: str, mark: str) -> str:
    """A pointer or reference; of functions and arrays it stands inside, and a reference to && is &."""
    if mark != "*" and type_name.endswith("&"):
        return type_name if mark == "&&" or not type_name.endswith("&&") else type_name[:-1]
    if _FUNCTION in type_name:
        return type_name.replace(_FUNCTION, f"({mark})")
    if _ARRAY in type_name:
        return type_name.replace(_ARRAY, f" ({mark}) ")
    return type_name + mark


def _qualified(type_name: str, words: str) -> str:
    at = type_name.find(_ARRAY)
    return type_name + words if at < 0 else type_name[:at] + words + type_name[at:]


def _bare(shown: str) -> str:
    """Without the marks of where a pointer would stand."""
    return shown.replace(_FUNCTION, "").replace(_ARRAY, " ")


def _plain(last: str) -> str:
    """A class's name without its template arguments, for constructors."""
    return last.split("<", 1)[0].split("[", 1)[0]


def _last_of(name: str) -> str:
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(name[at], 0)
        if not depth and name[at - 1 : at + 1] == "::":
            return _plain(name[at + 1 :])
    return _plain(name)


def _is_structor(name: str) -> bool:
    """Whether a template's name is that of a constructor, which has no type of what it returns."""
    plain = name
    depth = 0
    parts: list[str] = [""]
    for letter in plain:
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == ":" and not depth:
            parts.append("")
        elif not depth and letter not in "<>":
            parts[-1] += letter
    words = [part for part in parts if part]
    return len(words) > 1 and (words[-1] == words[-2] or words[-1].startswith(("~", "operator ")))
