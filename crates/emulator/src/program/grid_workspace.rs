//! What `grid.sync()` of cooperative groups waits in: the driver gives a cooperative launch some global memory, and says
//! its address in two registers of the environment.

use super::decode::Decoder;
use super::{File, GlobalVariable, Preset, Slot};

/// Its bytes: how many they are, then the barrier of the grid, which nobody has reached.
const BYTES: u64 = 8;

/// Whether a special register holds the lower half of the address (`false`) or the upper one.
pub(super) fn half(name: &str) -> Option<bool> {
    match name {
        "%envreg1" => Some(true),
        "%envreg2" => Some(false),
        _ => None,
    }
}

impl Decoder<'_> {
    /// The slot of such a register. A kernel that reads one is launched cooperatively.
    pub fn workspace_half(&mut self, upper: bool) -> Slot {
        let variable = *self.workspace.get_or_insert_with(|| {
            let init = (BYTES as u32).to_le_bytes().to_vec();
            let name = "the grid's workspace".to_string();
            self.globals.push(GlobalVariable { name, bytes: BYTES, init, addresses: Vec::new() });
            self.globals.len() as u32 - 1
        });
        self.preset(File::R, Preset::GlobalHalf(variable, upper))
    }
}
