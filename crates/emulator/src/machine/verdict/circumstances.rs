//! What is no fault, and may be why a result is wrong: noted while a launch runs.

use crate::Circumstance;
use crate::machine::state::tensor_box::TensorBox;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;

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
