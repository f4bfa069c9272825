//! Chunks and sets, and what each phase may do with chunks.

use hcomm_core::diag::Code;
use hcomm_core::ids::ExprId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::spec::{self, BinaryOp, ExprKind, Phase};

use super::{Lower, Region};
use crate::ast::{Expr, Index, Place, Set};
use crate::errors::TokenSpan;

impl Lower<'_> {
    pub(super) fn place(&mut self, place: &Place) -> spec::Place {
        let peer = place.peer.as_ref().map(|peer| self.int(peer, "a peer"));
        let index = match &place.index {
            Index::Whole => spec::Index::Whole,
            Index::One(at) => spec::Index::One(self.int(at, "a chunk")),
            Index::Run { from, to, closed } => {
                let from = self.int(from, "the first chunk");
                spec::Index::Run(from, self.range_end(to, *closed))
            }
        };
        spec::Place { peer, buffer: place.buffer, index, span: self.span(place.span) }
    }

    /// The end of `a..b`, or of `a..=b` as b + 1.
    fn range_end(&mut self, to: &Expr, closed: bool) -> ExprId {
        let end = self.int(to, "the end of a range");
        if !closed {
            return end;
        }
        let one = self.push_expr(ExprKind::Int(1), to.span);
        self.push_expr(ExprKind::Binary(BinaryOp::Add, end, one), to.span)
    }

    pub(super) fn set(&mut self, set: &Set) -> spec::Set {
        match set {
            Set::Range { from, to, closed } => {
                let from = self.int(from, "the beginning of a range");
                spec::Set::Range(from, self.range_end(to, *closed))
            }
            Set::Named(name) => {
                if self.region == Region::Func {
                    let message = format!("a helper function does not see `{name}`: it is a function of its arguments");
                    self.errors.push_help(name.span().into(), message, "it can run over ranges `a..b`");
                }
                match name.to_string().as_str() {
                    "local_peers" => spec::Set::LocalPeers,
                    "node_peers" => spec::Set::NodePeers,
                    _ => spec::Set::Peers,
                }
            }
        }
    }

    /// Holds `dst = src` and `dst += src` against the phase and the operator. One error, the first that applies.
    pub(super) fn check_transfer(&mut self, dst: &Place, src: &Place, reduce: bool, at: TokenSpan) {
        let remote = dst.peer.is_some() || src.peer.is_some();
        let Some(phase) = self.phase else {
            let belongs = if remote {
                Phase::Move
            } else if src.buffer == Buffer::Input {
                Phase::CopyIn
            } else if dst.buffer == Buffer::Output {
                Phase::CopyOut
            } else {
                Phase::Move
            }
            .name();
            let help = format!("put it in `{belongs} {{ … }}`");
            self.errors.push_help(at, "a transfer outside a phase", help);
            return;
        };
        match phase {
            Phase::PreSync | Phase::PostSync => {
                let message = format!("`{}` holds `signal` and `wait`, not transfers", phase.name());
                self.errors.push_help(at, message, "put it in `move { … }`");
            }
            Phase::CopyIn | Phase::CopyOut if remote => {
                let message = format!("`{}` copies within a rank", phase.name());
                let place = if dst.peer.is_some() { dst } else { src };
                self.errors.push_help(place.span, message, "data goes between ranks in `move { … }`");
            }
            Phase::CopyIn if src.buffer != Buffer::Input => {
                let help = "copies between other buffers stand in `move` or, into `output`, in `copy_out`";
                self.errors.push_help(src.span, "`copy_in` copies out of `input`", help);
            }
            Phase::CopyIn if reduce => {
                self.errors.push_help(at, "`copy_in` copies, it does not reduce", "reduce in `move` or `copy_out`");
            }
            Phase::CopyOut if dst.buffer != Buffer::Output => {
                let help = "copies into other buffers stand in `move` or, out of `input`, in `copy_in`";
                self.errors.push_help(dst.span, "`copy_out` writes `output`", help);
            }
            _ => self.check_sides(dst, src, reduce, at),
        }
    }

    fn check_sides(&mut self, dst: &Place, src: &Place, reduce: bool, at: TokenSpan) {
        if dst.peer.is_some() && src.peer.is_some() {
            let help = "read it into your `scratch` first, or let the peer that has it send it";
            self.errors.push_help(at, "a transfer between two peers: one side is mine", help);
        } else if dst.buffer == Buffer::Input {
            self.errors.push_help(dst.span, "`input` is read-only", "write `scratch` or `output`");
        } else if let Some((place, _)) = [dst, src]
            .into_iter()
            .filter_map(|place| place.peer.as_ref().map(|peer| (place, peer)))
            .find(|(place, _)| place.buffer != Buffer::Scratch && !self.symmetric)
        {
            let message = format!("{}: a peer's `{}` cannot be reached, only its `scratch`", Code::H304, place.buffer);
            let help = if dst.peer.is_some() {
                "write into its `scratch`, and let it copy out; or, if the buffers of the call are in symmetric windows, say \
                 `memory: symmetric;`"
            } else {
                "let it copy in to its `scratch` first, and read that; or, if the buffers of the call are in symmetric windows, \
                 say `memory: symmetric;`"
            };
            self.errors.add(place.span, format_args!("{message}\nhelp: {help}"));
        } else if let Some(operator) = self.operator
            && reduce
            && !operator.reduces()
        {
            let reducing: Vec<&str> = Operator::ALL.into_iter().filter(|op| op.reduces()).map(Operator::name).collect();
            self.errors.push_help(
                at,
                format_args!("`+=` reduces, and `{operator}` has no reduction"),
                format_args!("operators with a reduction: {}", crate::words::list(&reducing)),
            );
        }
    }
}
