//! Handles: numbers that C can hold, each good for one object only. A handle of something that is gone, or of something
//! else, is an error and never another object.

use crate::comm::error::{Result, not_found, null, para};
use crate::comm::sync::{read, write};
use std::sync::{Arc, RwLock};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident $word:literal $kind:literal),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(pub u64);

            impl Handle for $name {
                const KIND: u64 = $kind;
                const WORD: &'static str = $word;
                fn from_raw(raw: u64) -> Self {
                    $name(raw)
                }
                fn raw(self) -> u64 {
                    self.0
                }
            }
        )*

        /// What kind of handle a number is, if it is one.
        fn word_of(raw: u64) -> Option<&'static str> {
            match raw >> KIND_SHIFT {
                $($kind => Some($word),)*
                _ => None,
            }
        }
    };
}

/// A handle of some kind.
pub(crate) trait Handle: Copy {
    const KIND: u64;
    const WORD: &'static str;
    fn from_raw(raw: u64) -> Self;
    fn raw(self) -> u64;
}

/// Bits: kind 4, side 4 (of threads), generation 24, place in the table 32.
const KIND_SHIFT: u32 = 60;
const SIDE_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 32;
const GENERATIONS: u32 = 1 << 24;

handles! {
    /// A rank's communicator (`HcclComm`).
    CommHandle "communicator" 1,
    /// A thread (`ThreadHandle`). The same thread has a handle for the host and one for the device (facts 2.4).
    ThreadHandle "thread" 2,
    /// One end of a channel (`ChannelHandle`).
    ChannelHandle "channel" 3,
    /// A stream (`aclrtStream`).
    StreamHandle "stream" 4,
    /// An event (`aclrtEvent`).
    EventHandle "event" 5,
    /// Registered memory (`HcclMemHandle`).
    MemHandle "memory" 6,
    /// Physical memory (`aclrtDrvMemHandle`).
    PhysicalHandle "physical memory" 7,
    /// A symmetric window of a rank (`HcclCommSymWindow`).
    WindowHandle "symmetric window" 8,
}

impl ThreadHandle {
    /// The handle with a mark in its side bits.
    pub(crate) fn marked(self, mark: u64) -> ThreadHandle {
        ThreadHandle(self.0 & !(0xf << SIDE_SHIFT) | mark << SIDE_SHIFT)
    }

    /// The mark in its side bits.
    pub(crate) fn mark(self) -> u64 {
        self.0 >> SIDE_SHIFT & 0xf
    }
}

/// Objects by handle.
#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    all: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { slots: RwLock::new(Slots { all: Vec::new(), free: Vec::new() }) }
    }
}

impl<T> Table<T> {
    /// Puts an object in that is made with its own handle.
    pub(crate) fn insert<H: Handle>(&self, make: impl FnOnce(H) -> Arc<T>) -> (H, Arc<T>) {
        let mut slots = write(&self.slots);
        let at = slots.free.pop().unwrap_or_else(|| {
            slots.all.push(Slot { generation: 1, value: None });
            slots.all.len() as u32 - 1
        });
        let slot = &mut slots.all[at as usize];
        let raw = H::KIND << KIND_SHIFT | u64::from(slot.generation) << GENERATION_SHIFT | u64::from(at);
        let value = make(H::from_raw(raw));
        slot.value = Some(value.clone());
        (H::from_raw(raw), value)
    }

    /// The object of a handle.
    pub(crate) fn get<H: Handle>(&self, handle: H) -> Result<Arc<T>> {
        let slots = read(&self.slots);
        let raw = handle.raw();
        let (at, generation) = parts(raw);
        match slots.all.get(at) {
            Some(Slot { generation: now, value: Some(value) })
                if raw >> KIND_SHIFT == H::KIND && *now == generation =>
            {
                Ok(value.clone())
            }
            slot => Err(bad::<H>(raw, slot.is_some_and(|slot| slot.generation > generation))),
        }
    }

    /// Takes an object out: its handle is good for nothing from now on.
    pub(crate) fn remove<H: Handle>(&self, handle: H) -> Result<Arc<T>> {
        let value = self.get(handle)?;
        let mut slots = write(&self.slots);
        let (at, generation) = parts(handle.raw());
        let Some(slot) = slots.all.get_mut(at) else {
            return Err(bad::<H>(handle.raw(), true)); // All of them have been cleared meanwhile.
        };
        if slot.generation != generation || slot.value.take().is_none() {
            return Err(bad::<H>(handle.raw(), true));
        }
        slot.generation = (slot.generation + 1) % GENERATIONS;
        // A generation that comes round would make an old handle good again: such a slot is not used any more.
        if slot.generation != 0 {
            slots.free.push(at as u32);
        }
        Ok(value)
    }

    /// All objects, in the order of their places.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        read(&self.slots).all.iter().filter_map(|slot| slot.value.clone()).collect()
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        let slots = read(&self.slots);
        slots.all.iter().filter(|slot| slot.value.is_some()).count()
    }

    /// Takes all objects out.
    pub(crate) fn clear(&self) {
        write(&self.slots).all.clear();
    }
}

fn parts(raw: u64) -> (usize, u32) {
    (raw as u32 as usize, (raw >> GENERATION_SHIFT) as u32 & (GENERATIONS - 1))
}

fn bad<H: Handle>(raw: u64, was: bool) -> crate::comm::error::CommError {
    let word = H::WORD;
    match word_of(raw) {
        _ if raw == 0 => null(format!("the {word} handle is null")),
        Some(other) if other != word => para(format!("{raw:#x} is the handle of a {other}, not of a {word}")),
        Some(_) if was => not_found(format!("the {word} of handle {raw:#x} has been destroyed")),
        _ => not_found(format!("{raw:#x} is not the handle of a {word}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::comm::error::Code;

    #[test]
    fn a_handle_is_good_for_one_object() {
        let table: Table<u32> = Table::default();
        let (first, _) = table.insert(|_: StreamHandle| Arc::new(1));
        let (other, _) = table.insert(|_: StreamHandle| Arc::new(2));
        assert_eq!((*table.get(first).unwrap(), *table.get(other).unwrap()), (1, 2));
        table.remove(first).unwrap();
        let gone = table.get(first).unwrap_err();
        assert_eq!(gone.code, Code::NotFound);
        assert!(gone.sentence.contains("has been destroyed"), "{gone}");
        assert_eq!(table.remove(first).unwrap_err().code, Code::NotFound);
        // The place is used again, the handle is not.
        let (again, _) = table.insert(|_: StreamHandle| Arc::new(3));
        assert_ne!(again, first);
        assert_eq!(table.get(first).unwrap_err().code, Code::NotFound);
        assert_eq!(*table.get(again).unwrap(), 3);
        assert_eq!(table.get(StreamHandle(0)).unwrap_err().code, Code::Ptr);
        assert_eq!(table.get(StreamHandle(77)).unwrap_err().code, Code::NotFound);
        let confused = table.get(ChannelHandle(again.0)).unwrap_err();
        assert_eq!(confused.code, Code::Para);
        assert!(confused.sentence.contains("of a stream, not of a channel"), "{confused}");
    }
}
