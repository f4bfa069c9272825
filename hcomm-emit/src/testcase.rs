//! What the test program of a package knows of the operator: sizes, results, the call.

use hcomm_core::operator::Operator;

/// Definitions of `IN_PLACE_ONLY`, `HAS_ROOT`, `HAS_INT64`, `InputElements`, `OutputElements`, `Want` and `Call`.
pub(crate) fn operator(operator: Operator, function: &str, has_int64: bool) -> String {
    let one = "c.count";
    let all = "c.ranks * c.count";
    let at = |who: &str, elements: &str| format!("c.rank == {who} ? {elements} : 0");
    let sum = |index: &str| {
        format!(
            "    int sum = 0;\n    for (uint32_t from = 0; from < c.ranks; ++from) {{\n        sum += Value(from, {index});\n    }}\n    return sum;\n"
        )
    };
    let (input, output, want, call): (String, String, String, &str) = match operator {
        Operator::AllGather => (
            one.into(),
            all.into(),
            "    return Value(static_cast<uint32_t>(i / c.count), i % c.count);\n".into(),
            "send, recv, c.count, c.type",
        ),
        Operator::ReduceScatter => (all.into(), one.into(), sum("c.rank * c.count + i"), "send, recv, c.count, c.type, HCCL_REDUCE_SUM"),
        Operator::AllReduce => (one.into(), one.into(), sum("i"), "send, recv, c.count, c.type, HCCL_REDUCE_SUM"),
        Operator::Broadcast => (one.into(), one.into(), "    return Value(c.root, i);\n".into(), "recv, c.count, c.type, c.root"),
        Operator::Reduce => (one.into(), at("c.root", one), sum("i"), "send, recv, c.count, c.type, HCCL_REDUCE_SUM, c.root"),
        Operator::Scatter => (
            at("c.root", all),
            one.into(),
            "    return Value(c.root, c.rank * c.count + i);\n".into(),
            "send, recv, c.count, c.type, c.root",
        ),
        Operator::Gather => (
            one.into(),
            at("c.root", all),
            "    return Value(static_cast<uint32_t>(i / c.count), i % c.count);\n".into(),
            "send, recv, c.count, c.type, c.root",
        ),
        Operator::AllToAll => (
            all.into(),
            all.into(),
            "    return Value(static_cast<uint32_t>(i / c.count), c.rank * c.count + i % c.count);\n".into(),
            "send, c.count, c.type, recv, c.count, c.type",
        ),
        Operator::SendRecv => (
            at("c.root", one),
            at("Receiver(c)", one),
            "    return Value(c.root, i);\n".into(),
            "send, recv, c.count, c.type, c.root, Receiver(c)",
        ),
        Operator::Barrier => ("0".into(), "0".into(), "    (void)c;\n    return static_cast<int>(i) - 1;\n".into(), ""),
        Operator::AllGatherV => (
            "Count(c, c.rank)".into(),
            "Start(c, c.ranks)".into(),
            "    for (uint32_t from = 0; from < c.ranks; ++from) {\n        if (i >= Start(c, from) && i < Start(c, from) + Count(c, from)) {\n            return Value(from, i - Start(c, from));\n        }\n    }\n    return -1;\n".into(),
            "send, Count(c, c.rank), recv, counts.data(), starts.data(), c.type",
        ),
        Operator::ReduceScatterV => (
            "Start(c, c.ranks)".into(),
            "Count(c, c.rank)".into(),
            sum("Start(c, c.rank) + i"),
            "send, counts.data(), starts.data(), recv, Count(c, c.rank), c.type, HCCL_REDUCE_SUM",
        ),
        Operator::AllToAllV => (
            "SendStart(c, c.rank, c.ranks)".into(),
            "RecvStart(c, c.rank, c.ranks)".into(),
            PAIR_WANT.into(),
            "send, matrix.data(), sendStarts.data(), c.type, recv, recvStarts.data(), c.type",
        ),
        Operator::AllToAllVc => (
            "SendStart(c, c.rank, c.ranks)".into(),
            "RecvStart(c, c.rank, c.ranks)".into(),
            PAIR_WANT.into(),
            "send, matrix.data(), c.type, recv, c.type",
        ),
        Operator::BatchSendRecv => (
            "SendStart(c, c.rank, c.ranks)".into(),
            "RecvStart(c, c.rank, c.ranks)".into(),
            PAIR_WANT.into(),
            "items.data(), static_cast<uint32_t>(items.size()), 2 * c.count + 2, c.type",
        ),
    };
    let gap = if operator == Operator::AllToAllVc { "0" } else { "2" };
    let (helpers, locals) = match operator {
        Operator::SendRecv => (
            "uint32_t Receiver(const Case &c)\n{\n    return (c.root + c.ranks / 2) % c.ranks;\n}\n\n".to_owned(),
            "",
        ),
        Operator::AllGatherV | Operator::ReduceScatterV => (
            "/// The slot of a rank: of different sizes, some empty, with gaps between them.\nuint64_t Count(const Case &c, uint32_t rank)\n{\n    return c.count * (rank % 3) / 2 + rank % 2;\n}\n\nuint64_t Start(const Case &c, uint32_t rank)\n{\n    uint64_t start = 0;\n    for (uint32_t before = 0; before < rank; ++before) {\n        start += Count(c, before) + 2;\n    }\n    return start;\n}\n\n".to_owned(),
            "    std::vector<uint64_t> counts;\n    std::vector<uint64_t> starts;\n    for (uint32_t rank = 0; rank < c.ranks; ++rank) {\n        counts.push_back(Count(c, rank));\n        starts.push_back(Start(c, rank));\n    }\n",
        ),
        Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv => (
            format!("/// What goes from one rank to another: of different sizes, some empty.\nuint64_t Count(const Case &c, uint32_t from, uint32_t to)\n{{\n    return c.count * ((from * 5 + to * 7) % 3) / 2 + (from + to) % 2;\n}}\n\nuint64_t SendStart(const Case &c, uint32_t from, uint32_t to)\n{{\n    uint64_t start = 0;\n    for (uint32_t before = 0; before < to; ++before) {{\n        start += Count(c, from, before) + {gap};\n    }}\n    return start;\n}}\n\nuint64_t RecvStart(const Case &c, uint32_t to, uint32_t from)\n{{\n    uint64_t start = 0;\n    for (uint32_t before = 0; before < from; ++before) {{\n        start += Count(c, before, to) + {gap};\n    }}\n    return start;\n}}\n\n"),
            match operator {
                Operator::AllToAllV => {
                    "    std::vector<uint64_t> matrix;\n    std::vector<uint64_t> sendStarts;\n    std::vector<uint64_t> recvStarts;\n    for (uint32_t from = 0; from < c.ranks; ++from) {\n        for (uint32_t to = 0; to < c.ranks; ++to) {\n            matrix.push_back(Count(c, from, to));\n        }\n        sendStarts.push_back(SendStart(c, c.rank, from));\n        recvStarts.push_back(RecvStart(c, c.rank, from));\n    }\n"
                }
                Operator::AllToAllVc => {
                    "    std::vector<uint64_t> matrix;\n    for (uint32_t from = 0; from < c.ranks; ++from) {\n        for (uint32_t to = 0; to < c.ranks; ++to) {\n            matrix.push_back(Count(c, from, to));\n        }\n    }\n"
                }
                _ => {
                    "    std::vector<HcclSendRecvItem> items;\n    for (uint32_t other = 0; other < c.ranks; ++other) {\n        HcclSendRecvItem item{};\n        item.sendRecvType = HCCL_SEND;\n        item.buf = static_cast<char *>(send) + SendStart(c, c.rank, other) * ElementSize(c.type);\n        item.count = Count(c, c.rank, other);\n        item.dataType = c.type;\n        item.remoteRank = other;\n        items.push_back(item);\n        item.sendRecvType = HCCL_RECV;\n        item.buf = static_cast<char *>(recv) + RecvStart(c, c.rank, other) * ElementSize(c.type);\n        item.count = Count(c, other, c.rank);\n        items.push_back(item);\n    }\n"
                }
            },
        ),
        _ => (String::new(), ""),
    };
    let batch = operator == Operator::BatchSendRecv;
    let unused = |text: &str| match operator {
        Operator::Barrier => "    (void)c;\n",
        _ if !text.contains("c.") && !text.contains("(c") => "    (void)c;\n",
        _ => "",
    };
    let unused_buffers = match operator {
        Operator::Barrier => "    (void)send;\n    (void)recv;\n",
        Operator::Broadcast => "    (void)send;\n",
        _ => "",
    };
    let comma = if call.is_empty() { "" } else { ", " };
    let size = if batch { "uint64_t ElementSize(HcclDataType type);\n\n" } else { "" };
    format!(
        "constexpr bool IN_PLACE_ONLY = {};\nconstexpr bool HAS_ROOT = {};\nconstexpr bool HAS_INT64 = {has_int64};\n\n{size}{helpers}uint64_t InputElements(const Case &c)\n{{\n{}    return {input};\n}}\n\nuint64_t OutputElements(const Case &c)\n{{\n{}    return {output};\n}}\n\n/// What element `i` of the output must be; -1 for one that is left alone.\nint Want(const Case &c, uint64_t i)\n{{\n{want}}}\n\nHcclResult Call(const Case &c, void *send, void *recv)\n{{\n{unused_buffers}{locals}    return {function}({call}{comma}c.comm, c.stream);\n}}\n",
        operator == Operator::Broadcast,
        operator.has_root() || operator.has_src_dst(),
        unused(&input),
        unused(&output),
    )
}

const PAIR_WANT: &str = "    for (uint32_t from = 0; from < c.ranks; ++from) {\n        const uint64_t start = RecvStart(c, c.rank, from);\n        if (i >= start && i < start + Count(c, from, c.rank)) {\n            return Value(from, SendStart(c, from, c.rank) + i - start);\n        }\n    }\n    return -1;\n";
