//! A complete operator package for AI CPU: the files of a folder.

use std::fmt::Write as _;

use hcomm_core::check;
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu;
use hcomm_core::operator::{CountsBy, Operator};
use hcomm_core::product::Product;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Block, Engine, Spec, StmtKind, Verify};

use crate::algorithm::{EmitError, class, kernel};
use crate::lengths::{self, Rule};
use crate::{entry, names, runtime, testcase, tree};

/// The longest name of an algorithm: tags of contexts have room for it.
const MAX_NAME: usize = 128;

/// What the `README.md` of every package says, so that a folder is known to hold one.
pub const MARK: &str = "It is emitted by hcomm from";

/// What to emit.
#[derive(Clone, Debug)]
pub struct Options {
    /// For which engine.
    pub engine: Engine,
    /// For which product.
    pub product: Product,
    /// Whether a write and the record behind it become one operation (950 only).
    pub fuse: bool,
    /// A table of `hcomm tune OPERATOR --format cpp`, to ask whether this algorithm is the best for a size.
    pub tuner: Option<String>,
}

/// The files of a package: their paths in its folder, and their texts.
pub type Package = Vec<(String, String)>;

/// Emits an operator package.
///
/// # Errors
///
/// If the algorithm is not for this engine, not for this product, or cannot be emitted.
pub fn package(spec: &Spec<'_>, options: &Options) -> Result<Package, EmitError> {
    let at = spec.spans.first().copied();
    let refuse = |message: String| Err(EmitError::new(message, at));
    let aiv = options.engine == Engine::Aiv;
    if !spec.offers(options.engine) {
        return refuse(format!("`{}` is not for the engine {}", spec.snake, options.engine.name()));
    }
    if aiv && options.product != Product::A950 {
        return refuse(format!("kernels for Vector cores are emitted for the 950, not for {}", options.product));
    }
    if aiv && options.fuse {
        return refuse("a kernel for Vector cores has no operation that writes and records".into());
    }
    if options.fuse
        && let Err(diagnostic) = options.product.admits_fused()
    {
        return refuse(diagnostic.message);
    }
    let forms = Forms::new(spec, options);
    if forms.windows && aiv {
        return refuse(format!("`{}` has symmetric windows, which are for ai-cpu only", spec.snake));
    }
    if forms.windows && options.product == Product::A2 {
        return refuse(format!(
            "a2 has no symmetric windows: emit `{}` for a3 or the 950, or take an algorithm that moves the data through \
             scratch",
            spec.snake
        ));
    }
    let snake = names::identifier(spec.snake);
    if snake.len() > MAX_NAME {
        return refuse(format!("the name of `{}` is too long: {MAX_NAME} characters are the most", spec.snake));
    }
    let class = class(spec)?;
    let in_place = in_place(spec);
    if spec.operator == Operator::Broadcast && !in_place {
        return refuse(format!(
            "`{}` does not hold where input and output are one buffer, as HCCL's broadcast has it: `hcomm check {} --in-place`",
            spec.snake, spec.snake
        ));
    }
    let function = format!("Hccl{}", class.name);
    let choose = format!("choose_{}", spec.operator);
    if let Some(table) = &options.tuner
        && !table.contains(&format!("{choose}("))
    {
        return refuse(format!(
            "the tuner's table has no function `{choose}`: `hcomm tune {} --format cpp` writes one",
            spec.operator
        ));
    }
    let is_best = options.tuner.as_ref().map(|_| format!("bool {function}IsBest(uint64_t bytes)"));
    let entry = entry::entry(spec.operator);
    let declaration = declaration(&function, &entry);
    let (layouts, equal) = layouts(spec);

    let fill = |text: &str| {
        forms
            .lines(text)
            .replace("@KERNEL@", &kernel_name(&class.name, options.engine))
            .replace("@CLASS@", &class.name)
            .replace("@HOST_LIB@", &format!("hccl_{snake}"))
            .replace("@SNAKE@", &snake)
            .replace("@HEADER@", &format!("hccl_{snake}.h"))
            .replace("@FUNCTION@", &function)
            .replace("@PRODUCT@", options.product.name())
            .replace("@RESULT_CHECK@", &result_check(spec.operator))
            .replace("@TEST_RANKS@", test_ranks(spec, options.engine))
    };
    let mut files: Package = vec![
        (format!("inc/hccl_{snake}.h"), public_header(spec, &entry, &declaration, is_best.as_deref())),
        (format!("common/{snake}.h"), class.header.clone()),
        (format!("common/{snake}.cc"), class.source.clone()),
        ("common/operator.h".into(), operator_header(spec, &class.name, &snake, options, (layouts, equal, in_place))),
        (
            format!("op_host/{snake}_entry.cc"),
            entry_source(&snake, &entry, &declaration, spec.operator, is_best.as_deref()),
        ),
        ("op_host/protocols.h".into(), protocols(spec, options)),
        (
            "testcase/main.cc".into(),
            fill(runtime::TEST).replace(
                "@OPERATOR@\n",
                &format!("{}\n", testcase::operator(spec.operator, &function, has_int64(spec, options))),
            ),
        ),
        ("README.md".into(), readme(spec, &fill(runtime::README), &declaration, options, (layouts, equal, in_place))),
    ];
    files.extend(runtime::SCHEDULE.iter().map(|(name, text)| (format!("common/{name}"), (*text).to_owned())));
    files.extend(options.tuner.clone().map(|table| ("op_host/tuner.h".to_owned(), table)));
    let own = if aiv { runtime::AIV_FILES } else { runtime::AI_CPU_FILES };
    let windows = if forms.windows { runtime::WINDOW_FILES } else { &[] };
    files.extend(runtime::FILES.iter().chain(own).chain(windows).map(|(path, text)| ((*path).to_owned(), fill(text))));
    if aiv {
        files.push((format!("op_kernel_aiv/{snake}_kernel.h"), kernel(spec)?));
    } else {
        files.push((format!("op_kernel_aicpu/lib{snake}_aicpu_kernel.json"), registration(&snake, &class.name)));
        files.push((format!("scripts/{snake}_check_cfg.xml"), signing(&snake)));
    }
    files.sort();
    Ok(files)
}

/// Which lines of the templates a package has: a line that begins with `@NAME@` is for the packages of that form alone.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// Buffers are in symmetric windows.
    windows: bool,
    /// Data goes through the HCCL buffer.
    staged: bool,
    /// Peers learn of windows where channels are acquired: on the 950 (facts 7.2).
    tells: bool,
}

impl Forms {
    fn new(spec: &Spec<'_>, options: &Options) -> Forms {
        let windows = spec.headers.symmetric;
        let tells = windows && options.product == Product::A950;
        Forms { windows, staged: !windows || spec.headers.scratch.is_some(), tells }
    }

    /// The text with the lines of these forms.
    fn lines(self, text: &str) -> String {
        let names = [
            ("@WINDOWS@", self.windows),
            ("@PLAIN@", !self.windows),
            ("@STAGED@", self.staged),
            ("@UNSTAGED@", !self.staged),
            ("@TELLS@", self.tells),
            ("@ONCE@", !self.tells),
            ("@MAPPED@", self.windows && !self.tells),
        ];
        let mut kept = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match names.iter().find_map(|(name, has)| line.strip_prefix(name).map(|rest| (rest, *has))) {
                Some((rest, true)) => kept += rest,
                Some((_, false)) => {}
                None => kept += line,
            }
        }
        kept
    }
}

/// Whether the form where input and output overlap is proven, where the operator has one.
fn in_place(spec: &Spec<'_>) -> bool {
    if !spec.operator.has_in_place() {
        return false;
    }
    let layouts: Vec<Layout> = match spec.headers.verify {
        Verify::Ranks(first, last) => (first..=last.min(first + 7)).filter_map(Layout::flat).collect(),
        Verify::Layouts(layouts) => layouts.to_vec(),
    };
    layouts.into_iter().all(|layout| {
        let shape = Shape::first_roles(layout);
        instantiate(spec, &shape).is_ok_and(|instance| {
            let report = check::report(&aicpu::lower(&instance));
            report.diagnostics.is_empty() && report.in_place.is_empty()
        })
    })
}

/// Whether the algorithm looks at how ranks lie in nodes, and whether nodes have to be of one size.
fn layouts(spec: &Spec<'_>) -> (bool, bool) {
    match spec.headers.verify {
        Verify::Ranks(..) => (false, true),
        Verify::Layouts(layouts) => (true, layouts.iter().all(Layout::is_equal)),
    }
}

fn kernel_name(class: &str, engine: Engine) -> String {
    match engine {
        Engine::AiCpu => format!("HcommOp{class}"),
        Engine::Aiv => format!("HcommAiv{class}"),
    }
}

/// Whether a statement of the body is a `par`.
fn has_lanes(spec: &Spec<'_>) -> bool {
    spec.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Par(..)))
}

/// Whether the operator takes 64-bit integers: what only copies does, and what reduces where the AI CPU can.
fn has_int64(spec: &Spec<'_>, options: &Options) -> bool {
    fn reduces(spec: &Spec<'_>, block: Block, in_par: bool, found: &mut bool) {
        for stmt in tree::statements(spec, block) {
            if let StmtKind::Transfer { dst, src, reduce: true } = stmt.kind {
                *found |= in_par || dst.peer.is_some() || src.peer.is_some();
            }
            let in_par = in_par || matches!(stmt.kind, StmtKind::Par(..));
            for inner in tree::blocks(spec, &stmt.kind) {
                reduces(spec, inner, in_par, found);
            }
        }
    }
    let mut by_hardware = false;
    reduces(spec, spec.body, false, &mut by_hardware);
    let on_ai_cpu = options.engine == Engine::AiCpu && options.product == Product::A950 && !by_hardware;
    !spec.operator.reduces() || on_ai_cpu
}

/// For the stand-in's check of results: the operator, where its calls say enough.
fn result_check(operator: Operator) -> String {
    match operator {
        Operator::AllGather | Operator::ReduceScatter | Operator::AllReduce | Operator::AllToAll => {
            format!(";HCOMM_OPERATOR={operator}")
        }
        _ => String::new(),
    }
}

/// Rank counts of the test.
fn test_ranks(spec: &Spec<'_>, engine: Engine) -> &'static str {
    match spec.headers.verify {
        // Blocks that poll share the processors of the machine that tests.
        _ if engine == Engine::Aiv => "2 4",
        Verify::Ranks(..) => "2 3 4 8",
        Verify::Layouts(_) => "2 4 8",
    }
}

fn declaration(function: &str, entry: &entry::Entry) -> String {
    let args: Vec<&str> =
        entry.args.iter().map(|(arg, _)| *arg).chain(["HcclComm comm", "aclrtStream stream"]).collect();
    let mut text = format!("HcclResult {function}(");
    let mut column = text.len();
    for (i, arg) in args.iter().enumerate() {
        let piece = if i + 1 == args.len() { format!("{arg})") } else { format!("{arg}, ") };
        if column + piece.len() > 118 {
            while text.ends_with(' ') {
                text.pop();
            }
            text += "\n    ";
            column = 4;
        }
        column += piece.len();
        text += &piece;
    }
    text
}

fn docs(spec: &Spec<'_>, prefix: &str) -> String {
    let mut text = String::new();
    for line in spec.doc.lines() {
        let _ = writeln!(text, "{}", format!("{prefix}{}", names::comment(line.trim())).trim_end());
    }
    text
}

fn public_header(spec: &Spec<'_>, entry: &entry::Entry, declaration: &str, is_best: Option<&str>) -> String {
    let guard = format!("HCCL_{}_H", names::constant(spec.snake));
    let mut text = format!(
        "#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#include \"acl/acl_rt.h\"\n#include \"hccl/hccl_types.h\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
    );
    text += "/**\n";
    text += &docs(spec, " * ");
    text += " *\n";
    for (arg, what) in &entry.args {
        let name = arg.rsplit([' ', '*']).next().unwrap_or(arg);
        let _ = writeln!(text, " * @param {name} {what}");
    }
    text += " * @param comm the communicator\n * @param stream the stream that it runs on\n * @return HCCL_SUCCESS when it is on the stream\n */\n";
    let _ = write!(text, "__attribute__((visibility(\"default\")))\n{declaration};\n\n");
    if let Some(is_best) = is_best {
        text += "/**\n * Whether the tuner's table has this algorithm on this engine for so many bytes of the operator's larger buffer:\n * simulated on the cluster that op_host/tuner.h names.\n */\n";
        let _ = write!(text, "__attribute__((visibility(\"default\")))\n{is_best};\n\n");
    }
    let _ = write!(text, "#ifdef __cplusplus\n}}\n#endif\n\n#endif // {guard}\n");
    text
}

fn entry_source(
    snake: &str,
    entry: &entry::Entry,
    declaration: &str,
    operator: Operator,
    is_best: Option<&str>,
) -> String {
    let cstring = if is_best.is_some() { "#include <cstring>\n" } else { "" };
    let mut text = format!("#include \"hccl_{snake}.h\"\n\n#include <algorithm>\n{cstring}#include <vector>\n\n");
    if operator == Operator::BatchSendRecv {
        text += "#include \"data_type.h\"\n";
    }
    text += "#include \"execute.h\"\n#include \"log.h\"\n";
    if is_best.is_some() {
        text += "#include \"tuner.h\"\n";
    }
    text += "\n";
    if !entry.helpers.is_empty() {
        text += "namespace hcomm_op {\nnamespace {\n\n";
        text += &entry.helpers.join("\n");
        text += "\n} // namespace\n} // namespace hcomm_op\n\n";
    }
    let ranks = operator.counts() != CountsBy::All;
    let body = format!("{}{}", entry.body, entry::buffers(operator));
    let uses_rank = ranks || body.contains("rank ==");
    let _ = write!(text, "{declaration}\n{{\n    using namespace hcomm_op;\n");
    if uses_rank {
        text += "    uint32_t rank = 0;\n    uint32_t ranks = 0;\n    HCOMM_OP_CHECK(WhoAmI(comm, rank, ranks));\n";
    }
    let _ = write!(text, "    Call call;\n{body}    return Execute(call, comm, stream);\n}}\n");
    if let Some(is_best) = is_best {
        let _ = write!(
            text,
            "\n{is_best}\n{{\n    const hcomm::{operator}_choice &best = hcomm::choose_{operator}(bytes);\n    return std::strcmp(best.algorithm, hcomm_op::OPERATOR_NAME) == 0 &&\n           std::strcmp(best.engine, hcomm_op::ENGINE_NAME) == 0;\n}}\n"
        );
    }
    text
}

fn operator_header(
    spec: &Spec<'_>,
    class: &str,
    snake: &str,
    options: &Options,
    (layouts, equal, in_place): (bool, bool, bool),
) -> String {
    let (input, output) = entry::slots(spec.operator);
    let all_counts = lengths::rules(spec).is_ok_and(|rules| {
        rules.values().any(|rule| matches!(rule, Rule::Between(..) | Rule::HeldBySource | Rule::HeldByDestination))
    });
    let unused = |text: &str| if text.contains("ranks") { "" } else { "    (void)ranks;\n" };
    format!(
        r#"/// What is particular to this operator.
#ifndef HCOMM_OP_OPERATOR_H
#define HCOMM_OP_OPERATOR_H

#include <cstdint>

#include "{snake}.h"
#include "problem.h"

namespace hcomm_op {{

using Algorithm = {class};

constexpr const char *OPERATOR_NAME = "{snake}";
constexpr const char *ENGINE_NAME = "{engine}";
constexpr const char *KERNEL_NAME = "{kernel}";
{json}
constexpr uint32_t MAX_RANKS = {max_ranks};
/// Whether the schedule looks at how ranks lie in servers, and whether all servers have to be alike.
constexpr bool USES_LAYOUT = {layouts};
constexpr bool EQUAL_NODES = {equal};
/// Notifies of a channel, and whether some of it is in lanes that run at once.
constexpr uint32_t NOTIFIES = {notifies};
constexpr bool HAS_LANES = {lanes};
/// Whether calls have a root, or a source and a destination.
constexpr bool ROOTED = {rooted};
constexpr bool MOVES_DATA = {moves};
constexpr bool REDUCES = {reduces};
/// Whether it is proven for an input and an output that overlap.
constexpr bool IN_PLACE = {in_place};
/// Whether a rank hands on what others send each other, and so needs the counts of all pairs.
constexpr bool NEEDS_ALL_COUNTS = {all_counts};
constexpr bool PRODUCT_IS_950 = {is_950};
/// Whether a write and the record behind it are one operation (950 only).
constexpr bool FUSES_NOTIFY = {fuse};

/// The slots of this rank's buffers: a slot is `count` elements.
inline void SetSlots(Problem &problem, uint32_t ranks)
{{
{unused}    problem.inputSlots = {input};
    problem.outputSlots = {output};
}}

}} // namespace hcomm_op

#endif
"#,
        engine = options.engine.name(),
        kernel = kernel_name(class, options.engine),
        json = match options.engine {
            Engine::AiCpu => format!("constexpr const char *KERNEL_JSON = \"lib{snake}_aicpu_kernel.json\";\n"),
            Engine::Aiv => String::new(),
        },
        notifies = spec.notifies.len(),
        lanes = has_lanes(spec),
        rooted = spec.operator.has_root() || spec.operator.has_src_dst(),
        max_ranks = spec.max_ranks(),
        moves = spec.operator != Operator::Barrier,
        reduces = spec.operator.reduces(),
        is_950 = options.product == Product::A950,
        fuse = options.fuse,
        unused = unused(&format!("{input}{output}")),
    )
}

/// Protocols by preference (facts 1.4).
fn protocols(spec: &Spec<'_>, options: &Options) -> String {
    let list = match options.product {
        // Memory semantics: a peer's memory is an address like any other.
        _ if options.engine == Engine::Aiv => {
            "COMM_PROTOCOL_UB_MEM, COMM_PROTOCOL_HCCS, COMM_PROTOCOL_HCCS_ONLY, COMM_PROTOCOL_SIO"
        }
        // Windows are reached by URMA on the 950, over HCCS on A3 (facts 7.2).
        Product::A950 if spec.headers.symmetric => "COMM_PROTOCOL_UB_CTP, COMM_PROTOCOL_UBOE, COMM_PROTOCOL_UB_RTP",
        Product::A3 if spec.headers.symmetric => "COMM_PROTOCOL_HCCS, COMM_PROTOCOL_HCCS_ONLY, COMM_PROTOCOL_SIO",
        Product::A950 => {
            "COMM_PROTOCOL_UB_CTP, COMM_PROTOCOL_UBOE, COMM_PROTOCOL_UB_RTP, COMM_PROTOCOL_UB_MEM, COMM_PROTOCOL_ROCE"
        }
        Product::A2 | Product::A3 => {
            "COMM_PROTOCOL_HCCS, COMM_PROTOCOL_HCCS_ONLY, COMM_PROTOCOL_SIO, COMM_PROTOCOL_ROCE"
        }
    };
    let (first, rest) = list.split_at(list.match_indices(", ").nth(2).map_or(list.len(), |(at, _)| at));
    let rest = rest.trim_start_matches(", ");
    let (first, rest) = if rest.is_empty() { ("", first) } else { (first, rest) };
    let first = if first.is_empty() { String::new() } else { format!("    {first},\n") };
    format!(
        "/// Links that the engine can use, the better ones first.\n#ifndef HCOMM_OP_PROTOCOLS_H\n#define HCOMM_OP_PROTOCOLS_H\n\n#include \"hcomm_res_defs.h\"\n\nnamespace hcomm_op {{\n\nconstexpr CommProtocol PROTOCOLS[] = {{\n{first}    {rest}}};\n\n}} // namespace hcomm_op\n\n#endif\n"
    )
}

fn registration(snake: &str, class: &str) -> String {
    format!(
        "{{\n  \"HcommOp{class}\": {{\n    \"opInfo\": {{\n      \"opKernelLib\": \"AICPUKernel\",\n      \"kernelSo\": \"lib{snake}_aicpu_kernel.so\",\n      \"functionName\": \"HcommOp{class}\"\n    }}\n  }}\n}}\n"
    )
}

fn signing(snake: &str) -> String {
    format!(
        "<hcomm_check_cfg>\n    <item input=\"aicpu_{snake}.tar.gz\" output=\"aicpu_{snake}.tar.gz\" type=\"cms\" sign_alg=\"PSS\" tag=\"ascend_aicpu\" nvcnt=\"0\"></item>\n</hcomm_check_cfg>\n"
    )
}

fn readme(
    spec: &Spec<'_>,
    template: &str,
    declaration: &str,
    options: &Options,
    (layouts, equal, in_place): (bool, bool, bool),
) -> String {
    let layout = match (layouts, equal) {
        (false, _) => "",
        (true, true) => ", in servers of one size",
        (true, false) => ", in servers of any sizes",
    };
    let overlap = match (spec.operator, in_place) {
        (Operator::Broadcast | Operator::Barrier, _) => "",
        (_, true) => "Input and output may overlap: the smaller in the larger, at the rank's own slot.",
        (_, false) => "Input and output must not overlap.",
    };
    let notes = match spec.operator {
        Operator::AllToAllV => {
            "\n- Unlike HCCL's, it takes the counts of all pairs: the largest sets the number of rounds, which must be the same on every rank."
        }
        Operator::BatchSendRecv => {
            "\n- Unlike HCCL's, it takes the count of the largest item of any rank, which sets the number of rounds: that must be the same on every rank."
        }
        Operator::SendRecv => {
            "\n- One function sends and receives. Other ranks need not call it; if they do, they do nothing."
        }
        _ => "",
    };
    let windows = match (spec.headers.symmetric, options.product) {
        (false, _) => "",
        (true, Product::A950) => {
            "\n- Input and output lie in symmetric windows (`HcclCommSymWinRegister`), each all in one, at the same place of it on every rank; otherwise the call returns `HCCL_E_PARA`. They may be others with every call: so that peers learn of new windows, every call acquires the channels again, which are there."
        }
        (true, _) => {
            "\n- Input and output lie in symmetric windows (`HcclCommSymWinRegister`: reserved addresses with physical memory mapped to them), each all in one, at the same place of it on every rank; otherwise the call returns `HCCL_E_PARA`. They may be others with every call. Ranks are of one superpod, in servers of one size."
        }
    };
    let product = match options.product {
        Product::A2 => "Atlas A2",
        Product::A3 => "Atlas A3",
        Product::A950 => "Ascend 950",
    };
    let (engine, [folder, building, about]) = match options.engine {
        Engine::AiCpu => ("AI CPU", runtime::README_AI_CPU),
        Engine::Aiv => ("Vector cores", runtime::README_AIV),
    };
    let (how, know) = about.split_once("@@\n").unwrap_or((about, ""));
    let snake = names::identifier(spec.snake);
    template
        .replace("@KERNEL_FOLDER@", folder.trim_end())
        .replace("@HOW_IT_RUNS@", how.trim_end())
        .replace("@BUILDING@", building.trim_end())
        .replace("@ENGINE_NOTES@", know.trim_end())
        .replace("@SNAKE@", &snake)
        .replace("@ENGINE@", engine)
        .replace("@DOC@", docs(spec, "").trim_end())
        .replace("@PRODUCT_NAME@", product)
        .replace("@SOURCE@", &format!("`{}`", names::comment(spec.file)))
        .replace("@OPERATOR@", spec.operator.name())
        .replace("@DECLARATION@", &format!("{declaration};"))
        .replace("@MAX_RANKS@", &spec.max_ranks().to_string())
        .replace("@LAYOUT@", layout)
        .replace(" @IN_PLACE@", &if overlap.is_empty() { String::new() } else { format!(" {overlap}") })
        .replace("@NOTES@", &format!("{notes}{windows}"))
}
