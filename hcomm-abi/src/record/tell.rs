//! The checks on a record, and what they say in terms of calls.

use super::operands::Claim;
use super::{Call, Record, Recorded};
use hcomm_core::check;
use hcomm_core::diag::{Code, Diagnostic};
use hcomm_core::spec::Span;
use std::fmt;

/// Something that is wrong with what was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What, with its places as numbers of calls.
    pub diagnostic: Diagnostic,
    /// Whether it is so only if all that was called is called once more.
    pub again: bool,
    /// The calls at fault, and what each has to do with it.
    pub calls: Vec<(String, Option<Call>)>,
}

/// What is wrong with the calls of a record: deadlocks, notifies, races. Not what they compute: which operator it is,
/// nobody has said.
pub fn check(record: &Record, recorded: &Recorded) -> Vec<Fault> {
    let once = check::execution(&recorded.once);
    let again = if once.is_empty() { check::execution(&recorded.again) } else { Vec::new() };
    let once = once.into_iter().map(|diagnostic| (diagnostic, false));
    let all = once.chain(again.into_iter().map(|diagnostic| (diagnostic, true)));
    all.map(|(diagnostic, again)| Fault { calls: calls(record, &diagnostic), diagnostic, again }).collect()
}

/// What is wrong with what each call of an operator computes, if the calls are that operator's. The error says why it
/// cannot be told.
///
/// # Errors
///
/// If the calls of the operator cannot be told apart, or its operands not be found in them.
pub fn check_result(record: &Record, claim: &Claim) -> Result<Vec<(usize, Vec<Fault>)>, String> {
    let parts = super::calls::of(record).ok_or("the ranks have launched kernels differently often")?;
    let mut found = Vec::new();
    for (which, part) in parts.iter().enumerate() {
        let program = super::convert::of_operator(part, claim).map_err(|why| format!("call {which} of it: {why}"))?;
        let wrong = check::check(&program).into_iter();
        let wrong = wrong.filter(|diagnostic| matches!(diagnostic.code, Code::H301 | Code::H302 | Code::H303));
        let fault = |diagnostic| Fault { calls: calls(part, &diagnostic), diagnostic, again: false };
        found.push((which, wrong.map(fault).collect()));
    }
    Ok(found)
}

fn calls(record: &Record, diagnostic: &Diagnostic) -> Vec<(String, Option<Call>)> {
    let here = diagnostic.at.iter().map(|at| (String::new(), Some(at)));
    let others = diagnostic.related.iter().map(|related| (related.message.clone(), related.at.as_ref()));
    here.chain(others).map(|(words, at)| (words, at.and_then(|at| call_at(record, at)).cloned())).collect()
}

fn call_at<'r>(record: &'r Record, at: &Span) -> Option<&'r Call> {
    let found = record.calls.binary_search_by_key(&u64::from(at.line), |call| call.number).ok()?;
    record.calls.get(found)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, message, help, .. } = &self.diagnostic;
        let again = if self.again { "if all of this is called again, " } else { "" };
        writeln!(f, "error[{code}]: {again}{message}")?;
        for (words, call) in &self.calls {
            match call {
                Some(call) if words.is_empty() => writeln!(f, "  at {call}")?,
                Some(call) => writeln!(f, "  {words}\n    {call}")?,
                None => writeln!(f, "  {words}")?,
            }
        }
        // A place is a call here.
        let help = help.as_ref().map(|help| help.replace("(line ", "(call "));
        help.map_or(Ok(()), |help| writeln!(f, "  help: {help}"))
    }
}
