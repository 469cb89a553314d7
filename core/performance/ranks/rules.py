"""The rules about several ranks of one job."""

from __future__ import annotations

from npulse.core.rules import Rule

from ..rule import OWN, rules_with

_ADVISOR = (
    "msprof-analyze's slow rank, slow link and packet rules, told apart by npulse",
    "msprof-analyze 的慢卡、慢链路与小包规则，由 npulse 区分因果",
)


_rule = rules_with(silence=("raise the criterion", "调高相应阈值"))


RULES: tuple[Rule, ...] = (
    _rule(
        "slow-rank",
        "warning",
        ("one rank holds the others up", "单卡拖慢全组"),
        (
            "Of ranks that do the same work one has more of its own (computing, or idling for its host) and the least communication that is not hidden: it comes last to every collective and the others wait in it. The rank with the most communication time is a victim.",
            "做同样工作的各卡中，有一卡自身耗时（计算，或等待主机的空闲）更多，而未被掩盖的通信最少：它总是最后到达集合通信，其余各卡在其中等待。通信耗时最大的卡是受害者。",
        ),
        (
            "own time above the median of its peers by slow_rank_percent (5); of up to three ranks above the least",
            "自身耗时高于同组中位数 slow_rank_percent（5）；不超过三卡时与最小值相比",
        ),
        _ADVISOR,
        ("--criteria slow_rank_percent=10", "--criteria slow_rank_percent=10"),
    ),
    _rule(
        "late-rank",
        "warning",
        ("one rank comes last to most collectives", "单卡在多数集合通信中最后到达"),
        (
            "Collectives of all ranks are paired; the one that spends the least time in them began last. Where it is the same rank in more than half of them, that rank is late.",
            "将各卡的集合通信逐一配对；在其中停留最短的卡最晚开始。若半数以上都是同一卡，则该卡偏慢。",
        ),
        (
            "one-sided Dixon test at 0.995 over the ranks' times in a collective; up to three ranks: 5 %",
            "对各卡在同一集合通信中的耗时做 0.995 单侧 Dixon 检验；不超过三卡时按 5 %",
        ),
        _ADVISOR,
    ),
    _rule(
        "rank-spread",
        "note",
        ("ranks differ, no single one is slow", "各卡耗时不一，但没有单独的慢卡"),
        (
            "Computing, exposed communication or idle time of peers lie further apart than the vendor's limit, but the figures name no single rank.",
            "同组各卡的计算、未掩盖通信或空闲时间差异超过厂商阈值，但数据不能指认某一卡。",
        ),
        (
            "(largest - smallest) over the mean above slow_rank_percent (5)",
            "（最大-最小）/均值 高于 slow_rank_percent（5）",
        ),
        _ADVISOR,
        ("--criteria slow_rank_percent=10", "--criteria slow_rank_percent=10"),
    ),
    _rule(
        "rank-without-work",
        "warning",
        ("a rank recorded no real work", "有卡未采集到有效工作"),
        (
            "The profile of a rank holds no computing, or was never exported. It is named and left out before ranks are compared: beside it every other rank would look slow.",
            "该卡的 profile 没有计算，或从未解析导出。比较各卡之前先指出并排除：否则其余各卡都会显得慢。",
        ),
        (
            "computing below 1 % of the median of all ranks, or no exported output",
            "计算耗时低于各卡中位数的 1 %，或没有导出结果",
        ),
    ),
    _rule(
        "older-session",
        "note",
        ("a rank was profiled more than once", "同一卡有多次采集"),
        (
            "A job's folder holds several sessions of one rank. The newest of each rank are compared; others may be of another run of the job.",
            "作业目录中同一卡有多个采集会话。各卡只取最新的会话参与比较；其余会话可能来自作业的另一次运行。",
        ),
        (
            "two profiles of one rank in one folder; newest by the time in the folder's name",
            "同一目录中同一卡有两个 profile；按目录名中的时间取最新",
        ),
    ),
    _rule(
        "cluster-analysis",
        "note",
        ("what msprof-analyze found", "msprof-analyze 的结论"),
        (
            "Recipes of the vendor's cluster analysis (slow_rank, communication_bottleneck, free_analysis) left tables. What they say first is told as theirs; the ranks are judged by their own times where these are recorded.",
            "厂商集群分析的 recipe（slow_rank、communication_bottleneck、free_analysis）留有结果表。其首要结论按原样给出；只要采集了各卡耗时，各卡仍以自身耗时判断。",
        ),
        ("a table of such a recipe with rows", "存在此类 recipe 的结果表且有数据行"),
        _ADVISOR,
    ),
    _rule(
        "slow-link",
        "warning",
        ("a link is slower than others of its kind", "慢链路"),
        (
            "The bytes that went from one rank to another took longer than over the other links of the same kind.",
            "两卡之间传输同样字节的耗时高于同类其他链路。",
        ),
        (
            "rate below slow_link_percent (80) of the mean of the others, from 1 MB on",
            "速率低于同类其他链路均值的 slow_link_percent（80），数据量 1 MB 起",
        ),
        _ADVISOR,
        ("--criteria slow_link_percent=70", "--criteria slow_link_percent=70"),
    ),
    _rule(
        "small-packets",
        "warning",
        ("transfers too small to fill the link", "通信小包"),
        (
            "A large part of the transfers is so small that latency sets their time, not the bandwidth of the link.",
            "相当一部分传输过小，耗时由时延而非链路带宽决定。",
        ),
        (
            "more than 0.2 of the transfers below 16 MB (SDMA) or 1 MB (RDMA)",
            "小于 16 MB（SDMA）或 1 MB（RDMA）的传输占比高于 0.2",
        ),
        _ADVISOR,
        OWN,
    ),
    _rule(
        "rdma-retransmission",
        "warning",
        ("RDMA sent again", "RDMA 重传"),
        (
            "An operation took more than four seconds on every rank and so did its transfer over RDMA: packets were lost and sent again.",
            "某算子在所有卡上都超过 4 秒，且 RDMA 传输也超过 4 秒：发生了丢包重传。",
        ),
        (
            "least elapse of all ranks and largest RDMA transit at least 4000 ms",
            "各卡最小耗时与最大 RDMA 传输耗时均不低于 4000 ms",
        ),
        _ADVISOR,
    ),
    _rule(
        "collective-sizes",
        "warning",
        ("ranks move different sizes in one collective", "同一集合通信中各卡数据量不同"),
        (
            "Ranks that take part in one collective say different sizes: they do not run the same program, or uneven work was dealt out to them.",
            "参与同一集合通信的各卡数据量不同：各卡程序不一致，或负载分配不均。",
        ),
        ("sizes differ by more than 1 %", "数据量相差超过 1 %"),
    ),
)
