//! What is no fault, and may be why a result is wrong: noted while a launch runs.

use crate::Circumstance;
use crate::machine::state::product_registers::Starts;
use crate::machine::state::tensor_box::TensorBox;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;

/// What is wrong with a step along K from one product to the next, if something is.
pub(crate) fn stray_in_words(warp: &Warp) -> Option<String> {
    let (name, bytes) = warp.group.as_ref()?.stray?;
    Some(format!(
        "the descriptor of {name} begins {bytes} bytes behind that of the product before it, and a product takes 32 bytes of K: the address in a descriptor \
         counts units of 16 bytes, so a step along K adds 2 to it, `(32 >> 4)`, and not {}",
        bytes / 16
    ))
}

impl Worker<'_> {
    /// Keeps what a lane does by an instruction, of the first block that does it.
    fn note_circumstance(&mut self, warp: &Warp, lane: u32, at: u32, text: &dyn Fn() -> String) {
        let (block, noted) = (self.acting(), &self.tally.circumstances);
        let known = noted.get(&at).map(|(first, _)| *first);
        let is_new = known.is_none() && noted.len() < Circumstance::MOST;
        if is_new || known.is_some_and(|first| block < first) {
            let circumstance = Circumstance { text: text(), site: self.site_of(warp, lane, at) };
            self.tally.circumstances.insert(at, (block, circumstance));
        }
    }

    /// All four warps are at a product of operands that begin here.
    pub(crate) fn note_step(&mut self, warps: &mut [Box<Warp>], starts: Starts, at: u32) {
        warps.iter_mut().filter_map(|warp| warp.group.as_mut()).for_each(|flight| flight.begin(starts));
        if let Some(text) = stray_in_words(&warps[0]) {
            self.note_circumstance(&warps[0], 0, at, &|| text.clone());
        }
    }

    /// Lanes copy as many bytes, and none all that it could.
    #[cold]
    pub(crate) fn note_parts(&mut self, warp: &Warp, lanes: u32, at: u32, (bytes, of): (u32, u32)) {
        self.note_circumstance(warp, lanes.trailing_zeros(), at, &|| {
            format!(
                "each copy brings {bytes} of its {of} bytes, and zeros in the place of the rest: the source size of `cp.async` counts bytes, and so it \
                 is the elements that are left times their size"
            )
        });
    }

    /// A warp arrives at a barrier of all threads, and some of them have ended.
    #[cold]
    pub(crate) fn note_ended(&mut self, warp: &Warp, lanes: u32, at: u32) {
        self.note_circumstance(warp, lanes.trailing_zeros(), at, &|| {
            "threads of the block had ended when others came to the barrier: they load nothing from there on. Do all threads make the same turns of \
             a loop with a barrier, and return only behind the last?"
                .to_string()
        });
    }

    /// A box is loaded of which nothing lies in its tensor.
    #[cold]
    pub(crate) fn note_outside(&mut self, warp: &Warp, lane: usize, at: u32, tensor: &TensorBox) {
        self.note_circumstance(warp, lane as u32, at, &|| {
            let sizes: Vec<String> = tensor.map.sizes.iter().map(u64::to_string).collect();
            let exchanged = match tensor.turned().is_outside() {
                true => "",
                false => " In the other order they would lie within.",
            };
            format!(
                "the box of {} by the map {} lies outside of its tensor of {}, and zeros come. Coordinates begin with that along the rows, as the \
                 map's sizes do.{exchanged}",
                tensor.in_words(),
                tensor.name,
                sizes.join(" x ")
            )
        });
    }
}
