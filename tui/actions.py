"""Every action of the workbench: one table for bindings, palette, footer, help, docs and the command log.

An action has a stable id, its default keys, a Textual action string, texts in English and Chinese and a
scope. A scope says where the keys live; `CHAINS` lists the scopes that can be alive together, innermost
first, and within one chain no key may mean two things.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from npulse.core.areas import AREAS
from npulse.core.dataclass import dataclass

if TYPE_CHECKING:
    from textual.binding import Binding

    from npulse.core.text import Lang

UNBOUND = "unbound"
"""Stands for a key that no terminal sends: an action without keys stays bindable by a key map."""

FORBIDDEN_KEYS: Mapping[str, str] = {
    "ctrl+a": "why.screen-prefix",
    "ctrl+b": "why.tmux-prefix",
    "ctrl+q": "why.flow-control",
    "ctrl+s": "why.flow-control",
    "ctrl+z": "why.suspends",
    "ctrl+enter": "why.not-sent",
    **{f"shift+f{n}": "why.not-sent" for n in range(1, 25)},
}
"""Keys that must not be bound, each with the id of the text that says why."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a key, the palette or a replayed log can do.

    do: Textual action string, unique in the registry. short: (en, zh) word for the footer, or None to
    keep it out of there. palette: offered by the command palette.
    """

    id: str
    keys: tuple[str, ...]
    do: str
    help_en: str
    help_zh: str
    scope: str
    short: tuple[str, str] | None = None
    palette: bool = True

    @property
    def show_in_footer(self) -> bool:
        return self.short is not None

    def help(self, lang: Lang) -> str:
        """What it does, one line."""
        return self.help_zh if lang == "zh" else self.help_en

    def label(self, lang: Lang) -> str:
        """The footer's word for it; "" if it does not stand there."""
        if self.short is None:
            return ""
        return self.short[1 if lang == "zh" else 0]


PANES: tuple[tuple[str, str, str], ...] = tuple((area.id, *area.title) for area in AREAS)
"""Pane ids in tab order with their names in English and Chinese."""

SCOPES: tuple[tuple[str, str, str], ...] = (
    ("app", "Everywhere", "任何地方"),
    ("pane", "In every pane", "所有面板"),
    *((area.id, f"In the {area.title[0]} pane", f"{area.title[1]}面板") for area in AREAS),
    ("pairing", "In the pairing view", "配对视图"),
    ("ranks", "In the rank matrix", "rank 矩阵"),
    ("timeline", "In the timeline", "时间线"),
    ("help", "In this list and in the guide", "本列表与向导"),
    ("capture", "While a capture runs", "采集进行中"),
    ("table", "In tables", "表格"),
    ("move", "In tables and lists", "表格与列表"),
    ("entry", "Typing a line", "输入一行"),
    ("pick", "Choosing from a list while typing", "边输入边选择"),
    ("ask", "Answering a question", "回答询问"),
)
"""Shared scopes with their headings; every pane may add a scope of its own name."""

CHAINS: tuple[tuple[str, ...], ...] = (
    *(("move", "table", pane, "pane", "app") for pane, _, _ in PANES),
    ("move", "pairing", "app"),
    ("move", "ranks", "app"),
    ("entry", "pairing", "app"),
    ("move", "timeline", "app"),
    ("move", "capture", "app"),
    ("move", "help", "app"),
    ("move", "app"),
    ("entry", "pane", "app"),
    ("entry", "pick", "app"),
    ("entry", "pick", "pane", "app"),
    ("ask",),
)
"""Scopes that can be alive together, innermost first."""

# fmt: off
ACTIONS: tuple[Action, ...] = (
    *(
        Action(
            f"pane.{pane}",
            (str(number),),
            f"show_pane('{pane}')",
            f"Go to {en}",
            f"转到{zh}",
            "app",
        )
        for number, (pane, en, zh) in enumerate(PANES, 1)
    ),
    Action("app.help", ("?",), "show_help",
           "List all keys", "列出所有按键", "app", ("help", "帮助")),
    Action("app.palette", (":",), "show_palette",
           "Find and run a command", "查找并执行命令", "app", ("cmd", "命令"), False),
    Action("app.problems", ("!",), "show_problems",
           "List what could not be read", "列出无法读取的内容", "app", ("problems", "问题")),
    Action("app.marks", ("'",), "show_marks",
           "List marked subjects and notes", "列出标记与备注", "app"),
    Action("app.runs", ("R",), "show_runs",
           "Open another run", "打开其他运行目录", "app"),
    Action("app.rescan", ("r",), "rescan",
           "Scan the run folder again", "重新扫描运行目录", "app"),
    Action("app.previous-round", ("[",), "show_round(-1)",
           "Show the previous round", "显示上一轮", "app"),
    Action("app.next-round", ("]",), "show_round(1)",
           "Show the next round", "显示下一轮", "app"),
    Action("app.capture", ("C",), "show_capture",
           "Capture a new round, or show the capture that runs", "采集新的一轮，或显示正在进行的采集", "app"),
    Action("app.language", ("L",), "switch_language",
           "Switch between English and Chinese", "切换中英文", "app"),
    Action("app.theme", ("T",), "switch_theme",
           "Next colour theme", "下一个配色主题", "app"),
    Action("app.mouse", ("M",), "switch_mouse",
           "Mouse on or off; Shift (iTerm2: Option) selects text",
           "开关鼠标；按住 Shift（iTerm2：Option）选择文本", "app"),
    Action("app.recording", ("ctrl+k",), "keep_recording",
           "Keep what was done so far as a recording", "保存至今的操作记录", "app"),
    Action("app.cancel", ("ctrl+c",), "cancel_or_copy",
           "Cancel the running job, or copy", "取消正在进行的任务，否则复制", "app"),
    Action("app.back", ("escape", "b"), "go_back",
           "Back, or cancel the running job", "返回，或取消正在进行的任务", "app", ("back", "返回")),
    Action("app.quit", ("q",), "close_top",
           "Close the top screen, or quit", "关闭当前界面或退出", "app", ("quit", "退出")),
    Action("pane.follow", ("F",), "follow",
           "Follow the run while it is written, or stop", "跟踪正在写入的运行目录，或停止",
           "pane", ("follow", "跟踪")),
    Action("pane.pause", ("space",), "pause",
           "Pause following, or show what has come", "暂停跟踪，或显示新到的内容", "pane", ("pause", "暂停")),
    Action("live.recorded", ("I",), "show_recorded",
           "Show what was recorded of each rank", "显示各 rank 实际记录的内容", "pane"),
    Action("pane.filter", ("/",), "filter",
           "Filter the rows", "过滤行", "pane", ("filter", "过滤")),
    Action("pane.next", ("n",), "next_finding(1)",
           "Next finding", "下一个发现", "pane", ("next", "下一个")),
    Action("pane.previous", ("N",), "next_finding(-1)",
           "Previous finding", "上一个发现", "pane"),
    Action("pane.origin", ("o",), "origin",
           "Go to the origin", "转到源头", "pane", ("origin", "源头")),
    Action("pane.where", ("i",), "where_from",
           "Show where the figures come from", "显示数据出处", "pane", ("where", "出处")),
    Action("pane.mark", ("m",), "mark",
           "Mark or unmark the subject", "标记或取消标记", "pane", ("mark", "标记")),
    Action("pane.note", ("a",), "note",
           "Write a note on the subject", "写备注", "pane"),
    Action("pane.copy", ("y",), "copy_finding",
           "Copy the finding as text", "以文本复制该发现", "pane", ("copy", "复制")),
    Action("pane.edit", ("e",), "edit",
           "Open in the editor at the line", "在编辑器中打开到该行", "pane"),
    Action("pane.export", ("x",), "export",
           "Export", "导出", "pane"),
    Action("pane.compare", ("d",), "compare",
           "Compare with another round", "与另一轮比较", "pane"),
    Action("pane.undo", ("u",), "undo",
           "Undo sort, filter, columns or mark", "撤销排序、过滤、列或标记", "pane"),
    Action("pane.focus-next", ("tab",), "focus_part(1)",
           "From table to detail", "从表格到详情", "pane", None, False),
    Action("pane.focus-previous", ("shift+tab",), "focus_part(-1)",
           "From detail to table", "从详情到表格", "pane", None, False),
    Action("precision.stack", ("t",), "show_stack",
           "Show the Python call stack", "显示 Python 调用栈", "precision", ("stack", "调用栈")),
    Action("precision.modules", ("v",), "show_modules",
           "Show the module tree", "显示模块树", "precision", ("modules", "模块")),
    Action("precision.pair", ("p",), "choose_pair",
           "Choose target and golden capture", "选择目标与标杆采集", "precision", ("pair", "配对")),
    Action("precision.pairing", ("w",), "show_pairing",
           "Show which call stands against which", "显示调用的配对关系", "precision", ("calls", "调用配对")),
    Action("precision.ranks", ("z",), "show_rank_matrix",
           "Show all ranks by layers", "按层显示所有 rank", "precision", ("ranks", "各 rank")),
    Action("precision.members", ("+", "="), "show_members",
           "Unfold: the calls of both sides that stand in this one, and all their values",
           "展开：此项中两侧的调用及其全部数值", "precision", ("unfold", "展开")),
    Action("precision.recheck", ("D",), "recheck_call",
           "Compute the call again on the CPU, from its dumped inputs", "用转储的输入在 CPU 上重算该调用",
           "precision", ("recheck", "重算")),
    Action("precision.trend", ("H",), "show_trend",
           "Show how errors went over the rounds", "显示误差随轮次的变化", "precision"),
    Action("overflow.stack", ("t",), "show_call_stack",
           "Show the Python call stack", "显示 Python 调用栈", "overflow", ("stack", "调用栈")),
    Action("overflow.upstream", ("w",), "switch_upstream",
           "Upstream of the origin alone, or all rows", "只看源头上游，或全部行",
           "overflow", ("upstream", "上游")),
    Action("overflow.ranks", ("v",), "show_ranks",
           "Show the ranks against the collectives", "显示各 rank 与集合通信的矩阵",
           "overflow", ("ranks", "矩阵")),
    Action("overflow.precision", ("p",), "show_in_precision",
           "Show the same operator in Precision", "在精度面板中显示同一算子",
           "overflow", ("precision", "精度")),
    Action("overflow.saturation", ("z",), "say_saturation",
           "Say whether the device saturates", "指明设备是否饱和", "overflow"),
    Action("memory.source", ("t",), "show_source",
           "Show the source around the place", "显示该位置前后的源码", "memory", ("source", "源码")),
    Action("memory.roots", ("z",), "ask_roots",
           "Say in which folders the sources lie", "指定源码目录", "memory", ("folders", "源码目录")),
    Action("memory.precision", ("p",), "show_operator('precision')",
           "Show the same operator in Precision", "在精度面板中显示同一算子",
           "memory", ("precision", "精度")),
    Action("memory.overflow", ("v",), "show_operator('overflow')",
           "Show the same operator in Overflow", "在溢出面板中显示同一算子",
           "memory", ("overflow", "溢出")),
    Action("performance.table", ("t",), "next_table",
           "Next table: by type, call, count, average; kernels, ranks, changes",
           "下一个表：按类型、单次、次数、平均；kernel、各卡、变化", "performance", ("table", "换表")),
    Action("performance.timeline", ("v",), "show_timeline",
           "Show streams over time", "按时间显示各流", "performance", ("timeline", "时间线")),
    Action("performance.rank", ("p",), "choose_rank",
           "Choose the rank whose table is shown", "选择显示哪张卡的表", "performance", ("rank", "选卡")),
    Action("performance.files", ("w",), "choose_file",
           "Show another table of the round: memory, caches, host calls, counters",
           "显示本轮的其他表：内存、缓存、主机调用、计数器", "performance", ("files", "其他表")),
    Action("device.poll", ("p",), "switch_polling",
           "Ask npu-smi of this machine again and again, or stop", "反复查询本机 npu-smi，或停止",
           "device", ("poll", "轮询")),
    Action("device.now", ("t",), "switch_now",
           "Cards of this machine, or of the round", "本机的卡，或该轮次的卡",
           "device", ("now/round", "本机/轮次")),
    Action("rounds.baseline", ("p",), "switch_baseline",
           "Make the round the baseline of all others, or not any more",
           "将该轮设为其他轮次的基线，或取消", "rounds", ("baseline", "基线")),
    Action("pairing.undo", ("u",), "undo_pair",
           "Undo the last pairing by hand", "撤销上一次手工配对", "pairing", ("undo", "撤销")),
    Action("pairing.keep", ("x",), "keep_mapping",
           "Keep what was paired by hand as a mapping file", "将手工配对保存为映射文件",
           "pairing", ("keep", "保存")),
    Action("pairing.next", ("n",), "next_open(1)",
           "Next call that is doubtful or has no counterpart", "下一个存疑或未配对的调用",
           "pairing", ("next", "下一个")),
    Action("pairing.previous", ("N",), "next_open(-1)",
           "Previous call that is doubtful or has no counterpart", "上一个存疑或未配对的调用", "pairing"),
    Action("pairing.target", ("<",), "mark_target",
           "Mark the target's call, or not any more", "标记目标侧的调用，或取消",
           "pairing", ("target", "目标")),
    Action("pairing.golden", (">",), "mark_golden",
           "Mark the golden side's call, or not any more", "标记标杆侧的调用，或取消",
           "pairing", ("golden", "标杆")),
    Action("pairing.pair", ("p",), "pair_marked",
           "Pair what is marked, as a group where it is several", "将已标记的配成一对；多个则成组",
           "pairing", ("pair", "配对")),
    Action("pairing.apart", ("-",), "take_apart",
           "Take the pair or group apart", "拆开该对或组", "pairing", ("apart", "拆开")),
    Action("pairing.only", ("w",), "switch_open",
           "Only what is doubtful or has no counterpart, or all", "只看存疑或未配对的调用，或全部",
           "pairing", ("only open", "只看未定")),
    Action("pairing.filter", ("/",), "filter_calls",
           "Filter the calls", "过滤调用", "pairing", ("filter", "过滤")),
    Action("pairing.forget", ("0",), "forget_pairs",
           "Forget all that was paired by hand", "清除所有手工配对", "pairing"),
    Action("ranks.next", ("n",), "next_origin(1)",
           "Next origin", "下一个源头", "ranks", ("next origin", "下一源头")),
    Action("ranks.previous", ("N",), "next_origin(-1)",
           "Previous origin", "上一个源头", "ranks"),
    Action("ranks.left", ("left", "h"), "next_layer(-1)",
           "Layer to the left", "左移一层", "ranks", None, False),
    Action("ranks.right", ("right", "l"), "next_layer(1)",
           "Layer to the right", "右移一层", "ranks", None, False),
    Action("ranks.step", ("t",), "next_step",
           "Next step", "下一个 step", "ranks", ("step", "step")),
    Action("ranks.other", ("tab",), "other_part",
           "From the matrix to the call on all ranks, and back", "在矩阵与各 rank 的该调用之间切换",
           "ranks", ("call", "该调用")),
    Action("timeline.zoom-in", ("+", "="), "zoom(1)",
           "Zoom in at the cursor", "在光标处放大", "timeline", ("zoom in", "放大")),
    Action("timeline.zoom-out", ("-",), "zoom(-1)",
           "Zoom out", "缩小", "timeline", ("zoom out", "缩小")),
    Action("timeline.whole", ("0",), "whole",
           "Show all of the wall time", "显示全部时长", "timeline", ("all", "全部")),
    Action("timeline.left", ("left", "h"), "step(-1)",
           "One cell to the left", "左移一格", "timeline", None, False),
    Action("timeline.right", ("right", "l"), "step(1)",
           "One cell to the right", "右移一格", "timeline", None, False),
    Action("timeline.pan-left", ("<", ","), "pan(-1)",
           "A quarter of the window to the left", "左移四分之一窗口", "timeline", ("left", "左移")),
    Action("timeline.pan-right", (">", "."), "pan(1)",
           "A quarter of the window to the right", "右移四分之一窗口", "timeline", ("right", "右移")),
    Action("timeline.next-task", ("n",), "next_task(1)",
           "Next task of the lane", "该泳道的下一个任务", "timeline", ("next", "下一个")),
    Action("timeline.previous-task", ("N",), "next_task(-1)",
           "Task before it on the lane", "该泳道的上一个任务", "timeline"),
    Action("timeline.gap-longest", ("i",), "longest_gap",
           "Longest idle gap, then the next longest", "最长的空闲，再按为次长", "timeline", ("gap", "空闲")),
    Action("timeline.gap-next", ("I",), "next_gap",
           "Next idle gap in time", "按时间的下一段空闲", "timeline"),
    Action("help.guide", ("t",), "show_guide",
           "Guide: which tool for which symptom", "向导：何种症状用何种工具", "help", ("guide", "向导")),
    Action("help.codes", ("/",), "search_codes",
           "Look up a code, an exit status, a pitfall or a rule", "查错误码、退出码、陷阱与规则",
           "help", ("codes", "查码")),
    Action("capture.stop", ("s",), "stop_capture",
           "Stop the capture; again: one rung of the ladder further",
           "停止采集；再按则进入下一级终止手段", "capture", ("stop", "停止")),
    Action("table.sort", ("s",), "sort_column",
           "Sort by this column", "按此列排序", "table", ("sort", "排序")),
    Action("table.reverse", ("S",), "reverse_sort",
           "Reverse the order", "反转顺序", "table"),
    Action("table.columns", ("c",), "choose_columns",
           "Show or hide columns", "显示或隐藏列", "table", ("columns", "列")),
    Action("table.find-column", ("f",), "find_column",
           "Find a column", "查找列", "table"),
    Action("table.left", ("left",), "column_left",
           "Column to the left", "左移一列", "table", None, False),
    Action("table.right", ("right",), "column_right",
           "Column to the right", "右移一列", "table", None, False),
    Action("move.open", ("enter",), "open_row",
           "Open the row", "打开该行", "move", ("open", "打开")),
    Action("move.down", ("down", "j"), "cursor_down",
           "Down one row", "下移一行", "move", None, False),
    Action("move.up", ("up", "k"), "cursor_up",
           "Up one row", "上移一行", "move", None, False),
    Action("move.page-down", ("pagedown",), "cursor_page_down",
           "Down one page", "下翻一页", "move", None, False),
    Action("move.page-up", ("pageup",), "cursor_page_up",
           "Up one page", "上翻一页", "move", None, False),
    Action("move.top", ("g", "home"), "cursor_top",
           "First row", "第一行", "move", None, False),
    Action("move.bottom", ("G", "end"), "cursor_bottom",
           "Last row", "最后一行", "move", None, False),
    Action("entry.accept", ("enter",), "submit",
           "Take the line", "确认输入", "entry", ("accept", "确认"), False),
    Action("entry.left", ("left",), "cursor_left",
           "Left one character", "左移一个字符", "entry", None, False),
    Action("entry.right", ("right",), "cursor_right",
           "Right one character", "右移一个字符", "entry", None, False),
    Action("entry.home", ("home",), "home",
           "Start of the line", "行首", "entry", None, False),
    Action("entry.end", ("end",), "end",
           "End of the line", "行尾", "entry", None, False),
    Action("entry.erase", ("backspace",), "delete_left",
           "Erase to the left", "删除左侧字符", "entry", None, False),
    Action("entry.delete", ("delete",), "delete_right",
           "Erase to the right", "删除右侧字符", "entry", None, False),
    Action("entry.erase-word", ("ctrl+w",), "delete_left_word",
           "Erase the word to the left", "删除左侧单词", "entry", None, False),
    Action("entry.erase-line", ("ctrl+u",), "delete_left_all",
           "Erase the line to the left", "删除左侧全部", "entry", None, False),
    Action("pick.down", ("down",), "pick(1)",
           "Next entry", "下一项", "pick", None, False),
    Action("pick.up", ("up",), "pick(-1)",
           "Previous entry", "上一项", "pick", None, False),
    Action("pick.page-down", ("pagedown",), "pick(10)",
           "Ten entries down", "下移十项", "pick", None, False),
    Action("pick.page-up", ("pageup",), "pick(-10)",
           "Ten entries up", "上移十项", "pick", None, False),
    Action("ask.yes", ("y", "enter"), "answer(True)",
           "Yes", "是", "ask", ("yes", "是"), False),
    Action("ask.no", ("n", "escape", "q"), "answer(False)",
           "No", "否", "ask", ("no", "否"), False),
)
# fmt: on

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}
BY_DO: Mapping[str, Action] = {action.do: action for action in ACTIONS}


def actions_in(*scopes: str) -> tuple[Action, ...]:
    """The actions of these scopes, in registry order within each scope."""
    return tuple(action for scope in scopes for action in ACTIONS if action.scope == scope)


def bindings_for(*scopes: str) -> list[Binding]:
    """Textual bindings (default keys, id set) for a class whose `BINDINGS` serves these scopes."""
    from textual.binding import Binding

    return [
        Binding(textual_keys(action.keys), action.do, action.help_en, show=False, id=action.id)
        for action in actions_in(*scopes)
    ]


def textual_keys(keys: Iterable[str]) -> str:
    """Keys as Textual wants them: names joined by commas; UNBOUND where there is none."""
    from .keymap import key_name

    return ",".join(key_name(key) or UNBOUND for key in keys) or UNBOUND


def scopes_together(first: str, second: str) -> bool:
    """Whether two scopes can be alive at once, so that one key must not serve both."""
    return any(first in chain and second in chain for chain in CHAINS)


def footer_actions(*scopes: str) -> tuple[Action, ...]:
    """The actions that the footer offers while these scopes are alive, most useful first."""
    return tuple(action for action in actions_in(*scopes) if action.show_in_footer)
