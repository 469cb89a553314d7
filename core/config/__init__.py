"""Configurations of the dump tools: msprobe's config.json and CANN's acl.json made, checked, explained.

What other rooms use (keyword arguments are spelled as the tools spell their keys; `lang` is "en" or "zh"):

    make.msprobe_config(*, dump_path, task="statistics", level="L1", rank=(), step=(), list=(), scope=(),
        tensor_list=(), data_mode=("all",), summary_mode=None, async_dump=False, dump_enable=None,
        extra_info=None, risk_level=None, overflow_nums=None, version=None, lang="en") -> dict
    make.acl_config(*, dump_path=None, model_name=None, layer=(), dump_mode=None, dump_level=None,
        dump_data=None, dump_stats=(), dump_step=(), dump_debug=False, dump_op_switch=False,
        dump_scene=None, watcher_nodes=(), lang="en") -> dict
        Offline dump: model_name, layer. Overflow: dump_debug=True. Memory: dump_scene="lite_exception".
        Both raise UsageError where the rules of `check` would find an error; steps and ranks in either
        grammar: "0|5-10", "0,5-10", [0, "5-10"]. Names are whole (acl) or parts of names (msprobe): globs.
    make.config_text(config) -> str                          JSON as it is written
    make.write_config(config, path, *, force=False) -> None  beside, fsync, rename; UsageError where it exists
    globs.resolve(tool, patterns, names=None, *, lang) -> Resolved(items, is_all, notes, selects_more)
        'conv*' as the tool's list; UsageError for a glob that acl would need names for
    globs.names_in(path) -> tuple[str, ...]                  operators of a dump, a run, or a file of names
    check.check_config(path, *, cwd=None, msprobe_version=None, names=(), lang, is_here=True) -> Report
    check.findings_of(config, *, tool=None, cwd=None, msprobe_version=None, lang, is_here=False)
        -> tuple[Finding, ...]                               the same of a dict; is_here: look at folders too
    explain.explain_config(path, *, cwd=None, names=(), lang) -> tuple[str, ...]   lines for people
    explain.explain(config, *, tool=None, cwd=None, lang) -> tuple[str, ...]
    translate.translate(document, *, tool=None, names=None, lang) -> Translation(tool, config, notes)
    estimate.estimate_bytes(config, *, like=None, n_ranks=None, n_steps=None) -> Estimate
        like: Path of an earlier dump. Estimate: cost ("small", "medium", "large", "huge", "unknown"),
        bytes_at_least, bytes_likely, bytes_at_most (None: unknown), is_per_step (steps are not limited: the
        bytes are those of one step), told(lang) -> lines that say what it rests on
    keep_fp32.keep_fp32(layers=(), op_types=()) -> KeepFp32(keep_dtype, modify_mixlist)
        the lists with which a compiler keeps layers in float32, as texts of files; told(file, ...) -> how
"""
