"""Flame graphs as SVG texts: how much of the time is spent below which function.

Pure: stacks with their samples in, text out. A frame is as wide as its share of the samples; what it calls
stands above it. Colours tell the layers apart. Every frame names itself, whole, in its tooltip.
"""

import re
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from .charts import FAINT, FONT, INK, PAPER

WIDTH, ROW, MARGIN, HEAD = 1200, 17, 12, 62
LETTER = 6.4
# Narrower frames would not be seen.
SHARE_MIN = 0.002
# What the kernel does inside a system call is not ours to change: its outermost functions are enough.
KERNEL_FRAMES_MAX = 4
KERNEL_ENTRY = re.compile(r"entry_SYSCALL|do_syscall|asm_")

# First fit wins.
LAYERS = (
    ("kernel", "#a1a1aa", re.compile(r"^\[k\]")),
    ("formats and values", "#86efac", re.compile(r"qlio_data")),
    ("engine", "#fdba74", re.compile(r"qlio_engine|qlio_plan")),
    ("gateway", "#fca5a5", re.compile(r"qlio_gateway|qlio::")),
    ("HTTP library", "#93c5fd", re.compile(r"\b(hyper|http|httparse|h2|hyper_util)::")),
    ("runtime", "#c4b5fd", re.compile(r"\b(tokio|mio|futures_util)::")),
    ("memory", "#f9a8d4", re.compile(r"^_?mi_|mem(cpy|move|set|cmp)|mimalloc|__rust_alloc|__rustc")),
)
OTHER = ("other", "#e4e4e7")


@dataclass
class Frame:
    """A function at one place in the stacks."""

    samples: int = 0
    calls: dict = field(default_factory=dict)

    def add(self, stack, count):
        """`stack` from the outermost function inwards."""
        frame = self
        frame.samples += count
        for name in stack:
            frame = frame.calls.setdefault(name, Frame())
            frame.samples += count

    def depth(self, least):
        return 1 + max((call.depth(least) for call in self.calls.values() if call.samples >= least), default=0)


def layer(name):
    for title, colour, pattern in LAYERS:
        if pattern.search(name):
            return title, colour
    return OTHER


def short(name):
    """A name that fits: without hash, type parameters and the path of modules."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", name.removeprefix("[k] "))
    name = name.replace("{{closure}}", "{}")
    while True:
        less = re.sub(r"<[^<>]*>", "", name)
        if less == name:
            break
        name = less
    parts = [part for part in name.split("::") if part]
    return "::".join(parts[-2:]) if parts else name


def parse(script):
    """Stacks of the text that `perf script -F comm,ip,sym` prints, as one tree."""
    root, stack = Frame(), []
    for line in [*script.splitlines(), ""]:
        if not line.strip():
            if stack:
                root.add(cut(reversed(stack)), 1)
            stack = []
        elif line[0].isspace():
            address, _, name = line.strip().partition(" ")
            is_kernel = address.startswith("ffff")
            name = name.strip()
            if name in ("", "[unknown]"):
                continue
            stack.append(f"[k] {name}" if is_kernel else name)
    return root


def cut(stack):
    """A stack without the depths of the kernel."""
    kernel = 0
    for name in stack:
        if name.startswith("[k] "):
            if KERNEL_ENTRY.search(name) or kernel == KERNEL_FRAMES_MAX:
                continue
            kernel += 1
        yield name


def svg(title, note, root):
    """The picture of a tree of frames."""
    least = max(1, root.samples * SHARE_MIN)
    height = HEAD + root.depth(least) * ROW + MARGIN + 24
    scale = (WIDTH - 2 * MARGIN) / max(root.samples, 1)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}' {FONT}>",
        f"<title>{escape(title)}</title><rect width='100%' height='100%' fill='{PAPER}'/>",
        f"<text x='{MARGIN}' y='24' font-size='15' font-weight='600' fill='{INK}'>{escape(title)}</text>",
        f"<text x='{MARGIN}' y='42' font-size='12' fill='{FAINT}'>{escape(note)}</text>",
        "<g font-size='11'>",
    ]

    def draw(name, frame, x, level):
        if frame.samples < least:
            return
        width = frame.samples * scale
        y = height - MARGIN - 24 - (level + 1) * ROW
        _, colour = layer(name)
        share = frame.samples / root.samples
        label = f"{name} {share:.1%}"
        letters = int((width - 6) / LETTER)
        shown = short(name)
        shown = shown if len(shown) <= letters else shown[: max(letters - 1, 0)] + "…"
        parts.append(
            f"<g><title>{escape(label)}</title>"
            f"<rect x='{x:.1f}' y='{y}' width='{max(width - 0.5, 0.5):.1f}' height='{ROW - 1}' fill='{colour}'/>"
        )
        if letters >= 4:
            parts.append(f"<text x='{x + 3:.1f}' y='{y + 12}' fill='{INK}'>{escape(shown)}</text>")
        parts.append("</g>")
        for call, inner in sorted(frame.calls.items()):
            draw(call, inner, x, level + 1)
            x += inner.samples * scale

    draw("all", root, MARGIN, 0)
    parts.append("</g>")
    x = MARGIN
    for name, colour in [*((name, colour) for name, colour, _ in LAYERS), OTHER]:
        y = height - MARGIN - 10
        parts.append(f"<rect x='{x}' y='{y}' width='11' height='11' fill='{colour}'/>")
        parts.append(f"<text x='{x + 15}' y='{y + 10}' font-size='12' fill='{INK}'>{name}</text>")
        x += 30 + round(len(name) * 6.8)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def shares(root):
    """Share of the samples that end in each layer, largest first."""
    totals = {}

    def walk(name, frame):
        own = frame.samples - sum(call.samples for call in frame.calls.values())
        title = layer(name)[0]
        totals[title] = totals.get(title, 0) + own
        for call, inner in frame.calls.items():
            walk(call, inner)

    walk("all", root)
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    return {title: own / max(root.samples, 1) for title, own in ordered}
