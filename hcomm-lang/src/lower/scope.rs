//! Variables: names that are visible, and the slots behind them.

use hcomm_core::ids::VarId;
use hcomm_core::spec::MAX_VARS;

use super::types::Ty;

/// How a variable came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Let { mutable: bool },
    Loop,
    Param,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) slot: VarId,
    pub(super) ty: Ty,
    pub(super) origin: Origin,
}

/// The variables of a body or a helper function.
///
/// Slots are not used again, so that each has one name for messages and emitted code.
#[derive(Debug, Default)]
pub(super) struct Scope {
    visible: Vec<Variable>,
    slots: Vec<String>,
    /// How many variables were visible where the lane began: those are shared with the other lanes.
    lane_floor: Option<usize>,
}

/// What was visible, to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    visible: usize,
    lane_floor: Option<usize>,
}

impl Scope {
    pub(super) fn mark(&self) -> Mark {
        Mark { visible: self.visible.len(), lane_floor: self.lane_floor }
    }

    pub(super) fn leave(&mut self, mark: Mark) {
        self.visible.truncate(mark.visible);
        self.lane_floor = mark.lane_floor;
    }

    /// From here on, until the scope is left, everything is in a lane.
    pub(super) fn enter_lane(&mut self) {
        self.lane_floor = Some(self.visible.len());
    }

    /// A new variable; `None` if there are too many.
    pub(super) fn declare(&mut self, name: &str, ty: Ty, origin: Origin) -> Option<VarId> {
        if self.slots.len() >= MAX_VARS {
            return None;
        }
        let slot = VarId(super::index(self.slots.len()));
        self.slots.push(name.to_owned());
        self.visible.push(Variable { name: name.to_owned(), slot, ty, origin });
        Some(slot)
    }

    /// The variable of that name, and whether it is shared with other lanes.
    pub(super) fn find(&self, name: &str) -> Option<(&Variable, bool)> {
        let at = self.visible.iter().rposition(|variable| variable.name == name)?;
        let shared = self.lane_floor.is_some_and(|floor| at < floor);
        self.visible.get(at).map(|variable| (variable, shared))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.visible.iter().map(|variable| variable.name.as_str())
    }

    /// Names by slot.
    pub(super) fn into_slots(self) -> Vec<String> {
        self.slots
    }
}
