//! Memory that a kernel has from the system, and finds by special registers: what `grid.sync()` of cooperative groups waits in, and
//! the shared memory in which their tiles of several warps meet.

use super::decode::Decoder;
use super::{File, GlobalVariable, Preset, SharedVariable, Slot};

/// Bytes of a grid's workspace: how many they are, then the barrier of the grid, which nobody has reached.
const WORKSPACE: u64 = 8;
/// Bytes of the shared memory for tiles: cooperative groups count on 288.
pub(crate) const TILE_MEMORY: u32 = 288;

/// Whether a special register says the address of a grid's workspace: the lower half of it (`false`) or the upper one.
pub(super) fn workspace_half(name: &str) -> Option<bool> {
    match name {
        "%envreg1" => Some(true),
        "%envreg2" => Some(false),
        _ => None,
    }
}

impl Decoder<'_> {
    /// The slot of a special register that says where such memory lies.
    pub fn system_register(&mut self, name: &str) -> Option<Slot> {
        match workspace_half(name) {
            Some(upper) => Some(self.grid_workspace(upper)),
            None => (name == "%reserved_smem_offset_1").then(|| self.tile_memory()),
        }
    }

    /// A kernel that asks for this is launched cooperatively.
    fn grid_workspace(&mut self, upper: bool) -> Slot {
        let variable = *self.workspace.get_or_insert_with(|| {
            let init = (WORKSPACE as u32).to_le_bytes().to_vec();
            let name = "the grid's workspace".to_string();
            self.globals.push(GlobalVariable { name, bytes: WORKSPACE, init, addresses: Vec::new() });
            self.globals.len() as u32 - 1
        });
        self.preset(File::R, Preset::GlobalHalf(variable, upper))
    }

    fn tile_memory(&mut self) -> Slot {
        let offset = *self.tile_memory.get_or_insert_with(|| {
            let offset = self.static_shared.next_multiple_of(16) as u32;
            self.static_shared = u64::from(offset + TILE_MEMORY);
            let name = "the system's shared memory".to_string();
            self.shared.push(SharedVariable { name, offset, bytes: Some(TILE_MEMORY) });
            offset
        });
        let variable = self.shared.iter().position(|variable| variable.offset == offset).unwrap_or_default() as u32;
        self.preset(File::R, Preset::SharedAddress { variable, address: offset.into() })
    }
}
