"""The instructions of inline PTX, by a table: each becomes a call of emulation/ptx.h, or is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

FUNCTIONS = "::opwright::emulation::ptx::"
_LANES = ("eq", "lt", "le", "gt", "ge")
_TYPES = {
    f"{kind}{bits}": f"{sign}int{bits}_t"
    for kind, sign in (("u", "u"), ("b", "u"), ("s", ""))
    for bits in (8, 16, 32, 64)
}
_TYPES |= {"f32": "float", "f64": "double"}
_PLACES = {"tid": "thread", "ctaid": "block", "ntid": "block_size", "nctaid": "grid_size"}
_SPECIAL = {
    f"{name}.{axis}": f"uint32_t(::opwright::emulation::context().{member}.{axis})"
    for name, member in _PLACES.items()
    for axis in "xyz"
}
_FUNCTIONS = ("laneid", "warpid", "nsmid", *(f"lanemask_{how}" for how in _LANES))
_SPECIAL |= {name: f"{FUNCTIONS}{name}()" for name in _FUNCTIONS}
_SPECIAL |= {"smid": "uint32_t(0)", "clock": "uint32_t(clock64())"}
_SPECIAL |= dict.fromkeys(("clock64", "globaltimer"), "uint64_t(clock64())")
_SPECIAL |= {"globaltimer_lo": "uint32_t(clock64())", "globaltimer_hi": "uint32_t(uint64_t(clock64()) >> 32)"}


class UnknownError(Exception):
    """What isn't supported; the message names it."""


_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PIECES = re.compile(r"\s*([{}]|[^;{}]*(?:\{[^{}]*\}[^;{}]*)+;|[^;{}]+;)")
_INSTRUCTION = re.compile(r"(?:@(!?)([\w%$]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_OPERANDS = re.compile(r"\s*(\{[^}]*\}|\[[^\]]*\]|[^,]+?)\s*(?:,|$)")
_ADDRESS = re.compile(r"\[\s*(.+?)\s*(?:\+\s*(-?\w+)\s*)?\]", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?")
_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")


class Translator:
    """The statements of one asm, on variables ``opwright_r0`` and so on; ``%$`` stands before special registers.

    Args:
        text: the instructions.
        operands: the name or "" and the constraint of each operand.
    """

    def __init__(self, text: str, operands: Sequence[tuple[str, str]]) -> None:
        """Store the text; it is translated on demand."""
        self.text = _COMMENTS.sub(" ", text)
        self.registers = {f"%{number}": f"opwright_r{number}" for number in range(len(operands))}
        self.registers |= {f"%[{name}]": f"opwright_r{number}" for number, (name, _) in enumerate(operands)}
        self.outputs = {f"opwright_r{number}" for number, (_, how) in enumerate(operands) if how[0] in "=+"}

    def statements(self) -> Iterator[str]:
        """Yield the C++ statement of each instruction.

        Raises:
            UnknownError: an instruction or its form isn't supported.
        """
        at, text = 0, self.text.rstrip()
        text += "" if not text or text[-1] in ";}" else ";"
        while at < len(text):
            piece = _PIECES.match(text, at)
            if not piece:
                raise UnknownError(f"{text[at:].strip()[:30]!r}")
            at = piece.end()
            yield piece[1] if piece[1] in "{}" else self._statement(piece[1][:-1].strip())

    def _statement(self, written: str) -> str:
        if written.startswith(".reg"):
            return self._declared(written)
        parts = _INSTRUCTION.fullmatch(written)
        if not parts:
            raise UnknownError(written.partition(" ")[0] or "an empty instruction")
        negated, predicate, opcode, rest = parts.groups()
        operands = [each for each in _OPERANDS.findall(rest) if each]
        for pattern, translate in _INSTRUCTIONS:
            if match := pattern.fullmatch(opcode):
                try:
                    made = translate(self, match.groupdict(default=""), operands)
                except (IndexError, ValueError, KeyError):
                    raise UnknownError(f"{opcode} with the operands {rest.strip()!r}") from None
                condition = f"if ({negated or ''}{self.register(predicate)}) " if predicate else ""
                return f"{condition}{{ {made}; }}"
        raise UnknownError(opcode)

    def _declared(self, written: str) -> str:
        match = re.fullmatch(r"\.reg\s*\.(\w+)\s+([\w\s,%$]+)", written)
        kind = {"pred": "bool", **_TYPES}.get(match[1]) if match else None
        if not match or not kind:
            raise UnknownError(written)
        own = {name.strip(): "opwright_n_" + re.sub(r"\W", "_", name.strip()) for name in match[2].split(",")}
        self.registers |= own
        self.outputs |= set(own.values())
        return f"{kind} {', '.join(f'{name}{{}}' for name in own.values())};"

    def register(self, name: str) -> str:
        """Return the C++ variable of a register or a predicate."""
        if name not in self.registers:
            raise UnknownError(f"the register {name.replace('$', '')}")
        return self.registers[name]

    def value(self, operand: str, kind: str) -> str:
        """Return the C++ of an operand as a value of a type of PTX's."""
        if number := _FLOAT.fullmatch(operand):
            bits = f"uint32_t(0x{number[1]})" if number[1] else f"uint64_t(0x{number[2]})"
            return f"{FUNCTIONS}as<{_TYPES[kind]}>({bits})"
        if _NUMBER.fullmatch(operand):
            return f"{_TYPES[kind]}({operand.rstrip('U')}{'ull' if operand[0] != '-' else 'll'})"
        if _DECIMAL.fullmatch(operand):
            return f"{_TYPES[kind]}({operand})"
        if operand.startswith("%$") and operand not in self.registers:
            if operand[2:] not in _SPECIAL:
                raise UnknownError(f"the special register %{operand[2:]}")
            return f"{FUNCTIONS}as<{_TYPES[kind]}>({_SPECIAL[operand[2:]]})"
        return f"{FUNCTIONS}as<{_TYPES[kind]}>({self.register(operand)})"

    def result(self, operand: str, value: str) -> str:
        """Return the C++ that puts a value into a register."""
        register = self.register(operand)
        if register not in self.outputs:
            raise UnknownError(f"a result in {operand}, which isn't an output,")
        return f"{FUNCTIONS}put({register}, {value})"

    def address(self, operand: str, *, shared: bool = False) -> str:
        """Return the C++ of ``[register+offset]``; of shared memory the register may have 32 bits."""
        match = _ADDRESS.fullmatch(operand)
        if not match:
            raise ValueError(operand)
        offset = f"int64_t({match[2] or 0})"
        if not shared:
            return f"{self.value(match[1], 'b64')} + {offset}"
        at = self.value(match[1], "b64") if _NUMBER.fullmatch(match[1]) else self.register(match[1])
        return f"{FUNCTIONS}shared({at} + {offset})"


Translate = Callable[[Translator, Mapping[str, str], list[str]], str]
_INT, _BIT, _F = "(?P<t>[us](?:16|32|64))", "(?P<t>b(?:16|32|64))", r"(?P<ftz>\.ftz)?\.(?P<t>f32|f64)"
_RULES: list[tuple[str, Translate]] = []


def _calls(pattern: str, name: str, count: int, *kinds: str) -> None:
    """Add an instruction that is a function of `count` operands of its type; the last ones may be of other `kinds`."""

    def translate(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
        """Return the call's statement."""
        target, *given = operands
        if len(given) != count:
            raise ValueError(operands)
        types = [how["t"]] * (count - len(kinds)) + [kind or how["t"] for kind in kinds]
        values = [of.value(each, kind) for each, kind in zip(given, types, strict=True)]
        flush = how.get("ftz") == ".ftz"
        values = [f"{FUNCTIONS}flushed({value})" if flush else value for value in values]
        function = name.format(**how)
        call = f"{FUNCTIONS}{function}({', '.join(values)})"
        return of.result(target, f"{FUNCTIONS}flushed({call})" if flush else call)

    _RULES.append((pattern, translate))


def _memory(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    """Translate loads and stores; those of a vector are done element by element."""
    is_load = how["op"] == "ld"
    data, place = operands if is_load else reversed(operands)
    names = [name.strip() for name in data.strip("{} ").split(",")]
    kind, count = how["t"], int(how["v"] or 1)
    if len(names) != count:
        raise ValueError(operands)
    modifiers = how["modifiers"].split(".")
    suffix = "_volatile" if {"volatile", "relaxed", "acquire", "release"} & {*modifiers} else ""
    size = int(kind[1:]) // 8
    done = ["__threadfence()"] if "release" in modifiers else []
    address = of.address(place, shared=_is_shared(modifiers))
    done.append(f"const uint64_t opwright_at = {FUNCTIONS}vector<{size * count}>({address})")
    for number, name in enumerate(names):
        at = f"opwright_at + {number * size}"
        loaded = f"{FUNCTIONS}ld{suffix}<{_TYPES[kind]}>({at})"
        done.append(of.result(name, loaded) if is_load else f"{FUNCTIONS}st{suffix}({at}, {of.value(name, kind)})")
    return "; ".join([*done, "__threadfence()"] if "acquire" in modifiers else done)


def _is_shared(modifiers: Iterable[str]) -> bool:
    return any(modifier.partition(":")[0] == "shared" for modifier in modifiers)


_SHARED = "shared(?:::cta)?"
_MODIFIERS = (
    *("global", _SHARED, "weak", "volatile", "relaxed", "acquire", "release", "gpu", "sys", "cta"),
    *("ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", r"L1::\w+", r"L2::\w+"),
)
_ATOMIC = {name: name.capitalize() for name in ("add", "min", "max", "and", "or", "xor", "exch", "inc", "dec")}
_ATOMIC |= {"cas": "CAS"}
_OF_ATOMIC = {"s32": "int", "s64": "long long", "f32": "float", "f64": "double"}
_OF_ATOMIC |= {**dict.fromkeys(("u32", "b32"), "unsigned"), **dict.fromkeys(("u64", "b64"), "unsigned long long")}


def _atomic(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    modifiers = {*how["modifiers"].split(".")}
    (what,) = modifiers & {*_ATOMIC}
    target = operands.pop(0) if how["op"] == "atom" else ""
    kind, c = how["t"], _OF_ATOMIC[how["t"]]
    if kind == "s64" and what == "add":
        c = _OF_ATOMIC["u64"]  # the same bits
    if len(operands) != (3 if what == "cas" else 2):
        raise ValueError(operands)
    values = ", ".join(f"{c}({of.value(each, kind)})" for each in operands[1:])
    block = "_block" if "cta" in modifiers else ""
    address = of.address(operands[0], shared=_is_shared(modifiers))
    call = f"atomic{_ATOMIC[what]}{block}(({c} *)({address}), {values})"
    made = of.result(target, f"{_TYPES[kind]}({call})") if target else call
    before = "__threadfence(); " if modifiers & {"release", "acq_rel"} else ""
    return before + made + ("; __threadfence()" if modifiers & {"acquire", "acq_rel"} else "")


def _fixed(pattern: str, code: str, *operands: str) -> None:
    """Add an instruction that is always the same C++, with these operands alone."""

    def translate(_: Translator, __: Mapping[str, str], given: list[str]) -> str:
        """Return `code`, if the operands are right."""
        if given != [*operands]:
            raise ValueError(given)
        return code

    _RULES.append((pattern, translate))


_SIGNS = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compare(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    target, first, second = operands
    one, other = of.value(first, how["t"]), of.value(second, how["t"])
    if how["how"] == "ne":
        return f"{of.register(target)} = {FUNCTIONS}ne({one}, {other})"
    return f"{of.register(target)} = {one} {_SIGNS[how['how']]} {other}"


def _select(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    target, one, other, predicate = operands
    values = f"{of.value(one, how['t'])} : {of.value(other, how['t'])}"
    return of.result(target, f"{of.register(predicate)} ? {values}")


def _pack(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    """Translate ``mov.b64 x, {low, high}``, and the other way round."""
    half = str(int(how["t"][1:]) // 2)
    whole = _TYPES[how["t"]]
    target, source = operands
    if source.startswith("{"):
        low, high = (of.value(name.strip(), f"b{half}") for name in source.strip("{} ").split(","))
        return of.result(target, f"{whole}({whole}({high}) << {half} | {low})")
    if not target.startswith("{"):
        return of.result(target, of.value(source, how["t"]))
    low, high = (name.strip() for name in target.strip("{} ").split(","))
    value, part = of.value(source, how["t"]), _TYPES[f"b{half}"]
    return f"const auto opwright_w = {value}; " + "; ".join(
        (of.result(low, f"{part}(opwright_w)"), of.result(high, f"{part}(opwright_w >> {half})"))
    )


_SHUFFLES = {"idx": "", "up": "_up", "down": "_down", "bfly": "_xor"}


def _shuffle(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    """Translate shuffles of whole warps, which the fourth operand tells."""
    target, value, lane, limits, mask = operands
    if int(limits, 0) != (0 if how["how"] == "up" else 31):
        raise ValueError(operands)
    given = f"{of.value(mask, 'b32')}, {of.value(value, 'b32')}, int({of.value(lane, 'b32')})"
    return of.result(target, f"__shfl{_SHUFFLES[how['how']]}_sync({given})")


def _half(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    target, source = operands
    if how["to"] == "f16":
        return of.result(target, f"::opwright::detail::to_float16({of.value(source, 'f32')})")
    return of.result(target, f"::opwright::detail::from_float16({of.value(source, 'b16')})")


def _carried(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    """Translate additions that take a carry (``addc``, ``madc``), leave one (``.cc``), or both; and subtractions."""
    target, *given = operands
    if len(given) != (3 if how["half"] else 2):
        raise ValueError(operands)
    values = [of.value(each, how["t"]) for each in given]
    if how["half"]:
        values[:2] = [f"{FUNCTIONS}mul_{how['half']}({values[0]}, {values[1]})"]
    name = "sub" if how["op"] == "sub" else "add"
    flags = ", ".join("true" if how[each] else "false" for each in ("takes", "leaves"))
    return of.result(target, f"{FUNCTIONS}{name}_with_carry<{flags}>({', '.join(values)})")


def _to_space(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    """Translate ``cvta``: an address of shared memory is its distance from the block's arena, all others are whole."""
    target, source = operands
    if how["space"] != "shared":
        return of.result(target, of.value(source, "b64"))
    if how["to"]:
        return of.result(target, f"uint64_t(__cvta_generic_to_shared((const void *){of.value(source, 'b64')}))")
    return of.result(target, f"{FUNCTIONS}shared({of.value(source, 'b64')})")


def _convert(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    target, source = operands
    return of.result(target, f"{_TYPES[how['to']]}({of.value(source, how['t'])})")


def _copy(of: Translator, how: Mapping[str, str], operands: list[str]) -> str:
    """Translate ``cp.async``; of fewer bytes than there is place for, the rest becomes zeroes."""
    to, source, size, *given = operands
    if len(given) > 1 or (how["cache"] == "cg" and size in ("4", "8")):
        raise ValueError(operands)
    sizes = [of.value(each, "b32") for each in (size, *(given or [size]))]
    return f"{FUNCTIONS}async_copy({of.address(to, shared=True)}, {of.address(source)}, {', '.join(sizes)})"


def _wait(of: Translator, _: Mapping[str, str], operands: list[str]) -> str:
    (kept,) = operands
    return f"{FUNCTIONS}async_wait({of.value(kept, 'b32')})"


_calls(rf"(?P<op>add|sub)\.{_INT}", "{op}", 2)
_calls(rf"(?P<op>add|sub|mul)(?:\.rn)?{_F}", "{op}", 2)
_calls(rf"mul\.(?P<op>lo|hi|wide)\.{_INT}", "mul_{op}", 2)
_calls(rf"mad\.(?P<op>lo|hi)\.{_INT}", "mad_{op}", 3)
_calls(r"mad\.wide\.(?P<t>[us]16)", "mad_wide", 3, "b32")
_calls(r"mad\.wide\.(?P<t>[us]32)", "mad_wide", 3, "b64")
_calls(rf"(?:fma|mad)\.rn{_F}", "fma", 3)
_calls(rf"div\.(?:rn|approx|full){_F}", "div", 2)
_calls(rf"(?P<op>rcp|sqrt)\.(?:rn|approx){_F}", "{op}", 1)
_calls(r"(?P<op>rsqrt|ex2|lg2|sin|cos|tanh)\.approx(?P<ftz>\.ftz)?\.(?P<t>f32)", "{op}", 1)
_calls(rf"(?P<op>abs|neg){_F}", "{op}", 1)
_calls(rf"(?P<op>min|max){_F}", "f{op}", 2)
_calls(rf"(?P<op>min|max)\.{_INT}", "{op}", 2)
_calls(rf"(?P<op>and|or|xor)\.{_BIT}", "{op}_", 2)
_calls(rf"not\.{_BIT}", "not_", 1)
_calls(rf"shl\.{_BIT}", "shl", 2, "b32")
_calls(r"shr\.(?P<t>[usb](?:16|32|64))", "shr", 2, "b32")
_calls(r"(?P<op>popc|clz)\.(?P<t>b32|b64)", "{op}", 1)
_calls(r"brev\.(?P<t>b32|b64)", "brev", 1)
_calls(r"bfind\.(?P<t>[us](?:32|64))", "bfind", 1)
_calls(r"bfind\.shiftamt\.(?P<t>[us](?:32|64))", "bfind_shiftamt", 1)
_calls(r"vabsdiff4\.u32\.u32\.(?P<t>u32)\.add", "vabsdiff4_add", 3)
_calls(r"bfe\.(?P<t>[us](?:32|64))", "bfe", 3, "b32", "b32")
_calls(r"bfi\.(?P<t>b32|b64)", "bfi", 4, "b32", "b32")
_calls(r"(?P<op>prmt)\.(?P<t>b32)", "{op}", 3)
_calls(r"(?P<op>lop3)\.(?P<t>b32)", "{op}", 4)
_calls(r"shf\.(?P<op>[lr])\.wrap\.(?P<t>b32)", "shf_{op}_wrap", 3)
_calls(r"mov\.(?P<t>[us](?:16|32|64)|f32|f64)", "mov", 1)
_ACCESS = (
    rf"(?P<op>ld|st)(?P<modifiers>(?:\.(?:{'|'.join(_MODIFIERS)}))*)(?:\.v(?P<v>[24]))?"
    r"\.(?P<t>[usb](?:8|16|32|64)|f32|f64)"
)
_UPDATE = (
    rf"(?P<op>red|atom)(?P<modifiers>(?:\.(?:relaxed|acquire|release|acq_rel|gpu|sys|cta|global|{_SHARED}|{'|'.join(_ATOMIC)}))+)"
    rf"\.(?P<t>{'|'.join(_OF_ATOMIC)})"
)
_RULES += [
    (r"mov\.(?P<t>b(?:16|32|64))", _pack),
    (r"cvt\.rn\.(?P<to>f16)\.f32|cvt\.f32\.f16", _half),
    (rf"shfl\.sync\.(?P<how>{'|'.join(_SHUFFLES)})\.b32", _shuffle),
    (_ACCESS, _memory),
    (_UPDATE, _atomic),
    (r"(?P<op>add|sub)(?P<takes>c?)(?P<leaves>(?:\.cc)?)(?P<half>)\.(?P<t>[us](?:32|64))", _carried),
    (r"(?P<op>mad)(?P<takes>c?)\.(?P<half>lo|hi)(?P<leaves>(?:\.cc)?)\.(?P<t>[us](?:32|64))", _carried),
    (r"cvta(?P<to>\.to)?\.(?P<space>shared|global|local|const)\.u64", _to_space),
    (r"cvt\.(?P<to>[us](?:8|16|32|64))\.(?P<t>[us](?:8|16|32|64))", _convert),
    (r"cvt\.rn\.(?P<to>f32|f64)\.(?P<t>[us](?:16|32|64))", _convert),
    (rf"cp\.async\.(?P<cache>ca|cg)\.{_SHARED}\.global(?:\.L2::(?:64|128|256)B)?", _copy),
    (r"cp\.async\.wait_group", _wait),
    (r"setp\.(?P<how>eq|ne|lt|le|gt|ge)\.(?P<t>[usb](?:16|32|64)|f32|f64)", _compare),
    (r"selp\.(?P<t>[usb](?:16|32|64)|f32|f64)", _select),
]
_fixed(r"bar(?:rier)?\.sync(?:\.aligned)?", "__syncthreads()", "0")
_fixed(r"membar\.cta|fence\.(?:acq_rel|sc)\.cta", "__threadfence_block()")
_fixed(r"membar\.gl|fence\.(?:acq_rel|sc)\.gpu", "__threadfence()")
_fixed(r"membar\.sys|fence\.(?:acq_rel|sc)\.sys", "__threadfence_system()")
_fixed("trap", "__trap()")
_fixed(r"cp\.async\.commit_group", f"{FUNCTIONS}async_commit()")
_fixed(r"cp\.async\.wait_all", f"{FUNCTIONS}async_commit(), {FUNCTIONS}async_wait(0)")
_INSTRUCTIONS = [(re.compile(pattern), translate) for pattern, translate in _RULES]
