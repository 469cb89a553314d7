"""`npulse plugin list|check|add|remove`."""

from __future__ import annotations

import os
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.plugins import added
from npulse.core.plugins.check import Checked, check_plugin
from npulse.core.plugins.registry import (
    Plugin,
    added_plugins,
    check_name,
    file_plugin,
    installed_plugins,
    is_off,
    name_of,
    once_each,
)
from npulse.core.text import Lang, columns_of, safe_text, say

from .options import check_text_or_json, emit, emit_json, talk

TEXTS: dict[str, tuple[str, str]] = {
    "head": ("name|kind|origin|version|state|from", "名称|类别|来源|版本|状态|出处"),
    "none": (
        "no plug-ins; npulse plugin add FILE -n NAME registers one, docs/plugins.md says how to write one",
        "没有插件；用 npulse plugin add FILE -n NAME 登记，编写方法见 docs/plugins.md",
    ),
    "off": (
        "switched off by NPULSE_NO_PLUGINS: none of them is used",
        "已由 NPULSE_NO_PLUGINS 关闭，均不使用",
    ),
    "reader": ("reader", "读取"),
    "metric": ("metric", "指标"),
    "analysis": ("analysis", "分析"),
    "reference": ("reference", "参考实现"),
    "package": ("package", "软件包"),
    "added": ("added", "已登记"),
    "file": ("file", "文件"),
    "ok": ("ok", "正常"),
    "changed": ("changed since it was added: not used", "登记后已被修改：不使用"),
    "missing": ("its file is gone", "文件已不在"),
    "unreadable": ("its metadata cannot be read", "元数据无法读取"),
    "bad-name": ("its name cannot be used", "名称不可用"),
    "same-name": ("another one has its name: not used", "与另一插件重名：不使用"),
    "add-again": (
        "  {name}: look at {path}, then add it again or: npulse plugin remove {name}",
        "  {name}：请检查 {path}，再重新登记，或执行 npulse plugin remove {name}",
    ),
    "rights": (
        "a plug-in is code that runs with your rights: add only what you would run yourself",
        "插件是以您的权限运行的代码：只登记您愿意亲自运行的文件",
    ),
    "was-added": (
        "added {name} ({kinds}): every run uses it",
        "已登记 {name}（{kinds}）：今后每次运行都会使用",
    ),
    "copy": (
        "  copy {path}, sha256 {sha256}; changes to either file take effect only once it is added again",
        "  副本 {path}，sha256 {sha256}；修改任一文件后须重新登记才生效",
    ),
    "was-removed": ("removed {name}", "已移除 {name}"),
    "not-added": ("not added: {n} faults", "未登记：{n} 处错误"),
    "ok-all": ("{name}: ok ({n} tried)", "{name}：正常（已试运行 {n} 项）"),
}


def _all() -> tuple[Plugin, ...]:
    """All that is known, also where they are switched off: this command only tells of them."""
    return once_each((*added_plugins(), *installed_plugins()))


def list_plugins(lang: Lang, format_name: str) -> int:
    """Print every plug-in; returns the exit code."""
    check_text_or_json(format_name)
    found = _all()
    if format_name == "json":
        body = [
            {
                "name": p.name,
                "kinds": list(p.kinds),
                "origin": p.origin,
                "source": p.source,
                "version": p.version or None,
                "state": "off" if is_off() and p.state == "ok" else p.state,
            }
            for p in found
        ]
        emit_json(body)
        return 0
    if is_off():
        talk(f"npulse: {say(TEXTS, 'off', lang)}")
    if not found:
        emit([say(TEXTS, "none", lang) + "\n"])
        return 0
    rows = [say(TEXTS, "head", lang).split("|")]
    for p in found:
        kinds = ", ".join(say(TEXTS, kind, lang) for kind in p.kinds)
        words = (say(TEXTS, p.origin, lang), p.version or "-", say(TEXTS, p.state, lang))
        rows.append([p.name, kinds or "?", *words, p.source])
    emit(f"{line}\n" for line in columns_of(rows, left=range(6)))
    for p in found:
        if p.state == "changed":
            emit([say(TEXTS, "add-again", lang, name=p.name, path=safe_text(str(p.path))) + "\n"])
    return 0


def check(what: str, lang: Lang, format_name: str) -> int:
    """Try a file or a known plug-in out; 1 where it has faults."""
    check_text_or_json(format_name)
    if os.sep in what or what.endswith(".py") or os.path.isfile(what):
        told = [check_plugin(file_plugin(Path(what)))]
    else:
        named = [p for p in _all() if p.name == what]
        if not named:
            known = ", ".join(sorted({p.name for p in _all()})) or "none"
            raise UsageError(f"no plug-in '{what}' and no such file", hint=f"there are: {known}")
        wrong = next((p for p in named if p.state != "ok"), None)
        if wrong is not None:
            raise UsageError(f"{what}: {say(TEXTS, wrong.state, lang)}", hint="npulse plugin list")
        told = [check_plugin(p) for p in named]
    if format_name == "json":
        emit_json([_as_json(one) for one in told])
    else:
        for one in told:
            _print(one, lang)
    return 1 if any(one.faults for one in told) else 0


def _as_json(checked: Checked) -> dict[str, object]:
    return {
        "name": checked.plugin.name,
        "source": checked.plugin.source,
        "tried": [{"kind": kind, "name": name, "answer": answer} for kind, name, answer in checked.tried],
        "faults": [{"line": fault.line, "message": fault.message} for fault in checked.faults],
    }


def _print(checked: Checked, lang: Lang) -> None:
    for kind, name, answer in checked.tried:
        emit([f"  {say(TEXTS, kind, lang)} {safe_text(name)}: {safe_text(answer)}\n"])
    source = safe_text(checked.plugin.source)
    for fault in checked.faults:
        where = source if fault.line is None else f"{source}:{fault.line}"
        emit([f"! {where}: {safe_text(fault.message)}\n"])
    if not checked.faults:
        emit([say(TEXTS, "ok-all", lang, name=checked.plugin.name, n=len(checked.tried)) + "\n"])


def add(file: Path, name: str | None, lang: Lang) -> int:
    """Try a file out and keep it under a name; 1 where it has faults, and then nothing is kept."""
    name = name_of(file) if name is None else name
    check_name(name)
    talk(f"npulse: {say(TEXTS, 'rights', lang)}")
    plugin = file_plugin(file, name)
    checked = check_plugin(plugin)
    if checked.faults:
        _print(checked, lang)
        talk(f"npulse: {say(TEXTS, 'not-added', lang, n=len(checked.faults))}")
        return 1
    import hashlib

    kinds = tuple(dict.fromkeys(item.kind for item in checked.items))
    copy = added.add(name, plugin.code, str(plugin.path), kinds)
    shown = ", ".join(say(TEXTS, kind, lang) for kind in kinds)
    emit([say(TEXTS, "was-added", lang, name=name, kinds=shown) + "\n"])
    sha256 = hashlib.sha256(plugin.code).hexdigest()
    emit([say(TEXTS, "copy", lang, path=safe_text(str(copy)), sha256=sha256[:16]) + "\n"])
    return 0


def remove(name: str, lang: Lang) -> int:
    """Forget a plug-in that was added."""
    added.remove(name)
    emit([say(TEXTS, "was-removed", lang, name=name) + "\n"])
    return 0
