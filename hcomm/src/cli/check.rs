//! `hcomm check`

use serde_json::json;

use super::args::{Check as Command, EngineArg};
use super::report::{self, Style};
use super::select::Lowered;
use super::{Answer, Failure, select};
use crate::aiv;
use crate::check::Report;
use crate::diag::{Diagnostic, add};
use crate::instance::instantiate;
use crate::lower;
use crate::shape::{Layout, Shape};
use crate::spec::{Engine, Spec};

/// What was found, over all cases.
#[derive(Default)]
struct Findings {
    cases: u64,
    operations: u64,
    diagnostics: Vec<Diagnostic>,
    /// Whether the operator has an in-place form.
    has_in_place: bool,
    /// Faults of the in-place form only.
    in_place: Vec<Diagnostic>,
}

pub(super) fn check(
    library: &[&Spec<'static>],
    command: &Command,
    json: bool,
    style: Style,
) -> Result<Answer, Failure> {
    let mut findings = Findings::default();
    let (name, file) = match (&command.program, &command.algorithm) {
        (Some(path), _) => {
            let mut program = select::program_of(path)?;
            let (name, file) = (program.frame().algorithm.clone(), program.frame().source.file.clone());
            program.admits_cores(command.cores)?;
            findings.program(&mut program, command);
            (name, file)
        }
        (None, name) => {
            let spec = select::algorithm(library, name.as_deref().unwrap_or_default())?;
            if select::engine(spec, &command.kernel)? == Engine::AiCpu {
                select::no_cores(command.cores)?;
            }
            for layout in layouts(spec, command)? {
                let mut roles = Some(Shape::first_roles(layout));
                while let Some(shape) = roles {
                    roles = shape.next_roles(spec.operator);
                    findings.shape(spec, &shape, command);
                }
            }
            (spec.snake.to_owned(), spec.file.to_owned())
        }
    };
    let in_place_holds = !command.in_place || findings.in_place.is_empty();
    let holds = findings.diagnostics.is_empty() && in_place_holds;
    let text = match json {
        true => format!("{:#}\n", findings.json(&file, holds)),
        false => findings.text(&name, &file, command, style),
    };
    Ok(Answer { text, holds })
}

/// The layouts that are asked for; those that the algorithm is verified for if none are.
fn layouts(spec: &Spec<'_>, command: &Command) -> Result<Vec<Layout>, Failure> {
    if let Some(file) = &command.rank_table {
        return Ok(vec![select::rank_table(file)?]);
    }
    if let Some(layout) = command.layout {
        return Ok(vec![layout]);
    }
    let Some((first, last)) = command.ranks else { return Ok(crate::verify::layouts(spec)) };
    if last > spec.max_ranks() {
        return Err(Failure::Usage(format!("`{}` is declared for at most {} ranks", spec.snake, spec.max_ranks())));
    }
    Ok((first..=last).filter_map(Layout::flat).collect())
}

impl Findings {
    fn shape(&mut self, spec: &Spec<'_>, shape: &Shape, command: &Command) {
        let lowered = instantiate(spec, shape).and_then(|instance| match command.kernel.engine {
            EngineArg::AiCpu => {
                let mut program = lower::aicpu::lower(&instance);
                if command.target.fuse
                    && let Err(fault) = lower::fuse::fuse_notify(&mut program, command.target.product())
                {
                    add(&mut self.diagnostics, fault);
                }
                Ok(Lowered::AiCpu(program))
            }
            EngineArg::Aiv => select::blocks(&instance, &command.kernel, command.target.product())
                .map(Lowered::Aiv)
                .map_err(|fault| vec![fault]),
        });
        match lowered {
            Ok(mut program) => self.program(&mut program, command),
            Err(faults) => {
                self.cases += 1;
                faults.into_iter().for_each(|fault| add(&mut self.diagnostics, fault));
            }
        }
    }

    fn program(&mut self, lowered: &mut Lowered, command: &Command) {
        let target = &command.target;
        if let Some(dtype) = command.dtype {
            lowered.order_reductions(target.product(), dtype, command.reduce);
        }
        let lowered = &*lowered;
        let frame = lowered.frame();
        let admitted = match lowered {
            Lowered::AiCpu(program) => match command.dtype {
                Some(dtype) => target.product().admits(program, dtype, command.reduce),
                None => target.product().admits_operations(program),
            },
            Lowered::Aiv(program) => match command.dtype {
                Some(dtype) => aiv::admits(target.product(), program, dtype, command.reduce),
                None => aiv::admits_kernel(target.product(), program),
            },
        };
        admitted.err().into_iter().chain(lowered.overrun(target)).for_each(|fault| add(&mut self.diagnostics, fault));
        self.cases += 1;
        self.operations += lowered.num_ops();
        self.has_in_place = frame.operator.has_in_place();
        let Report { diagnostics, in_place } = lowered.check(command.cores);
        diagnostics.into_iter().for_each(|fault| add(&mut self.diagnostics, fault));
        in_place.into_iter().for_each(|fault| add(&mut self.in_place, fault));
    }

    fn text(&self, name: &str, file: &str, command: &Command, style: Style) -> String {
        let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut text = report::text(file, &self.diagnostics, style);
        if command.in_place {
            text += &report::text(file, &self.in_place, style);
        }
        let verdict = match self.diagnostics.len() {
            0 => "holds: no deadlock, no race, no lost notify, the right result".to_owned(),
            n => format!("does not hold: {}", plural(n as u64, "fault")),
        };
        text +=
            &format!("{name} {verdict} ({}, {})\n", plural(self.cases, "case"), plural(self.operations, "operation"));
        match self.in_place.first() {
            _ if !(self.diagnostics.is_empty() && self.has_in_place) => {}
            None => text += "in place: holds too\n",
            Some(_) if command.in_place => text += "in place: does not hold\n",
            Some(first) => {
                let line = first.at.map_or(String::new(), |at| format!(" on line {}", at.line));
                text += &format!("in place: breaks{line} (`--in-place` tells how)\n");
            }
        }
        text
    }

    fn json(&self, file: &str, holds: bool) -> serde_json::Value {
        let values = |all: &[Diagnostic]| all.iter().map(|one| report::value(file, one)).collect::<Vec<_>>();
        json!({
            "ok": holds,
            "cases": self.cases,
            "operations": self.operations,
            "diagnostics": values(&self.diagnostics),
            "in_place": values(&self.in_place),
        })
    }
}
