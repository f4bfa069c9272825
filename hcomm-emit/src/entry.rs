//! The public function of an operator: its arguments as HCCL has them, and how they become a call.

use hcomm_core::operator::Operator;

/// An operator's public function.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its arguments before the communicator and the stream, with what each is.
    pub(crate) args: Vec<(&'static str, &'static str)>,
    /// The statements that check them and fill `call`.
    pub(crate) body: &'static str,
    /// What the body uses.
    pub(crate) helpers: Vec<&'static str>,
}

const SEND: (&str, &str) = ("const void *sendBuf", "device memory with what this rank gives");
const RECV: (&str, &str) = ("void *recvBuf", "device memory for what this rank gets");
const TYPE: (&str, &str) = ("HcclDataType dataType", "the element type");
const REDUCE: (&str, &str) = ("HcclReduceOp op", "the reduction");
const ROOT: (&str, &str) = ("uint32_t root", "the root, the same on every rank");

/// The largest count, and whether a buffer is there.
const BUFFERS: &str = r#"bool IsMissing(const void *buffer, const char *name, bool needed)
{
    if (buffer == nullptr && needed) {
        HCOMM_OP_ERROR("%s is null", name);
    }
    return buffer == nullptr && needed;
}

uint64_t AddressOf(const void *buffer)
{
    return reinterpret_cast<uintptr_t>(buffer);
}
"#;

/// Slots that have counts of their own.
const SLOTS: &str = r#"/// Whether slots end within what an operator takes, and where the last one ends.
bool AreTooLong(const uint64_t *counts, const uint64_t *starts, uint32_t slots)
{
    constexpr uint64_t MOST = 0x7ffffffffULL;
    for (uint32_t i = 0; i < slots; ++i) {
        if (counts[i] > MOST || starts[i] > MOST || counts[i] + starts[i] > MOST) {
            HCOMM_OP_ERROR("slot %u has %llu elements from %llu on: too many", i,
                static_cast<unsigned long long>(counts[i]), static_cast<unsigned long long>(starts[i]));
            return true;
        }
    }
    return false;
}
"#;

/// Slots one behind the other.
const DENSE: &str = r#"/// Where slots start that lie one behind the other.
std::vector<uint64_t> DenseStarts(const std::vector<uint64_t> &counts)
{
    std::vector<uint64_t> starts;
    uint64_t next = 0;
    for (uint64_t count : counts) {
        starts.push_back(next);
        next += count;
    }
    return starts;
}
"#;

/// What a rank sends and receives, by the matrix of counts.
const MATRIX: &str = r#"/// What this rank sends to each, and receives from each.
std::vector<uint64_t> SentBy(const uint64_t *matrix, uint32_t rank, uint32_t ranks)
{
    return {matrix + static_cast<uint64_t>(rank) * ranks, matrix + static_cast<uint64_t>(rank + 1) * ranks};
}

std::vector<uint64_t> ReceivedBy(const uint64_t *matrix, uint32_t rank, uint32_t ranks)
{
    std::vector<uint64_t> counts;
    for (uint64_t from = 0; from < ranks; ++from) {
        counts.push_back(matrix[from * ranks + rank]);
    }
    return counts;
}
"#;

pub(crate) fn entry(operator: Operator) -> Entry {
    let plain = |args: Vec<(&'static str, &'static str)>, body| Entry { args, body, helpers: vec![BUFFERS] };
    match operator {
        Operator::AllGather => plain(
            vec![SEND, RECV, ("uint64_t sendCount", "elements of this rank's slice"), TYPE],
            "    call.counts.largest = sendCount;\n",
        ),
        Operator::ReduceScatter => plain(
            vec![SEND, RECV, ("uint64_t recvCount", "elements of a rank's slice of the result"), TYPE, REDUCE],
            "    call.counts.largest = recvCount;\n",
        ),
        Operator::AllReduce => {
            plain(vec![SEND, RECV, ("uint64_t count", "elements"), TYPE, REDUCE], "    call.counts.largest = count;\n")
        }
        Operator::Broadcast => plain(
            vec![
                ("void *buf", "device memory: the root's data, and where the others get it"),
                ("uint64_t count", "elements"),
                TYPE,
                ROOT,
            ],
            "    call.counts.largest = count;\n",
        ),
        Operator::Reduce => plain(
            vec![
                SEND,
                ("void *recvBuf", "the root's device memory for the result"),
                ("uint64_t count", "elements"),
                TYPE,
                REDUCE,
                ROOT,
            ],
            "    call.counts.largest = count;\n",
        ),
        Operator::Scatter => plain(
            vec![
                ("const void *sendBuf", "the root's device memory with a slice for every rank"),
                RECV,
                ("uint64_t recvCount", "elements of a slice"),
                TYPE,
                ROOT,
            ],
            "    call.counts.largest = recvCount;\n",
        ),
        Operator::Gather => plain(
            vec![
                SEND,
                ("void *recvBuf", "the root's device memory for a slice of every rank"),
                ("uint64_t sendCount", "elements of a slice"),
                TYPE,
                ROOT,
            ],
            "    call.counts.largest = sendCount;\n",
        ),
        Operator::AllToAll => plain(
            vec![
                SEND,
                ("uint64_t sendCount", "elements for each rank"),
                ("HcclDataType sendType", "their type"),
                RECV,
                ("uint64_t recvCount", "elements from each rank: sendCount"),
                ("HcclDataType recvType", "their type: sendType"),
            ],
            "    if (recvCount != sendCount || recvType != sendType) {\n        HCOMM_OP_ERROR(\"what is sent and what is received differ\");\n        return HCCL_E_PARA;\n    }\n    call.counts.largest = sendCount;\n",
        ),
        Operator::SendRecv => plain(
            vec![
                ("const void *sendBuf", "device memory with the source's data"),
                ("void *recvBuf", "device memory of the destination"),
                ("uint64_t count", "elements"),
                TYPE,
                ("uint32_t srcRank", "who sends"),
                ("uint32_t dstRank", "who receives"),
            ],
            "    if (srcRank == dstRank) {\n        HCOMM_OP_ERROR(\"rank %u sends to itself\", srcRank);\n        return HCCL_E_PARA;\n    }\n    call.counts.largest = count;\n",
        ),
        Operator::Barrier => Entry { args: Vec::new(), body: "", helpers: Vec::new() },
        Operator::AllGatherV => Entry {
            args: vec![
                SEND,
                ("uint64_t sendCount", "elements of this rank's slice: recvCounts[rank]"),
                RECV,
                ("const uint64_t *recvCounts", "elements of every rank's slice, the same on every rank"),
                ("const uint64_t *recvDispls", "where each begins in recvBuf, in elements"),
                TYPE,
            ],
            body: r#"    if (recvCounts == nullptr || recvDispls == nullptr) {
        HCOMM_OP_ERROR("no counts or no displacements");
        return HCCL_E_PTR;
    }
    if (sendCount != recvCounts[rank]) {
        HCOMM_OP_ERROR("rank %u sends %llu elements and is to be received with %llu", rank,
            static_cast<unsigned long long>(sendCount), static_cast<unsigned long long>(recvCounts[rank]));
        return HCCL_E_PARA;
    }
    if (AreTooLong(recvCounts, recvDispls, ranks)) {
        return HCCL_E_PARA;
    }
    call.counts.by = CountsBy::RANK;
    call.counts.of.assign(recvCounts, recvCounts + ranks);
    call.counts.largest = *std::max_element(recvCounts, recvCounts + ranks);
    call.counts.inputStart = {0};
    call.counts.outputStart.assign(recvDispls, recvDispls + ranks);
"#,
            helpers: vec![BUFFERS, SLOTS],
        },
        Operator::ReduceScatterV => Entry {
            args: vec![
                SEND,
                ("const uint64_t *sendCounts", "elements of every rank's slice, the same on every rank"),
                ("const uint64_t *sendDispls", "where each begins in sendBuf, in elements"),
                RECV,
                ("uint64_t recvCount", "elements of this rank's slice: sendCounts[rank]"),
                TYPE,
                REDUCE,
            ],
            body: r#"    if (sendCounts == nullptr || sendDispls == nullptr) {
        HCOMM_OP_ERROR("no counts or no displacements");
        return HCCL_E_PTR;
    }
    if (recvCount != sendCounts[rank]) {
        HCOMM_OP_ERROR("rank %u receives %llu elements and is sent %llu", rank,
            static_cast<unsigned long long>(recvCount), static_cast<unsigned long long>(sendCounts[rank]));
        return HCCL_E_PARA;
    }
    if (AreTooLong(sendCounts, sendDispls, ranks)) {
        return HCCL_E_PARA;
    }
    call.counts.by = CountsBy::RANK;
    call.counts.of.assign(sendCounts, sendCounts + ranks);
    call.counts.largest = *std::max_element(sendCounts, sendCounts + ranks);
    call.counts.inputStart.assign(sendDispls, sendDispls + ranks);
    call.counts.outputStart = {0};
"#,
            helpers: vec![BUFFERS, SLOTS],
        },
        Operator::AllToAllV => Entry {
            args: vec![
                SEND,
                (
                    "const uint64_t *counts",
                    "counts[i * ranks + j] elements go from rank i to rank j; the same on every rank",
                ),
                ("const uint64_t *sendDispls", "where what goes to each rank begins in sendBuf, in elements"),
                ("HcclDataType sendType", "the element type"),
                RECV,
                ("const uint64_t *recvDispls", "where what comes from each rank begins in recvBuf, in elements"),
                ("HcclDataType recvType", "sendType"),
            ],
            body: r#"    if (counts == nullptr || sendDispls == nullptr || recvDispls == nullptr) {
        HCOMM_OP_ERROR("no counts or no displacements");
        return HCCL_E_PTR;
    }
    if (recvType != sendType) {
        HCOMM_OP_ERROR("what is sent and what is received differ");
        return HCCL_E_PARA;
    }
    const std::vector<uint64_t> sent = SentBy(counts, rank, ranks);
    const std::vector<uint64_t> received = ReceivedBy(counts, rank, ranks);
    if (AreTooLong(sent.data(), sendDispls, ranks) || AreTooLong(received.data(), recvDispls, ranks)) {
        return HCCL_E_PARA;
    }
    call.counts.by = CountsBy::PAIR;
    call.counts.of.assign(counts, counts + static_cast<uint64_t>(ranks) * ranks);
    call.counts.largest = *std::max_element(call.counts.of.begin(), call.counts.of.end());
    call.counts.inputStart.assign(sendDispls, sendDispls + ranks);
    call.counts.outputStart.assign(recvDispls, recvDispls + ranks);
"#,
            helpers: vec![BUFFERS, SLOTS, MATRIX],
        },
        Operator::AllToAllVc => Entry {
            args: vec![
                SEND,
                (
                    "const uint64_t *sendCountMatrix",
                    "[i * ranks + j] elements go from rank i to rank j; the same on every rank",
                ),
                ("HcclDataType sendType", "the element type"),
                RECV,
                ("HcclDataType recvType", "sendType"),
            ],
            body: r#"    if (sendCountMatrix == nullptr) {
        HCOMM_OP_ERROR("no counts");
        return HCCL_E_PTR;
    }
    if (recvType != sendType) {
        HCOMM_OP_ERROR("what is sent and what is received differ");
        return HCCL_E_PARA;
    }
    const std::vector<uint64_t> sent = SentBy(sendCountMatrix, rank, ranks);
    const std::vector<uint64_t> received = ReceivedBy(sendCountMatrix, rank, ranks);
    call.counts.inputStart = DenseStarts(sent);
    call.counts.outputStart = DenseStarts(received);
    if (AreTooLong(sent.data(), call.counts.inputStart.data(), ranks) ||
        AreTooLong(received.data(), call.counts.outputStart.data(), ranks)) {
        return HCCL_E_PARA;
    }
    call.counts.by = CountsBy::PAIR;
    call.counts.of.assign(sendCountMatrix, sendCountMatrix + static_cast<uint64_t>(ranks) * ranks);
    call.counts.largest = *std::max_element(call.counts.of.begin(), call.counts.of.end());
"#,
            helpers: vec![BUFFERS, SLOTS, DENSE, MATRIX],
        },
        Operator::BatchSendRecv => Entry {
            args: vec![
                (
                    "const HcclSendRecvItem *items",
                    "what this rank sends and receives: at most one of each for every rank",
                ),
                ("uint32_t itemNum", "how many"),
                ("uint64_t maxCount", "elements of the largest item of any rank: the same on every rank"),
                ("HcclDataType dataType", "the type of all items"),
            ],
            body: r#"    if (items == nullptr && itemNum > 0) {
        HCOMM_OP_ERROR("no items");
        return HCCL_E_PTR;
    }
    const uint64_t element = std::max<uint64_t>(ElementSize(dataType), 1);
    Counts &counts = call.counts;
    counts.by = CountsBy::PAIR;
    counts.largest = maxCount;
    counts.of.assign(static_cast<uint64_t>(ranks) * ranks, 0);
    counts.inputStart.assign(ranks, 0);
    counts.outputStart.assign(ranks, 0);
    std::vector<bool> seen(2 * static_cast<size_t>(ranks), false);
    for (uint32_t i = 0; i < itemNum; ++i) {
        const HcclSendRecvItem &item = items[i];
        const bool sends = item.sendRecvType == HCCL_SEND;
        if (item.remoteRank >= ranks || item.dataType != dataType || item.count > maxCount ||
            (!sends && item.sendRecvType != HCCL_RECV)) {
            HCOMM_OP_ERROR("item %u: rank %u, type %d, %llu elements", i, item.remoteRank,
                static_cast<int>(item.dataType), static_cast<unsigned long long>(item.count));
            return HCCL_E_PARA;
        }
        const uint64_t address = AddressOf(item.buf);
        if (IsMissing(item.buf, "the buffer of an item", item.count > 0)) {
            return HCCL_E_PTR;
        }
        const size_t slot = (sends ? 0 : ranks) + static_cast<size_t>(item.remoteRank);
        if (seen[slot] || address % element != 0) {
            HCOMM_OP_ERROR("item %u is the second for rank %u, or its buffer is not aligned", i, item.remoteRank);
            return HCCL_E_PARA;
        }
        seen[slot] = true;
        // The buffers lie anywhere: slots start at their addresses, and the operator's buffer at 0.
        (sends ? counts.inputStart : counts.outputStart)[item.remoteRank] = address / element;
        counts.of[sends ? static_cast<uint64_t>(rank) * ranks + item.remoteRank :
                          static_cast<uint64_t>(item.remoteRank) * ranks + rank] = item.count;
    }
    if (seen[rank] != seen[ranks + static_cast<size_t>(rank)]) {
        HCOMM_OP_ERROR("rank %u has one half of an item to itself", rank);
        return HCCL_E_PARA;
    }
"#,
            helpers: vec![BUFFERS],
        },
    }
}

/// Where the buffers of an operator have to be there, and what else of a call is set behind the counts.
pub(crate) fn buffers(operator: Operator) -> String {
    let moves = "call.counts.largest > 0";
    let (send, recv) = match operator {
        Operator::Barrier => return "    call.dataType = HCCL_DATA_TYPE_INT8;\n".into(),
        Operator::BatchSendRecv => return "    call.dataType = dataType;\n".into(),
        Operator::Broadcast => ("count > 0", ""),
        Operator::Scatter => ("rank == root && recvCount > 0", "recvCount > 0"),
        Operator::Gather => ("sendCount > 0", "rank == root && sendCount > 0"),
        Operator::Reduce => ("count > 0", "rank == root && count > 0"),
        Operator::SendRecv => ("rank == srcRank && count > 0", "rank == dstRank && count > 0"),
        Operator::AllGatherV => ("sendCount > 0", moves),
        Operator::ReduceScatterV => (moves, "recvCount > 0"),
        Operator::AllGather
        | Operator::ReduceScatter
        | Operator::AllReduce
        | Operator::AllToAll
        | Operator::AllToAllV
        | Operator::AllToAllVc => (moves, moves),
    };
    let (input, output) = if operator == Operator::Broadcast { ("buf", "buf") } else { ("sendBuf", "recvBuf") };
    let mut text = String::new();
    for (name, needed) in [(input, send), (output, recv)] {
        if !needed.is_empty() {
            text +=
                &format!("    if (IsMissing({name}, \"{name}\", {needed})) {{\n        return HCCL_E_PTR;\n    }}\n");
        }
    }
    text += &format!("    call.input = AddressOf({input});\n    call.output = AddressOf({output});\n");
    let ty = match operator {
        Operator::AllToAll | Operator::AllToAllV | Operator::AllToAllVc => "sendType",
        _ => "dataType",
    };
    text += &format!("    call.dataType = {ty};\n");
    if operator.reduces() {
        text += "    call.reduceOp = op;\n";
    }
    if operator.has_root() {
        text += "    call.root = root;\n";
    }
    if operator.has_src_dst() {
        text += "    call.src = srcRank;\n    call.dst = dstRank;\n";
    }
    text
}

/// The slots of a rank's input and output in C++.
pub(crate) fn slots(operator: Operator) -> (&'static str, &'static str) {
    const RANKS: &str = "ranks";
    match operator {
        Operator::AllGather | Operator::AllGatherV => ("1", RANKS),
        Operator::ReduceScatter | Operator::ReduceScatterV => (RANKS, "1"),
        Operator::AllReduce => ("1", "1"),
        Operator::AllToAll | Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv => (RANKS, RANKS),
        Operator::Broadcast => ("problem.rank == problem.root ? 1 : 0", "1"),
        Operator::Reduce => ("1", "problem.rank == problem.root ? 1 : 0"),
        Operator::Scatter => ("problem.rank == problem.root ? ranks : 0", "1"),
        Operator::Gather => ("1", "problem.rank == problem.root ? ranks : 0"),
        Operator::SendRecv => ("problem.rank == problem.src ? 1 : 0", "problem.rank == problem.dst ? 1 : 0"),
        Operator::Barrier => ("0", "0"),
    }
}
