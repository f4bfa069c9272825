//! From arguments to an algorithm, a shape, and a program that the product takes.

use std::path::Path;

use hcomm_sim::time::AnyProgram;

use super::Failure;
use super::args::{EngineArg, Kernel, Target, Where};
use super::report::{self, Style};
use crate::aiv;
use crate::check;
use crate::diag::Diagnostic;
use crate::dtype::{DataType, ReduceOp};
use crate::instance::{Instance, instantiate};
use crate::lower;
use crate::product::{Limits, Product};
use crate::program::Program;
use crate::resources::{self, Resources};
use crate::shape::{Layout, Shape};
use crate::spec::{Engine, Spec};

/// The longest program file that is read.
const MAX_PROGRAM: u64 = 4 << 30;
/// The longest rank table that is read (facts 6.2: up to 1 GB on the 950).
const MAX_RANK_TABLE: u64 = 1 << 30;

/// The algorithm that is named.
pub(super) fn algorithm<'l>(library: &[&'l Spec<'static>], name: &str) -> Result<&'l Spec<'static>, Failure> {
    if let Some(spec) = library.iter().find(|spec| spec.snake == name || spec.name == name) {
        return Ok(spec);
    }
    let mut message = format!("there is no algorithm `{name}`");
    let close = library.iter().map(|spec| (strsim::levenshtein(name, spec.snake), spec.snake)).min();
    match close {
        Some((distance, close)) if distance <= close.len() / 2 => message += &format!("; did you mean `{close}`?"),
        _ => {}
    }
    Err(Failure::Usage(message + "\n`list` lists them all"))
}

/// The shape that is named, with the roles of the algorithm's operator.
pub(super) fn shape(spec: &Spec<'_>, place: &Where) -> Result<Shape, Failure> {
    let layout = match (&place.rank_table, place.ranks.or(place.layout)) {
        (Some(file), _) => rank_table(file)?,
        (None, Some(layout)) => layout,
        (None, None) => return Err(Failure::Usage("`--ranks` says on how many ranks".into())),
    };
    engine(spec, &place.kernel)?;
    let (operator, ranks) = (spec.operator, layout.ranks());
    let mut shape = Shape::new(layout);
    let roles = [
        ("root", place.root, operator.has_root(), &mut shape.root),
        ("src", place.src, operator.has_src_dst(), &mut shape.src),
        ("dst", place.dst, operator.has_src_dst(), &mut shape.dst),
    ];
    for (name, given, has, role) in roles {
        let Some(given) = given else { continue };
        if !has {
            return Err(Failure::Usage(format!("`--{name}`: {operator} has no {name}")));
        }
        if given >= ranks {
            return Err(Failure::Usage(format!("`--{name} {given}`: ranks are 0 to {}", ranks - 1)));
        }
        *role = given;
    }
    if operator.has_src_dst() && shape.src == shape.dst {
        return Err(match ranks {
            1 => Failure::Usage(format!("{operator} needs at least 2 ranks")),
            _ => Failure::Usage(format!("`--src` and `--dst` are both {}: a rank cannot send to itself", shape.src)),
        });
    }
    Ok(shape)
}

/// The layout of a rank table.
pub(super) fn rank_table(file: &Path) -> Result<Layout, Failure> {
    let text = read(file, MAX_RANK_TABLE)?;
    let layout = hcomm_sim::cluster::rank_table::layout(&text);
    layout.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// A text file that is not too long.
fn read(file: &Path, longest: u64) -> Result<String, Failure> {
    let wrong = |message: String| Failure::Usage(format!("{}: {message}", file.display()));
    let metadata = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("this is not a file".into()));
    }
    if metadata.len() > longest {
        return Err(wrong(format!("{} bytes are more than the {longest} that are read", metadata.len())));
    }
    std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))
}

/// The engine that is named, which must be one of the algorithm's.
pub(super) fn engine(spec: &Spec<'_>, kernel: &Kernel) -> Result<Engine, Failure> {
    let engine = match kernel.engine {
        EngineArg::AiCpu => Engine::AiCpu,
        EngineArg::Aiv => Engine::Aiv,
    };
    if !spec.offers(engine) {
        return Err(Failure::Usage(format!("`{}` is not for the engine `{}`", spec.snake, engine.name())));
    }
    if engine != Engine::Aiv {
        if kernel.blocks.is_some() {
            return Err(Failure::Usage("`--blocks` is for `--engine aiv`: AI CPU has threads".into()));
        }
        if kernel.double_buffer {
            return Err(Failure::Usage("`--double-buffer` is for `--engine aiv`: AI CPU has no Unified Buffer".into()));
        }
    }
    Ok(engine)
}

/// The AIV program of an instance, as the kernel is asked for.
pub(super) fn blocks(instance: &Instance, kernel: &Kernel, product: Product) -> Result<aiv::Program, Diagnostic> {
    let program = match kernel.blocks {
        Some(blocks) => aiv::lower(instance, blocks),
        None => aiv::lower_default(instance),
    };
    let program = program?.on(product);
    Ok(if kernel.double_buffer { program.double_buffered() } else { program })
}

/// What a rank of an AIV program needs, where `need` is what one with a block for each lane does.
pub(super) fn kernel_needs(program: &aiv::Program, rank: u32, need: Resources) -> Resources {
    Resources { blocks: program.num_blocks(), flags: program.flags_of(rank), ..need }
}

/// Cores are not for AI CPU.
pub(super) fn no_cores(cores: Option<u32>) -> Result<(), Failure> {
    match cores {
        None => Ok(()),
        Some(_) => Err(Failure::Usage("`--cores` is for `--engine aiv`: AI CPU has threads".into())),
    }
}

/// A program of one of the engines.
#[derive(Debug)]
pub(super) enum Lowered {
    /// Threads of operations.
    AiCpu(Program),
    /// Blocks of kernel operations.
    Aiv(aiv::Program),
}

impl Lowered {
    /// What does not depend on the engine: the program itself, or that without what its ranks do.
    pub(super) fn frame(&self) -> &Program {
        match self {
            Lowered::AiCpu(program) => program,
            Lowered::Aiv(program) => &program.frame,
        }
    }

    /// The program for what takes either.
    pub(super) fn code(&self) -> AnyProgram<'_> {
        match self {
            Lowered::AiCpu(program) => program.into(),
            Lowered::Aiv(program) => program.into(),
        }
    }

    /// Operations of all ranks, for one round.
    pub(super) fn num_ops(&self) -> u64 {
        match self {
            Lowered::AiCpu(program) => program.num_ops(),
            Lowered::Aiv(program) => program.num_ops(),
        }
    }

    /// Whether it takes a number of cores, if one is given.
    pub(super) fn admits_cores(&self, cores: Option<u32>) -> Result<(), Failure> {
        if self.engine() == Engine::Aiv { Ok(()) } else { no_cores(cores) }
    }

    /// What the reductions of a type ask of it: those that the AI CPU computes have to be ordered.
    pub(super) fn order_reductions(&mut self, product: Product, dtype: DataType, reduce: ReduceOp) {
        if let Lowered::AiCpu(program) = self
            && product.reduces_on_ai_cpu(program, dtype, reduce)
        {
            program.deterministic = true;
        }
    }

    /// What it needs that a communicator does not have.
    pub(super) fn overrun(&self, target: &Target) -> Option<Diagnostic> {
        match self {
            Lowered::AiCpu(program) => {
                Limits::of(target.cann).program_overrun(program, program.source.spans.first().copied())
            }
            Lowered::Aiv(_) => None,
        }
    }

    /// All that is wrong with it.
    pub(super) fn check(&self, cores: Option<u32>) -> check::Report {
        match self {
            Lowered::AiCpu(program) => check::report(program),
            Lowered::Aiv(program) => aiv::report(program, &aiv::Options { cores }),
        }
    }

    pub(super) fn engine(&self) -> Engine {
        match self {
            Lowered::AiCpu(_) => Engine::AiCpu,
            Lowered::Aiv(_) => Engine::Aiv,
        }
    }
}

/// The algorithm instantiated for a shape.
pub(super) fn instance(spec: &Spec<'_>, shape: &Shape, style: Style) -> Result<Instance, Failure> {
    instantiate(spec, shape).map_err(|faults| report::failure(spec.file, &faults, style))
}

/// The program of a file.
pub(super) fn program_of(file: &Path) -> Result<Lowered, Failure> {
    let text = read(file, MAX_PROGRAM)?;
    // The schema is anywhere in the text; a reader says so if it is not its own.
    let read = match text.contains(&format!("\"{}\"", aiv::SCHEMA)) {
        true => aiv::Program::from_json(&text).map(Lowered::Aiv),
        false => Program::from_json(&text).map(Lowered::AiCpu),
    };
    read.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// The program for a product, which must give it the resources that it needs.
pub(super) fn program(
    spec: &Spec<'_>,
    shape: &Shape,
    kernel: &Kernel,
    target: &Target,
    style: Style,
) -> Result<Lowered, Failure> {
    let fail = |diagnostic: Diagnostic| report::failure(spec.file, &[diagnostic], style);
    // Counting is quick, and what does not fit need not be built.
    if kernel.engine == EngineArg::AiCpu
        && let Ok(need) = resources::of_shape(spec, shape)
        && let Some(overrun) = Limits::of(target.cann).overrun(spec.snake, shape.ranks(), &need)
    {
        let at = spec.spans.first().copied();
        return Err(fail(Diagnostic { at, ..overrun }));
    }
    let instance = instance(spec, shape, style)?;
    if kernel.engine == EngineArg::Aiv {
        if target.fuse {
            return Err(Failure::Usage(
                "`--fuse` is for AI CPU: a kernel has no operation that writes and records".into(),
            ));
        }
        let program = blocks(&instance, kernel, target.product()).map_err(fail)?;
        aiv::admits_kernel(target.product(), &program).map_err(fail)?;
        return Ok(Lowered::Aiv(program));
    }
    let mut program = lower::aicpu::lower_owned(instance);
    if target.fuse {
        lower::fuse::fuse_notify(&mut program, target.product()).map_err(fail)?;
    }
    Ok(Lowered::AiCpu(program))
}
