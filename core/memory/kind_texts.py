"""What each kind of fault means and what to do about it, in English and Chinese: (en, zh).

{access} is an access as a noun ("a write of 4 bytes at 0x404 on UB"), {by} who made it, {message} the log's
own words; figures are filled in by name.
"""
# ruff: noqa: E501 - a sentence stands on one line in each language

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # ---- parts ----
    "byte": ("{n} byte", "{n} 字节"),
    "bytes": ("{n} bytes", "{n} 字节"),
    "access": ("an access", "访问"),
    "access-read": ("a read", "读访问"),
    "access-write": ("a write", "写访问"),
    "access-whole": ("{word}{size}{at}{on}", "{on}{at}{size}{word}"),
    "access-size": (
        " of {size}",
        " {size}的",
    ),
    "access-at": (" at {address}", "地址 {address} 处"),
    "access-on": (
        " on {space}",
        "{space}",
    ),
    "access-in": (" in {space}", "{space}"),
    "by-kernel": (" by kernel {kernel}", "（kernel {kernel}）"),
    "in-kernel": (" in kernel {kernel}", "（kernel {kernel}）"),
    "by-host": (" by the host", "（host）"),
    "by-host-device": (" by the host for device {n}", "（host，device {n}）"),
    "by-thread": (" by thread {thread}", "（线程 {thread}）"),
    "space-heap": ("the heap", "堆"),
    "space-stack": ("the stack", "栈"),
    "space-global": ("global data", "全局数据区"),
    "space-host": ("the host", "host 内存"),
    "block": ("the nearest block", "最近的内存块"),
    "block-size": (
        "a block of {size}",
        " {size}的内存块",
    ),
    "block-name": (
        "variable {name}",
        "变量 {name} ",
    ),
    "block-name-size": (
        "variable {name} of {size}",
        " {size}的变量 {name} ",
    ),
    "lies-before": ("It begins {distance} before {block}.", "起点在{block}之前 {distance}。"),
    "lies-inside": (
        "It begins {distance} into {block}.",
        "起点在{block}内偏移 {distance}处。",
    ),
    "lies-start": ("It is at the start of {block}.", "位于{block}的起点。"),
    "lies-after": ("It begins {distance} after the end of {block}.", "起点在{block}末尾之后 {distance}。"),
    "lies-after-reach": (
        "It begins {distance} after the end of {block} and reaches {reach} past that end.",
        "起点在{block}末尾之后 {distance}，终点超出末尾 {reach}。",
    ),
    "lies-after-touch": (
        "It begins right at the end of {block} and reaches {reach} past it.",
        "起点紧接{block}末尾，终点超出末尾 {reach}。",
    ),
    "lies-over-end": (
        "{inside} of it lie inside {block}, {past} behind its end.",
        "其中 {inside}在{block}内，{past}超出末尾。",
    ),
    "lies-over-start": (
        "{before} of it lie in front of {block}, {inside} inside.",
        "其中 {before}在{block}之前，{inside}在其内。",
    ),
    "lies-over-both": (
        "It covers {block} and goes beyond both ends: {before} in front, {past} behind.",
        "它覆盖了{block}并越过两端：前面 {before}，后面 {past}。",
    ),
    "lies-element": (
        "Counted in elements of {size}, it is index {element}; the last one is {last}.",
        "按 {size}的元素计，下标为 {element}，最后一个有效下标为 {last}。",
    ),
    "life-same": ("Both allocated and freed in {function}.", "分配与释放都在 {function} 中。"),
    "life-both": ("Allocated in {made}, freed in {freed}.", "在 {made} 中分配，在 {freed} 中释放。"),
    "life-freed": ("Freed in {function}.", "在 {function} 中释放。"),
    "life-made": ("Allocated in {function}.", "在 {function} 中分配。"),
    "life-at-both": ("Allocated at {made}, freed at {freed}.", "分配于 {made}，释放于 {freed}。"),
    "life-at-made": ("Allocated at {made}.", "分配于 {made}。"),
    "life-at-freed": ("Freed at {freed}.", "释放于 {freed}。"),
    "life-thread": ("Another thread freed it.", "由另一个线程释放。"),
    "says": (
        'The log says: "{message}".',
        "日志原文：“{message}”。",
    ),
    # ---- msSanitizer ----
    "why-illegal": ("{access}{by} lies outside every allocation.", "{access}{by}落在所有已分配内存之外。"),
    "why-illegal-chip": ("{access}{by} lies outside the buffer.", "{access}{by}超出片上缓存。"),
    "why-illegal-in-chip": (
        "{access}{by} is illegal, says the tool. It lies inside {space} of every known chip (the smallest has {capacity}): probably it is outside of the buffer that InitBuffer gave.",
        "工具报告{access}{by}非法。它在所有已知芯片的 {space} 范围之内（最小 {capacity}）：很可能超出 InitBuffer 分配的缓存。",
    ),
    "why-beyond": (
        "It reaches {past} beyond {space} of {capacity} ({chips}).",
        "超出 {capacity} 的 {space}（{chips}）{past}。",
    ),
    "why-behind": (
        "It begins {gap} behind the end of {space} of {capacity} ({chips}).",
        "起点在 {capacity} 的 {space}（{chips}）末尾之后 {gap}。",
    ),
    "why-out-of-bounds": (
        "{access}{by} touches bytes that another core has written: two cores share the same place.",
        "{access}{by}触及另一个核已写入的字节：两个核使用了同一位置。",
    ),
    "why-misaligned": (
        "{access}{by} is not aligned as the instruction demands.",
        "{access}{by}未满足指令的对齐要求。",
    ),
    "align-behind": (
        "{address} is {behind} behind a boundary of {boundary}, the next one is {ahead} on.",
        "{address} 在 {boundary}边界之后 {behind}，距下一个边界 {ahead}。",
    ),
    "align-size": (
        "Its size, {size}, is no multiple of {boundary}.",
        "其长度 {size}不是 {boundary}的倍数。",
    ),
    "align-fine": (
        "The address is a multiple of {boundary}: a stricter alignment, the stride or the length is what is wrong.",
        "地址是 {boundary}的倍数：出错的可能是更严格的对齐要求、步长或长度。",
    ),
    "why-uninitialized": (
        "{access}{by} takes bytes that nobody has written.",
        "{access}{by}读取了从未写入的内容。",
    ),
    "why-free": (
        "Memory was freed that is not allocated: never, or freed before.",
        "释放了未分配的内存：从未分配，或已被释放。",
    ),
    "free-at": ("The address is {address}.", "地址为 {address}。"),
    "why-unused": ("Memory was allocated and never used.", "分配的内存从未使用。"),
    "why-leak": ("Memory was allocated and never freed.", "分配的内存从未释放。"),
    "kept-size": ("{size} in all.", "共 {size}。"),
    "kept-objects": ("{size} in {n} blocks.", "{n} 个内存块共 {size}。"),
    "leak-direct": ("Nothing points to it any more.", "已没有指针指向它。"),
    "leak-indirect": (
        "Only leaked blocks point to it: it goes with them.",
        "只有其他泄漏块指向它：随之一并泄漏。",
    ),
    "leak-function": ("It was allocated in {function}.", "在 {function} 中分配。"),
    "why-race": (
        "Two accesses touch the same place{on} and nothing orders them.",
        "两次访问触及{on}同一位置，且没有同步保证先后。",
    ),
    "race-on": (
        " on {space}",
        " {space} 上的",
    ),
    "race-RAW": ("The second reads what the first writes (RAW).", "后者读取前者写入的数据（RAW）。"),
    "race-WAR": (
        "The second overwrites what the first still reads (WAR).",
        "后者改写前者仍在读取的数据（WAR）。",
    ),
    "race-WAW": ("Both write, the later one wins (WAW).", "两者都写，结果取决于谁后写（WAW）。"),
    "race-sides": ("They come from {first} and {second}.", "分别来自 {first} 与 {second}。"),
    "race-device": (" of device {n}", "device {n} "),
    "race-cores": (" on {cores}", "{cores} "),
    "race-pipe": (" of {pipe}", "{pipe} "),
    "race-thread": (" by thread {thread}", "线程 {thread} "),
    "race-side": ("{word}{pipe}{thread}{cores}{device}", "{device}{cores}{thread}{pipe}的{word}"),
    "why-dcci": (
        "One core reads through its cache what another core has written: the cache was not cleaned or invalidated in between.",
        "一个核经缓存读取另一个核写入的数据，中间没有清理或失效缓存（DCCI）。",
    ),
    "why-unpaired": (
        "A {instruction} has no counterpart{pipes}{inside}.",
        "{pipes}{inside}有一条{instruction}没有配对。",
    ),
    "why-redundant": (
        "A {instruction} is one too many{pipes}{inside}: nothing needs it.",
        "{pipes}{inside}多余的{instruction}：没有指令需要它。",
    ),
    "flag-pipes": (" from {first} to {second}", "从 {first} 到 {second} "),
    "named": ("{name}", " {name} "),
    "flag": ("flag instruction", " flag 指令"),
    "why-lock-up": (
        "A kernel does not go on: its pipes wait for flags that never come.",
        "kernel 卡死：流水线在等待永远不会到来的 flag。",
    ),
    "lock-pipes": ("{n} pipes wait.", "共 {n} 条流水线在等待。"),
    "lock-pipe": ("1 pipe waits.", "共 1 条流水线在等待。"),
    "lock-fewer": ("The record lists {n} of them.", "记录中只列出 {n} 条。"),
    "lock-listed": ("Waiting: {pipes}{more}.", "等待中：{pipes}{more}。"),
    "lock-listed-order": (
        "Waiting, the earliest first: {pipes}{more}.",
        "等待中（最早的在前）：{pipes}{more}。",
    ),
    "lock-more": (" and {n} more", "，另有 {n} 条"),
    "why-divergent": (
        "Threads of one group took different ways to a barrier{inside}, so that it can never be complete.",
        "同一组线程以不同路径到达同步点{inside}，同步永远无法完成。",
    ),
    "why-register": (
        "{register} was left with another value than its default{inside}; the next kernel starts with it.",
        "{register}未恢复默认值{inside}，下一个 kernel 会带着它开始。",
    ),
    "register": ("A register", "某寄存器"),
    "register-values": ("Expected {expected}, found {current}.", "期望 {expected}，实际 {current}。"),
    "why-mask": (
        "A vector instruction runs with a mask that is not the default{inside}: it works on a part of the elements only.",
        "vector 指令使用了非默认 mask{inside}：只处理部分元素。",
    ),
    "mask-mode": ("Mode: {mode}.", "模式：{mode}。"),
    "why-internal": (
        "The tool could not interpret what it had recorded: this place was not checked.",
        "工具无法解析自己的记录：该处未被检查。",
    ),
    "why-other": ("{tool} reports something that is not known here.", "{tool} 报告了此处未收录的内容。"),
    # ---- host sanitizers ----
    "why-heap-overflow": (
        "{access}{by} touches memory outside of a heap block.",
        "{access}{by}越过了堆内存块的边界。",
    ),
    "why-freed": (
        "{access}{by} touches a heap block that is already freed.",
        "{access}{by}触及已释放的堆内存块。",
    ),
    "why-device-freed": (
        "{access}{by} touches a block that was already released.",
        "{access}{by}触及已释放的内存块。",
    ),
    "why-stack-overflow-access": (
        "{access}{by} touches the stack outside of a variable.",
        "{access}{by}越过了栈上变量的边界。",
    ),
    "why-stack-gone": (
        "{access}{by} uses a local variable that no longer exists.",
        "{access}{by}使用了已失效的局部变量。",
    ),
    "why-global-overflow": (
        "{access}{by} touches memory outside of a global variable.",
        "{access}{by}越过了全局变量的边界。",
    ),
    "why-poison": (
        "{access}{by} touches memory that the program itself marked as not to be used.",
        "{access}{by}触及程序自行标记为不可用的内存。",
    ),
    "why-container": (
        "{access}{by} touches a container behind its last element: inside its memory, outside its size.",
        "{access}{by}越过容器的末尾元素：仍在其内存内，但超出其 size。",
    ),
    "why-intra-object": (
        "{access}{by} goes from one member of an object into its neighbour.",
        "{access}{by}从对象的一个成员越界到相邻成员。",
    ),
    "why-init-order": (
        "{access}{by} uses a global variable of another file before it was initialised.",
        "{access}{by}使用了另一文件中尚未初始化的全局变量。",
    ),
    "why-wild": (
        "{access}{by} goes to an address that belongs to no known memory.",
        "{access}{by}的地址不属于任何已知内存。",
    ),
    "why-double-free": ("A heap block is freed for the second time.", "同一堆内存块被释放两次。"),
    "why-bad-free": (
        "An address is freed that no allocation returned: of a stack or global variable, or inside of a block.",
        "释放的地址不是任何分配的返回值：属于栈或全局变量，或位于内存块内部。",
    ),
    "why-mismatch": (
        "A block is freed by another kind of call than the one that allocated it (new[] by free or delete, malloc by delete).",
        "释放方式与分配方式不匹配（如 new[] 配 free 或 delete，malloc 配 delete）。",
    ),
    "why-size-mismatch": (
        "An object is deleted as another type: its size is not that of what was allocated.",
        "以其他类型删除对象：大小与分配时不同。",
    ),
    "why-overlap": (
        "Source and target of one copy overlap, which the function does not allow.",
        "一次拷贝的源与目的重叠，该函数不允许。",
    ),
    "why-negative": ("A length is negative: a size_t makes it huge.", "长度为负：转换为 size_t 后极大。"),
    "negative-size": ("It is {n}.", "其值为 {n}。"),
    "why-too-big": (
        "More memory is asked for than the allocator ever gives: the size is wrong as a rule.",
        "要求分配的内存超过分配器上限：通常是大小算错。",
    ),
    "why-product": (
        "The size asked for, count times size, does not fit into size_t.",
        "分配大小（数量 × 单个大小）超出 size_t 的表示范围。",
    ),
    "why-bad-alignment": (
        "Memory is asked for with an alignment that is not allowed.",
        "分配内存时的对齐值不合法。",
    ),
    "why-not-owned": (
        "A size is asked for of an address that no allocation returned.",
        "查询大小的地址不是任何分配的返回值。",
    ),
    "why-host-memory": ("The host's allocator got no more memory.", "host 的内存分配器无法再得到内存。"),
    "asked-size": ("{size} were asked for.", "要求分配 {size}。"),
    "why-odr": (
        "One global variable is defined twice with different sizes or in different libraries: which one is used is chance.",
        "同名全局变量被重复定义（大小不同或位于不同库）：实际使用哪个是偶然的。",
    ),
    "why-annotate": (
        "A container told the tool of limits that are not its own.",
        "容器向工具声明的边界不正确。",
    ),
    "why-page": ("A page of memory is both writable and executable.", "内存页同时可写且可执行。"),
    "why-segv": (
        "The program was stopped at {access}: the address is not mapped, or not for this access.",
        "程序因{access}被终止：该地址未映射，或不允许此类访问。",
    ),
    "segv-zero": (
        "The address is that of a null pointer plus a small offset.",
        "该地址是空指针加一个小偏移。",
    ),
    "why-bus": (
        "The program was stopped at {access}: the address is unaligned, or the file behind it is too short.",
        "程序因{access}被终止：地址未对齐，或映射的文件过短。",
    ),
    "why-fpe": (
        "The program was stopped by an arithmetic error, as a rule an integer division by zero.",
        "程序因算术错误被终止，通常是整数除零。",
    ),
    "why-ill": (
        "The program was stopped at an instruction that this processor does not know, or a failed check of the compiler.",
        "程序在处理器无法识别的指令处，或在编译器插入的检查处被终止。",
    ),
    "why-abrt": (
        "The program stopped itself (abort, a failed assertion, an exception that nobody caught).",
        "程序自行终止（abort、断言失败或未捕获的异常）。",
    ),
    "why-trap": (
        "The program was stopped by a trap, as a rule a failed check of the compiler.",
        "程序因 trap 被终止，通常是编译器插入的检查失败。",
    ),
    "why-stack-exhausted": (
        "The stack is used up: a recursion without end, or very large local variables.",
        "栈空间耗尽：无限递归，或局部变量过大。",
    ),
    "why-msan": ("A decision depends on a value that nobody has written.", "程序的判断依赖从未写入的值。"),
    "msan-origin": ("The value was created at {place}.", "该值产生于 {place}。"),
    "why-data-race": (
        "Two threads touch the same memory at the same time and one of them writes.",
        "两个线程同时访问同一内存，且至少一个在写。",
    ),
    "threads-sides": ("They are {first} and {second}.", "分别为 {first} 与 {second}。"),
    "threads-side": ("{word}{thread}{place}", "{thread}{place}{word}"),
    "threads-by": (" by {thread}", "{thread} "),
    "threads-at": (" at {place}", "在 {place} 的"),
    "threads-named": ("thread {thread}", "线程 {thread}"),
    "threads-main": ("the main thread", "主线程"),
    "threads-created": ("{thread} was created at {place}.", "{thread} 创建于 {place}。"),
    "why-vptr": (
        "One thread destroys an object while another one still calls it.",
        "一个线程在销毁对象，另一个仍在调用它。",
    ),
    "why-thread-leak": ("A thread was never joined or detached.", "线程既未 join 也未 detach。"),
    "why-lock-order": (
        "Locks are taken in different orders: two threads can wait for each other for ever.",
        "加锁顺序不一致：两个线程可能互相等待（死锁）。",
    ),
    "why-mutex": ("A lock is used in a way that is not allowed.", "锁的使用方式不合法。"),
    "why-signal": ("A signal handler calls what is not safe there.", "信号处理函数调用了不安全的函数。"),
    "why-tag": (
        "{access}{by} has a pointer whose tag is not that of the memory: freed, out of bounds, or of another block.",
        "{access}{by}所用指针的 tag 与内存不一致：已释放、越界或指向其他内存块。",
    ),
    "why-tag-cause": (
        "{access}{by} has a pointer whose tag is not that of the memory. The tool names the cause: {cause}.",
        "{access}{by}所用指针的 tag 与内存不一致。工具给出的原因：{cause}。",
    ),
    "why-undefined": (
        "Undefined behaviour: the compiler may do anything here.",
        "未定义行为：编译器可以做任何处理。",
    ),
    "why-int-overflow": (
        "The result of integer arithmetic does not fit its type.",
        "整数运算结果超出类型范围。",
    ),
    "why-div-zero": ("A division by zero.", "除零。"),
    "why-shift": (
        "A shift by too many bits, by a negative number, or of a negative value.",
        "移位位数过大或为负，或对负值移位。",
    ),
    "why-index": ("An index lies outside of its array.", "数组下标越界。"),
    "why-ub-align": ("A pointer is not aligned as its type demands.", "指针未满足其类型的对齐要求。"),
    "why-null": ("A null pointer is used.", "使用了空指针。"),
    "why-object-size": (
        "An object is used in memory that is too small for it, or holds another type.",
        "对象所在内存过小，或实际是其他类型。",
    ),
    "why-pointer": (
        "Pointer arithmetic leaves the address space or begins at null.",
        "指针运算越出地址空间，或从空指针开始。",
    ),
    "why-bad-value": (
        "A bool or an enumeration holds a value that its type does not have: memory that was not initialised, as a rule.",
        "bool 或枚举的值不合法：通常是未初始化的内存。",
    ),
    "why-cast": (
        "A conversion changes the value: the target type cannot hold it.",
        "类型转换改变了数值：目标类型无法表示。",
    ),
    "why-flow": (
        "The program reached a place that it must not reach, or a function ends without its value.",
        "程序执行到不应到达之处，或函数没有返回值就结束。",
    ),
    "why-vla": ("A local array has a length of zero or less.", "变长数组的长度小于等于零。"),
    "why-function-type": (
        "A function is called through a pointer of another type.",
        "通过类型不符的指针调用函数。",
    ),
    # ---- runtime, framework, compiler ----
    "why-aicore": (
        "{kernel} was stopped by an error of the AI Core{ret}.",
        "{kernel}因 AI Core 错误被终止{ret}。",
    ),
    "why-aicore-time": (
        "{kernel} did not end in time or stopped itself{ret}.",
        "{kernel}超时或自行终止{ret}。",
    ),
    "no-error-bit": ("No error bit is set.", "没有任何错误位。"),
    "kernel": ("Kernel {kernel}", "kernel {kernel} "),
    "kernel-node": ("Kernel {kernel} of {node}", "{node} 的 kernel {kernel} "),
    "kernel-unknown": ("A kernel", "某 kernel "),
    "task-unknown": ("A task", "某任务"),
    "ret": (" ({text})", "（{text}）"),
    "error-bits": ("Error bits: {bits}.", "错误位：{bits}。"),
    "error-bits-more": ("Error bits: {bits} and {n} more.", "错误位：{bits}，另有 {n} 个。"),
    "error-code-told": ("Error code {code}.", "错误码 {code}。"),
    "pc-offset": (
        "It stood {offset} into the kernel; the true place is near.",
        "PC 位于 kernel 起点后 {offset} 处，真实位置在其附近。",
    ),
    "pc-fixed": (
        "CANN works out that it stood {offset} into the kernel.",
        "CANN 推算 PC 位于 kernel 起点后 {offset} 处。",
    ),
    "pc-before": (
        "The program counter lies {offset} in front of the kernel: its start may belong to another function.",
        "PC 位于 kernel 起点之前 {offset}：该起点属于另一个函数。",
    ),
    "task-ids": ("On {ids}.", "位于 {ids}。"),
    "id-device": ("device {n}", "device {n}"),
    "id-stream": ("stream {n}", "stream {n}"),
    "id-task": ("task {n}", "task {n}"),
    "id-flip": ("flip {n}", "flip {n}"),
    "why-task": (
        "{task} failed without an error of an AI Core{ret}.",
        "{task}执行失败，但没有 AI Core 错误{ret}。",
    ),
    "why-task-time": ("{task} did not end in time{ret}.", "{task}执行超时{ret}。"),
    "why-collective": ("A rank waited in vain for another one{seconds}.", "某 rank 等待对端未果{seconds}。"),
    "collective-seconds": (" for {n} s", "（{n} 秒）"),
    "collective-rank": ("It waited for rank {rank}.", "等待的是 rank {rank}。"),
    "collective-nobody": ("The log does not know for which.", "日志未给出是哪个 rank。"),
    "collective-follows": ("The one that waits is seldom the one at fault.", "等待者往往不是出错者。"),
    "why-code": ("{code}: {meaning}.", "{code}：{meaning}。"),
    "why-code-family": (
        "{code} is a code of {family}; what it means is not known here.",
        "{code} 是{family}的错误码，此处未收录其含义。",
    ),
    "why-code-unknown": ("{code} is not a code that is known here.", "此处未收录错误码 {code}。"),
    "why-code-none": ("An error was reported; its code is not told.", "报告了错误，但没有错误码。"),
    "why-code-false": (
        "{code} is named by guides, but no tool prints it as a code.",
        "{code} 出现在一些指南中，但没有工具输出这个错误码。",
    ),
    "code-cause": ("Usual cause: {cause}.", "常见原因：{cause}。"),
    "code-api": ("It came from {api}.", "由 {api} 返回。"),
    "code-title": ("Its name: {title}.", "名称：{title}。"),
    "why-python": ("Python stopped here with an error.", "Python 在此处报错终止。"),
    "why-python-late": (
        "Work on the device runs behind Python: this line is where the error surfaced, not where it was made.",
        "device 上的任务晚于 Python 执行：该行只是错误暴露处，并非产生处。",
    ),
    "python-error": (
        'The error: "{error}".',
        "错误：“{error}”。",
    ),
    "python-operator": (
        "The operator that it names, {operator}, is at work by chance.",
        "其中提到的算子 {operator} 只是恰好在执行。",
    ),
    "why-oom": ("A request for device memory failed.", "设备内存分配失败。"),
    "why-oom-tried": ("A request for {tried} of device memory failed.", "分配 {tried} 设备内存失败。"),
    "oom-kernel": ("It was for kernel {kernel}.", "用于 kernel {kernel}。"),
    "oom-too-large": (
        "The model needs more than there is: {allocated} in tensors and {tried} more are {needed}, the limit is {limit}.",
        "模型需求超过上限：张量已占 {allocated}，再加 {tried} 为 {needed}，上限 {limit}。",
    ),
    "oom-too-large-beside": (
        "The model is too large for the device: {allocated} in tensors ({share} of {total}) and {tried} more are {needed}, but at most {most} can be had. The rest, {kept}, is kept outside of this allocator (driver, context, collectives).",
        "模型超出设备容量：张量已占 {allocated}（{total} 的 {share}），再加 {tried} 为 {needed}，最多只能得到 {most}。其余 {kept} 在本分配器之外（驱动、context、集合通信）。",
    ),
    "oom-too-large-alone": (
        "This request alone is above the limit of {limit}.",
        "仅此一次分配就超过上限 {limit}。",
    ),
    "oom-pieces": (
        "The memory is in pieces: {unused} are reserved and unused, yet no piece is large enough, and only {available} can still be had.",
        "内存碎片化：已预留而未使用 {unused}，但没有足够大的连续块，且只能再得到 {available}。",
    ),
    "oom-joined": (
        "Neither the {unused} that are reserved and unused nor the {available} that can still be had are enough, together they would be.",
        "已预留未用的 {unused} 与还能得到的 {available} 都不够，合起来则足够。",
    ),
    "oom-awaited": (
        "{unused} are reserved and unused, but {awaited} of them still wait for a stream to end: only {idle} can be used at once.",
        "已预留而未使用 {unused}，但其中 {awaited} 仍在等待 stream 结束：只有 {idle} 可立即使用。",
    ),
    "oom-awaited-part": (
        "{awaited} of them still wait for a stream to end.",
        "其中 {awaited} 仍在等待 stream 结束。",
    ),
    "oom-others": (
        "Others hold the device: {others} of {total} are neither free nor in use by this process.",
        "设备被他人占用：{total} 中有 {others} 既不空闲，也不属于本进程。",
    ),
    "oom-others-reserved": (
        "{others} of {total} are neither free nor reserved by this process' allocator: another process holds them, or this one outside of its allocator.",
        "{total} 中有 {others} 既不空闲，也未被本进程的分配器预留：由其他进程占用，或由本进程在分配器之外占用。",
    ),
    "oom-enough": (
        "{available} could be had, which is enough: no one piece of it was, or another process gave memory back in the meantime.",
        "可得到 {available}，数量足够：可能没有足够大的连续块，或期间其他进程释放了内存。",
    ),
    "oom-unknown": (
        "The message does not have the figures that would tell why.",
        "消息中没有足以判断原因的数字。",
    ),
    "oom-none": (
        "None of the figures at hand points to a model that is too large, to pieces, or to another process.",
        "现有数字不指向模型过大、碎片或其他进程占用。",
    ),
    "why-compile": (
        "A kernel does not fit into an on-chip buffer{buffer}.",
        "kernel 放不进片上缓存{buffer}。",
    ),
    "compile-buffer": (" ({buffer})", "（{buffer}）"),
    "compile-needs": ("It needs {bits} bits = {bytes} ({kib}).", "需要 {bits} bit = {bytes}（{kib}）。"),
    "compile-has": ("There are {bits} bits = {bytes} ({kib}).", "可用 {bits} bit = {bytes}（{kib}）。"),
    "compile-ratio": (
        "It needs {ratio} times what there is, {excess} too many.",
        "需求是可用量的 {ratio} 倍，多出 {excess}。",
    ),
    "compile-excess": ("That is {excess} too many.", "多出 {excess}。"),
    "why-stop": ("The debugger stopped here.", "调试器在此处停下。"),
    "stop-reason": ("Reason: {reason}.", "原因：{reason}。"),
    "stop-others": (
        "Other cores of the task stopped too: {cores}.",
        "同一任务的其他核也已停下：{cores}。",
    ),
    "why-stop-late": (
        "The debugger stopped at an error of the core; the true place lies some instructions before it.",
        "调试器因核错误停下；真实位置在其之前几条指令。",
    ),
    "why-general": ("{tool} reports {kind}.", "{tool} 报告了 {kind}。"),
    # ---- next steps ----
    "next-gm": (
        "Compare the address with the allocations, and offset and length of the last tile with the shape; begin at the innermost frame of your own code.",
        "将地址与各次分配对比，并核对最后一个 tile 的偏移与长度是否符合 shape；从最内层的自有代码帧开始。",
    ),
    "next-gm-no-frame": (
        "Compare the address with the allocations, and offset and length of the last tile with the shape; this report never names a line.",
        "将地址与各次分配对比，并核对最后一个 tile 的偏移与长度是否符合 shape；此类报告从不给出代码行。",
    ),
    "next-host": (
        "Look at this copy or memset in the host code: compare address and size with the allocation, and whether that is freed already.",
        "检查 host 代码中的这次拷贝或 memset：将地址与大小同所分配的内存对比，并确认该内存是否已释放。",
    ),
    "next-chip": (
        "Check the sizes given to InitBuffer and the offsets into the buffer.",
        "检查 InitBuffer 的大小与缓存内偏移。",
    ),
    "next-overlap": (
        "Compare the offsets of the cores: blocks write the same rows, or a tail overlaps.",
        "对比各核的偏移：是否写了相同的行，或尾块重叠。",
    ),
    "next-align": (
        "Check the offset arithmetic: addresses and lengths of moves must be multiples of 32 bytes; pad the tail.",
        "检查偏移计算：搬运的地址与长度须为 32 字节的倍数；尾块请补齐。",
    ),
    "next-uninit": (
        "Look for who should write it: a copy that comes too late, or a memset that is missing.",
        "查找应写入者：拷贝过晚，或缺少 memset。",
    ),
    "next-free": (
        "Look at the host code at this place for a second free, or a pointer that was changed.",
        "检查此处的 host 代码：是否重复释放，或指针被改动。",
    ),
    "next-unused": (
        "Remove the allocation, or make it where it is needed (host code).",
        "删除该分配，或移到真正需要处（host 代码）。",
    ),
    "next-leak": (
        "Free it on every way out of the function that allocated it (host code); memory kept in every call grows with the calls.",
        "在分配它的函数的每条退出路径上释放（host 代码）；若每次调用都保留，内存会随调用增长。",
    ),
    "next-leak-indirect": (
        "Nothing to free here at first: only other leaked blocks point to it. Free the direct leak that holds it, together with what it owns; then run again.",
        "这里不必先处理：只有其他泄漏块指向它。先释放持有它的直接泄漏块及其所有内容，然后重新运行。",
    ),
    "next-race-pipes": (
        "Look for the SetFlag/WaitFlag or queue step that is missing between the two lines of the record.",
        "在记录的两行之间查找缺少的 SetFlag/WaitFlag 或队列操作。",
    ),
    "next-race-devices": (
        "Look at device {first} and device {second}: one must not touch this memory before the other is done, so a sync between devices is missing.",
        "查看 device {first} 与 device {second}：一方完成之前另一方不应访问该内存，缺少 device 间的同步。",
    ),
    "next-race-cores": (
        "Look at the two block numbers: they need a cross-core sync, or must not write the same rows.",
        "查看两个 block 编号：需要核间同步，或不应写相同的行。",
    ),
    "next-race-threads": (
        "Both are threads of one block: put a __syncthreads() between the two lines, or update the value with an atomic operation.",
        "两者是同一 block 的线程：在两行之间加 __syncthreads()，或用原子操作更新该值。",
    ),
    "next-dcci": (
        "Put a DataCacheCleanAndInvalid between the write and the read.",
        "在写与读之间加入 DataCacheCleanAndInvalid。",
    ),
    "next-flag": (
        "Look at the flags between these two pipes: set and wait must come in pairs on every path.",
        "检查这两条流水线之间的 flag：每条路径上 set 与 wait 必须成对。",
    ),
    "next-lock-up": (
        "Begin at the instruction with the lowest serial number; for each waiting pipe look for the one that should set its flag.",
        "从序号最小的指令开始；为每条等待的流水线查找应置位其 flag 的一方。",
    ),
    "next-divergent": (
        "Move the barrier out of the branch, so that all threads of the group reach it.",
        "将同步移出分支，使同组线程都能到达。",
    ),
    "next-register": ("Set the register back at the end of the kernel.", "在 kernel 结束前恢复该寄存器。"),
    "next-mask": (
        "Nothing, if the mask is meant; else call ResetMask behind the instruction that set it.",
        "若 mask 是有意设置则无需处理；否则在设置处之后调用 ResetMask。",
    ),
    "next-internal": (
        "Run the current version of mssanitizer on this kernel; do not take it for clean.",
        "用最新版 mssanitizer 重新运行该 kernel；不要视为无错误。",
    ),
    "next-read": ("Read the lines of the log at this place.", "阅读日志此处的内容。"),
    "next-bounds": (
        "Check index and length at the innermost frame of your own code against the size of the block.",
        "在最内层的自有代码帧处，将下标与长度同内存块大小核对。",
    ),
    "next-freed": (
        "Look who frees the block too early, or who keeps a pointer to it for too long.",
        "查找过早释放者，或过久保留指针者。",
    ),
    "next-local": (
        "Do not keep pointers or references to local variables beyond their scope.",
        "不要在作用域之外保留局部变量的指针或引用。",
    ),
    "next-owner": (
        "Give the block one owner: free it once, by the call that fits its allocation, with the address that was returned.",
        "为内存块确定唯一所有者：用匹配的方式、以返回的地址释放一次。",
    ),
    "next-size": (
        "Look how the size is computed: an overflow, a subtraction below zero, or data that was not checked.",
        "检查大小的计算：溢出、减成负数，或未校验的数据。",
    ),
    "next-copy": ("Use memmove, or correct the ranges.", "改用 memmove，或修正区间。"),
    "next-memory": (
        "Look at the memory of the host, and at the size that is asked for.",
        "查看 host 内存与要求分配的大小。",
    ),
    "next-order": ("Initialise it on first use inside of a function.", "改为在函数内首次使用时初始化。"),
    "next-odr": (
        "Keep one definition; look which libraries are linked twice.",
        "只保留一处定义；检查是否重复链接了库。",
    ),
    "next-null": (
        "Look where the pointer comes from at the innermost frame of your own code.",
        "在最内层的自有代码帧处查看指针来源。",
    ),
    "next-stack": (
        "Look at the frame that repeats; move large arrays to the heap.",
        "查看重复出现的帧；将大数组移到堆上。",
    ),
    "next-lines": (
        "Build with -g and look at the innermost frame of your own code.",
        "用 -g 编译，查看最内层的自有代码帧。",
    ),
    "next-msan-origin": (
        "Set the value where it was created, or look which way through the code leaves it unset.",
        "在产生处为该值赋初值，或查找哪条路径没有赋值。",
    ),
    "next-msan": (
        "Build with -fsanitize-memory-track-origins=2 to see where the value was allocated.",
        "用 -fsanitize-memory-track-origins=2 编译，以查看该值的分配处。",
    ),
    "next-threads": (
        "Guard both places with the same lock, or make the value atomic.",
        "用同一把锁保护两处，或改用原子变量。",
    ),
    "next-join": ("Join or detach the thread.", "对线程执行 join 或 detach。"),
    "next-lock-order": ("Take the locks in one order everywhere.", "在所有地方按同一顺序加锁。"),
    "next-mutex": (
        "Look at the life of the lock: who destroys or unlocks it, and when.",
        "检查锁的生命周期：由谁、在何时销毁或解锁。",
    ),
    "next-signal": ("Only set a flag in the handler.", "信号处理函数中只置标志。"),
    "next-undefined": (
        "Correct the line that is named: check the values before they are used.",
        "修正所指的代码行：使用前先检查数值。",
    ),
    "next-wider": (
        "Compute in a wider type (int64_t), or check the operands before.",
        "改用更宽的类型（int64_t）计算，或事先检查操作数。",
    ),
    "next-aicore": (
        "Run this kernel under mssanitizer to get the line; compare the shapes of this call with those that work.",
        "用 mssanitizer 运行该 kernel 以定位代码行；将本次调用的 shape 与正常的对比。",
    ),
    "next-hardware": (
        "This is a fault of the hardware as a rule: check npu-smi info -t health and -t ecc of this device, and do not look in the kernel first.",
        "通常是硬件故障：请先检查该设备的 npu-smi info -t health 与 -t ecc，而不是先查 kernel。",
    ),
    "next-aicore-time": (
        "Run it under mssanitizer --tool synccheck; look for flags that nobody sets, loops without end, failed assertions.",
        "用 mssanitizer --tool synccheck 运行；查找无人置位的 flag、死循环与失败的断言。",
    ),
    "next-files": (
        "CANN wrote {n} dump files of it: the inputs and the kernel are in them.",
        "CANN 已为其写出 {n} 个 dump 文件：包含输入与 kernel。",
    ),
    "next-file": ("CANN wrote a dump file of it.", "CANN 已为其写出 dump 文件。"),
    "next-task": (
        "Look in the plog of this process for the lines around this time; the first failed task is the root.",
        "在该进程的 plog 中查看此时间附近的日志；第一个失败的任务是根因。",
    ),
    "next-ranks": (
        "Collect the logs of all ranks: look at the one that reports no time-out, else at the first error by time.",
        "收集所有 rank 的日志：先看没有报超时的 rank，否则看时间最早的错误。",
    ),
    "next-code": ("{step}.", "{step}。"),
    "next-code-see": ("Real codes are, for instance: {see}.", "真实的错误码例如：{see}。"),
    "next-code-unknown": (
        "Look for the messages above it, and for the first error of the same process in the plog.",
        "查看其上方的消息，以及同一进程 plog 中的第一条错误。",
    ),
    "next-python-late": (
        "Run again with ASCEND_LAUNCH_BLOCKING=1: then the line is where the operator was called. Until then go by the kernel that the plog names.",
        "设置 ASCEND_LAUNCH_BLOCKING=1 后重新运行：此时该行才是算子的调用处。在此之前以 plog 中的 kernel 为准。",
    ),
    "next-python": ("Look at this line and at the call that it makes.", "查看该行及其调用。"),
    "next-oom-large": (
        "Make the batch or the sequence smaller, recompute activations, or spread the model over more devices.",
        "减小 batch 或序列长度、使用重计算，或将模型分布到更多设备。",
    ),
    "next-oom-awaited": (
        "Let streams end before this request: synchronise, keep fewer steps in flight, and look for tensors that another stream still holds (record_stream).",
        "在该次分配之前等待 stream 结束：进行同步，减少同时在途的步数，并查找仍被其他 stream 占用的张量（record_stream）。",
    ),
    "next-oom-pieces": (
        "Set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, or else max_split_size_mb with a value above 20 (the two exclude each other).",
        "设置 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True，或改用大于 20 的 max_split_size_mb（两者不能同时使用）。",
    ),
    "next-oom-pieces-cuda": (
        "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
        "设置 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True。",
    ),
    "next-oom-pieces-other": (
        "Give the framework less memory at the start, or make sizes more alike; the batch may have to be smaller.",
        "减少框架启动时的预留，或使各次分配大小更一致；可能需要减小 batch。",
    ),
    "next-oom-others": (
        "npu-smi info -t proc-mem -i CARD lists who holds the device; end those that should not be there.",
        "npu-smi info -t proc-mem -i CARD 可列出占用设备的进程；结束不应存在的进程。",
    ),
    "next-oom-others-cuda": (
        "nvidia-smi lists who holds the device; end those that should not be there.",
        "nvidia-smi 可列出占用设备的进程；结束不应存在的进程。",
    ),
    "next-oom-enough": (
        "Look in the plog of this process for the driver's own reason, and watch npu-smi info -t usages of the device while it runs: what is free is told of the moment after the failure.",
        "在该进程的 plog 中查找驱动给出的原因，并在运行时观察该设备的 npu-smi info -t usages：消息中的空闲量是失败之后的数字。",
    ),
    "next-oom-look": (
        "Look at npu-smi info -t usages and -t proc-mem of the device while it runs; a smaller batch tells whether the model is too large.",
        "运行时查看该设备的 npu-smi info -t usages 与 -t proc-mem；减小 batch 可判断是否模型过大。",
    ),
    "next-compile-fit": (
        "If the need grows linearly with the block size, {fitting} is the largest that fits ({used} was used).",
        "若需求随分块大小线性增长，则最大可用 {fitting}（当前为 {used}）。",
    ),
    "next-compile-even": (
        "As a multiple of 32: {multiple}; as a power of two: {power}.",
        "取 32 的倍数为 {multiple}，取 2 的幂为 {power}。",
    ),
    "next-compile-power": ("As a power of two: {power}.", "取 2 的幂为 {power}。"),
    "next-compile": (
        "Make the block smaller or split the axis; double buffering (multibuffer) needs the buffers twice.",
        "减小分块或切分该轴；双缓冲（multibuffer）会使缓存需求加倍。",
    ),
    "next-stop": (
        "Read variables and memory of this core in msDebug (ascend info cores, memory read).",
        "在 msDebug 中查看该核的变量与内存（ascend info cores、memory read）。",
    ),
}

KINDS: dict[str, tuple[str, str]] = {
    # ---- msSanitizer ----
    "illegal read": ("why-illegal", "next-gm"),
    "illegal write": ("why-illegal", "next-gm"),
    "out of bounds": ("why-out-of-bounds", "next-overlap"),
    "misaligned access": ("why-misaligned", "next-align"),
    "uninitialized read": ("why-uninitialized", "next-uninit"),
    "illegal free": ("why-free", "next-free"),
    "unused memory": ("why-unused", "next-unused"),
    "leak": ("why-leak", "next-leak"),
    "race": ("why-race", "next-race-pipes"),
    "missing dcci": ("why-dcci", "next-dcci"),
    "unpaired flag": ("why-unpaired", "next-flag"),
    "redundant flag": ("why-redundant", "next-flag"),
    "lock-up": ("why-lock-up", "next-lock-up"),
    "divergent threads": ("why-divergent", "next-divergent"),
    "register not reset": ("why-register", "next-register"),
    "non-default mask": ("why-mask", "next-mask"),
    "internal error": ("why-internal", "next-internal"),
    "other": ("why-other", "next-read"),
    # ---- AddressSanitizer, HWAddressSanitizer ----
    "heap-buffer-overflow": ("why-heap-overflow", "next-bounds"),
    "heap-use-after-free": ("why-freed", "next-freed"),
    "use after free": ("why-device-freed", "next-freed"),
    "use-after-free": ("why-freed", "next-freed"),
    "stack-buffer-overflow": ("why-stack-overflow-access", "next-bounds"),
    "stack-buffer-underflow": ("why-stack-overflow-access", "next-bounds"),
    "dynamic-stack-buffer-overflow": ("why-stack-overflow-access", "next-bounds"),
    "stack-use-after-return": ("why-stack-gone", "next-local"),
    "stack-use-after-scope": ("why-stack-gone", "next-local"),
    "global-buffer-overflow": ("why-global-overflow", "next-bounds"),
    "use-after-poison": ("why-poison", "next-freed"),
    "container-overflow": ("why-container", "next-bounds"),
    "intra-object-overflow": ("why-intra-object", "next-bounds"),
    "initialization-order-fiasco": ("why-init-order", "next-order"),
    "wild-access": ("why-wild", "next-null"),
    "wild-addr-read": ("why-wild", "next-null"),
    "wild-addr-write": ("why-wild", "next-null"),
    "unknown-crash": ("why-wild", "next-null"),
    "double-free": ("why-double-free", "next-owner"),
    "bad-free": ("why-bad-free", "next-owner"),
    "invalid-free": ("why-bad-free", "next-owner"),
    "alloc-dealloc-mismatch": ("why-mismatch", "next-owner"),
    "new-delete-type-mismatch": ("why-size-mismatch", "next-owner"),
    "negative-size-param": ("why-negative", "next-size"),
    "allocation-size-too-big": ("why-too-big", "next-size"),
    "calloc-overflow": ("why-product", "next-size"),
    "reallocarray-overflow": ("why-product", "next-size"),
    "pvalloc-overflow": ("why-product", "next-size"),
    "invalid-allocation-alignment": ("why-bad-alignment", "next-size"),
    "invalid-aligned-alloc-alignment": ("why-bad-alignment", "next-size"),
    "invalid-posix-memalign-alignment": ("why-bad-alignment", "next-size"),
    "bad-malloc_usable_size": ("why-not-owned", "next-owner"),
    "bad-__sanitizer_get_allocated_size": ("why-not-owned", "next-owner"),
    "out-of-memory": ("why-host-memory", "next-memory"),
    "rss-limit-exceeded": ("why-host-memory", "next-memory"),
    "odr-violation": ("why-odr", "next-odr"),
    "bad-__sanitizer_annotate_contiguous_container": ("why-annotate", "next-lines"),
    "bad-__sanitizer_annotate_double_ended_contiguous_container": ("why-annotate", "next-lines"),
    "w-and-x-usage": ("why-page", "next-lines"),
    "SEGV": ("why-segv", "next-null"),
    "BUS": ("why-bus", "next-null"),
    "FPE": ("why-fpe", "next-undefined"),
    "ILL": ("why-ill", "next-lines"),
    "ABRT": ("why-abrt", "next-read"),
    "TRAP": ("why-trap", "next-lines"),
    "stack-overflow": ("why-stack-exhausted", "next-stack"),
    "tag-mismatch": ("why-tag", "next-freed"),
    "stack tag-mismatch": ("why-tag", "next-local"),
    # ---- MemorySanitizer, ThreadSanitizer ----
    "use-of-uninitialized-value": ("why-msan", "next-msan"),
    "data race": ("why-data-race", "next-threads"),
    "data race on vptr": ("why-vptr", "next-threads"),
    "data race on vptr (ctor/dtor vs virtual call)": ("why-vptr", "next-threads"),
    "thread leak": ("why-thread-leak", "next-join"),
    "lock-order-inversion": ("why-lock-order", "next-lock-order"),
    "lock-order-inversion (potential deadlock)": ("why-lock-order", "next-lock-order"),
    "destroy of a locked mutex": ("why-mutex", "next-mutex"),
    "double lock of a mutex": ("why-mutex", "next-mutex"),
    "unlock of an unlocked mutex (or by a wrong thread)": ("why-mutex", "next-mutex"),
    "signal-unsafe call inside of a signal": ("why-signal", "next-signal"),
    # ---- UndefinedBehaviorSanitizer ----
    "undefined-behavior": ("why-undefined", "next-undefined"),
    "signed-integer-overflow": ("why-int-overflow", "next-wider"),
    "unsigned-integer-overflow": ("why-int-overflow", "next-wider"),
    "divide-by-zero": ("why-div-zero", "next-undefined"),
    "invalid-shift-exponent": ("why-shift", "next-undefined"),
    "invalid-shift-base": ("why-shift", "next-undefined"),
    "out-of-bounds-index": ("why-index", "next-undefined"),
    "misaligned-pointer-use": ("why-ub-align", "next-undefined"),
    "alignment-assumption": ("why-ub-align", "next-undefined"),
    "null-pointer-use": ("why-null", "next-null"),
    "invalid-null-argument": ("why-null", "next-null"),
    "invalid-null-return": ("why-null", "next-null"),
    "insufficient-object-size": ("why-object-size", "next-undefined"),
    "dynamic-type-mismatch": ("why-object-size", "next-undefined"),
    "nullptr-with-offset": ("why-pointer", "next-null"),
    "nullptr-after-nonzero-offset": ("why-pointer", "next-null"),
    "nullptr-with-nonzero-offset": ("why-pointer", "next-null"),
    "pointer-overflow": ("why-pointer", "next-undefined"),
    "invalid-bool-load": ("why-bad-value", "next-uninit"),
    "invalid-enum-load": ("why-bad-value", "next-uninit"),
    "float-cast-overflow": ("why-cast", "next-undefined"),
    "implicit-conversion": ("why-cast", "next-undefined"),
    "missing-return": ("why-flow", "next-undefined"),
    "unreachable-call": ("why-flow", "next-undefined"),
    "non-positive-vla-index": ("why-vla", "next-size"),
    "function-type-mismatch": ("why-function-type", "next-undefined"),
    "invalid-builtin-use": ("why-undefined", "next-undefined"),
    "invalid-objc-cast": ("why-undefined", "next-undefined"),
    "cfi-bad-type": ("why-function-type", "next-undefined"),
    # ---- runtime, framework, compiler, debugger ----
    "aicore exception": ("why-aicore", "next-aicore"),
    "task failure": ("why-task", "next-task"),
    "collective time-out": ("why-collective", "next-ranks"),
    "error code": ("why-code-none", "next-code-unknown"),
    "python error": ("why-python", "next-python"),
    "out of memory": ("why-oom", "next-oom-look"),
    "buffer overflow at compile time": ("why-compile", "next-compile"),
    "pool warning": ("why-other", "next-read"),
    "debugger stop": ("why-stop", "next-stop"),
}
"""Kind -> (what happened, what to do): keys of `TEXTS`."""

GAPS: dict[str, tuple[str, str]] = {
    # ---- msSanitizer ----
    "no-markers": (
        "The log has neither start nor end of a check, as releases before 26.0 write it: nobody can tell whether every kernel was checked. Run it with a newer mssanitizer, or make sure that the program ended by itself.",
        "日志没有检查的开始与结束标记（26.0 之前的版本不输出）：无法判断是否检查了每个 kernel。请用新版 mssanitizer 运行，或确认程序正常结束。",
    ),
    "unfinished-kernel": (
        "The check of a kernel began and has no end: that kernel counts as not checked. Wait until the program ends, or run again.",
        "某个 kernel 的检查已开始但没有结束：该 kernel 视为未检查。请等待程序结束或重新运行。",
    ),
    "no-start": (
        "There are more ends of checks than starts: the begin of the log is missing. Take the whole log.",
        "检查的结束标记多于开始标记：日志开头缺失。请使用完整日志。",
    ),
    "cut-off": (
        "The log ends in the middle of a report: what came after is not known. Take the whole log, or run again with --log-file (log_path for host sanitizers).",
        "日志在一条报告中间结束：其后内容未知。请使用完整日志，或用 --log-file（host sanitizer 用 log_path）重新运行。",
    ),
    "lost-begin": (
        "A SUMMARY line names a report that is not in the log: the report's beginning is missing or damaged. Take the whole log, or run again.",
        "SUMMARY 行提到的报告不在日志中：报告开头缺失或损坏。请使用完整日志，或重新运行。",
    ),
    "skipped-lines": (
        "Lines were too long and were left out: a report may be in them. Keep the program's output apart with --log-file.",
        "有过长的行被跳过，其中可能含有报告。请用 --log-file 将报告与程序输出分开。",
    ),
    "limit": (
        "There is more in this file than is kept: the rest was not read. Split the log, or limit the check with --kernel-name or --block-id.",
        "文件内容超出保留上限，其余未读取。请拆分日志，或用 --kernel-name、--block-id 缩小检查范围。",
    ),
    "unreadable": (
        "A part of the file could not be read: it may hold reports. Copy the log again.",
        "文件有一部分无法读取，其中可能含有报告。请重新复制日志。",
    ),
    "records-dropped": (
        'The tool lost records because its buffer was too small: "No error" is then worth nothing. Run again with the --cache-size that it names.',
        '缓存过小导致记录丢失：此时 "No error" 没有意义。请用日志给出的 --cache-size 重新运行。',
    ),
    "cache-exhausted": (
        'The tool lost records even with its largest buffer: "No error" is then worth nothing. Check less at once: --kernel-name, --block-id, a smaller shape.',
        '即使使用最大缓存仍丢失记录：此时 "No error" 没有意义。请缩小检查范围：--kernel-name、--block-id 或更小的 shape。',
    ),
    "address-changed": (
        'The program overwrote the tool\'s own records: neither findings nor "No error" can be trusted. Correct the out-of-bounds writes that are listed, then run again.',
        '程序改写了工具自身的记录：结果与 "No error" 都不可信。请先修正已列出的越界写，再重新运行。',
    ),
    "sync-records-dropped": (
        "There were more __syncthreads() than the tool records: races between them may be missed. Run again with a smaller shape.",
        "__syncthreads() 数量超出工具的记录上限：可能漏报竞争。请用更小的 shape 重新运行。",
    ),
    "heap-range": (
        "The tool met a heap block outside of the memory that it watches: accesses there were not checked. Look which call allocated it.",
        "工具遇到不在监视范围内的堆内存块：对其访问未被检查。请查看由哪个调用分配。",
    ),
    "tool-not-supported": (
        "A check was left out because the kernel was not built for it. Build with -g --cce-enable-sanitizer and run again.",
        "kernel 未按要求编译，某项检查被忽略。请用 -g --cce-enable-sanitizer 编译后重新运行。",
    ),
    "no-active-tool": (
        "A kernel ran without any check. Build with -g --cce-enable-sanitizer, and look whether --kernel-name leaves it out.",
        "某个 kernel 没有经过任何检查。请用 -g --cce-enable-sanitizer 编译，并检查是否被 --kernel-name 排除。",
    ),
    "tool-error": (
        "The tool reports an error of its own: what it did not check is not known. Read the line, and its debug log (MSSANITIZER_ENABLE_DEBUG_LOG=1).",
        "工具自身报错：哪些内容未检查不得而知。请阅读该行及其调试日志（MSSANITIZER_ENABLE_DEBUG_LOG=1）。",
    ),
    "interrupted": (
        "The run was ended by hand: later kernels were not checked. Let it run to its end.",
        "运行被手动中断：之后的 kernel 未被检查。请运行到结束。",
    ),
    "signal": (
        "The program was ended by a signal: later kernels were not checked, leaks not counted. Correct the crash, then run again.",
        "程序被信号终止：之后的 kernel 未检查，泄漏未统计。请先修正崩溃再运行。",
    ),
    "abnormal-exit": (
        "The program ended with an error: later kernels may not have run. Look why, then run again.",
        "程序异常退出：之后的 kernel 可能没有运行。请查明原因后重新运行。",
    ),
    # ---- host sanitizers ----
    "in progress": (
        "The log is still being written: more may come. Wait until the program ends.",
        "日志仍在写入：可能还有内容。请等待程序结束。",
    ),
    "too-large": (
        "Lines were too long and were left out: a report may be in them. Write the report to a file of its own (log_path, --log-file).",
        "有过长的行被跳过，其中可能含有报告。请将报告写入单独文件（log_path、--log-file）。",
    ),
    "encoding": (
        "Text in an unknown encoding was not read: it may hold reports. Save the log as UTF-8.",
        "部分文本编码未知，未能读取，其中可能含有报告。请以 UTF-8 保存日志。",
    ),
    "runtime-refused": (
        "The sanitizer did not start: nothing was checked. Put its runtime first (LD_PRELOAD, or link it first), then run again.",
        "sanitizer 未能启动：什么都没有检查。请让其运行库最先加载（LD_PRELOAD 或最先链接），再重新运行。",
    ),
    "check-failed": (
        "The sanitizer failed in itself: what came after was not checked. Look for memory that the first report shows as damaged; else try a newer version.",
        "sanitizer 自身检查失败：其后未检查。请先处理第一条报告中损坏的内存，否则换用新版本。",
    ),
    "nested-bug": (
        "A second error happened while the first was reported: the report is not complete. Correct the first error, then run again.",
        "输出第一条报告时又发生错误：报告不完整。请先修正第一个错误再运行。",
    ),
    "leak-check-failed": (
        "The search for leaks failed: no leak in the log does not mean that there is none. Run without a debugger or ptrace.",
        "泄漏检查失败：日志中没有泄漏并不代表没有。请不要在调试器或 ptrace 下运行。",
    ),
    "leaks-omitted": (
        "The tool left leaks out: the sum is larger than the list. Raise max_leaks in LSAN_OPTIONS, or set it to 0.",
        "工具省略了部分泄漏：总量大于列表。请调大 LSAN_OPTIONS 中的 max_leaks，或设为 0。",
    ),
    "out-of-memory": (
        "The sanitizer itself got no memory: what came after was not checked. Give the host more memory, or make the case smaller.",
        "sanitizer 自身分配内存失败：其后未检查。请增加 host 内存或缩小用例。",
    ),
}
"""Why a log is not complete, and what to run."""

GAP_UNKNOWN = (
    "The log is not complete ({word}): no finding in it does not mean that there is none.",
    "日志不完整（{word}）：没有发现问题不代表没有问题。",
)
