//! Where variables lie, and what names stand for.

use super::decode::Decoder;
use super::*;
use crate::PtxError;
use crate::ptx::{self, error};

/// Bytes that a kernel's parameters may have.
const MAX_PARAMETER_BYTES: u64 = 32764;

/// Where a variable lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Shared(u64),
    Local(u64),
    /// In local memory, from the start of the frame of a called function on.
    Frame(u64),
    /// The address of a function.
    Function(u64),
    Constant(u64),
    Parameter(u64),
    Global(u32),
}

impl<'a> Decoder<'a> {
    /// Lays out a variable of a function: each time anew only what belongs to the thread.
    pub fn place_in(&mut self, function: &'a ptx::Function, variable: &'a ptx::Variable) -> Result<Place, PtxError> {
        if matches!(variable.space.as_str(), "local" | "param") {
            return self.place(variable);
        }
        let key = (function.name.as_str(), variable.name.as_str());
        if let Some(place) = self.single.get(&key) {
            return Ok(*place);
        }
        let place = self.place(variable)?;
        self.single.insert(key, place);
        Ok(place)
    }

    /// Lays out a variable in its space.
    pub fn place(&mut self, variable: &ptx::Variable) -> Result<Place, PtxError> {
        let bytes = variable.bytes.unwrap_or_default();
        let limit = match variable.space.as_str() {
            "shared" | "local" | "param" => 1 << 20,
            "const" => 1 << 16,
            _ => 1 << 32,
        };
        if bytes > limit || variable.align > limit {
            let (name, space) = (plain_name(&variable.name), &variable.space);
            return error(0, format!("{name} has {bytes} bytes, and a variable in .{space} at most {limit}"));
        }
        let align = |at: u64| at.next_multiple_of(variable.align);
        Ok(match variable.space.as_str() {
            "const" | "local" | "global" if variable.bytes.is_none() => {
                return error(0, format!("`{}` has no size", plain_name(&variable.name)));
            }
            "shared" if variable.bytes.is_none() => {
                self.dynamic_align = self.dynamic_align.max(variable.align);
                self.shared.push(SharedVariable { name: plain_name(&variable.name), offset: u32::MAX, bytes: None });
                Place::Shared(u64::MAX)
            }
            "shared" => {
                let offset = align(self.static_shared);
                self.static_shared = offset + bytes;
                let (name, size) = (plain_name(&variable.name), Some(bytes as u32));
                self.shared.push(SharedVariable { name, offset: offset as u32, bytes: size });
                Place::Shared(offset)
            }
            "local" | "param" => {
                let offset = align(self.local_bytes);
                self.local_bytes = offset + bytes;
                if variable.space == "local" {
                    let (start, end) = (offset as u32, self.local_bytes as u32);
                    self.locals.push(LocalVariable { start, end, function: self.inside });
                }
                if self.inside.is_some() { Place::Frame(offset) } else { Place::Local(offset) }
            }
            "const" if !variable.addresses.is_empty() => {
                return error(
                    0,
                    format!("`{}` in .const begins with an address, which is not supported", variable.name),
                );
            }
            "const" => {
                let offset = align(self.constants.len() as u64);
                self.constants.resize((offset + bytes) as usize, 0);
                self.constants[offset as usize..].iter_mut().zip(&variable.init).for_each(|(to, from)| *to = *from);
                Place::Constant(offset)
            }
            _ => {
                let init = variable.init.clone();
                let mut addresses = Vec::new();
                for (offset, name, plus) in &variable.addresses {
                    let place =
                        self.source.variables.iter().filter(|v| v.space == "global").position(|v| v.name == *name);
                    let Some(index) = place else {
                        return error(
                            0,
                            format!(
                                "`{}` begins with the address of `{name}`, which is no variable in global memory",
                                variable.name
                            ),
                        );
                    };
                    addresses.push((*offset, index as u32, *plus));
                }
                self.globals.push(GlobalVariable { name: plain_name(&variable.name), bytes, init, addresses });
                Place::Global(self.globals.len() as u32 - 1)
            }
        })
    }

    pub fn parameter(&mut self, variable: &ptx::Variable) -> Result<(), PtxError> {
        let bytes = variable.bytes.unwrap_or_default();
        if bytes > MAX_PARAMETER_BYTES || variable.align > MAX_PARAMETER_BYTES {
            return error(
                0,
                format!("parameter {} has {bytes} bytes, of at most {MAX_PARAMETER_BYTES}", variable.name),
            );
        }
        let offset = self.parameter_bytes.next_multiple_of(variable.align);
        self.parameter_bytes = offset + bytes;
        self.parameters.push(Parameter { offset: offset as u32, bytes: bytes as u32, ..Parameter::default() });
        self.module_places.insert(variable.name.clone(), Place::Parameter(offset));
        Ok(())
    }

    /// Where a variable lies, innermost declaration first.
    pub fn find_place(&mut self, name: &str) -> Option<Place> {
        let known = self.frame().places.get(name).copied().or_else(|| self.module_places.get(name).copied());
        known.or_else(|| {
            let (number, _) = self.defined(name, self.line())?;
            Some(Place::Function(ptx::function_address(number)))
        })
    }
}

/// The width of a special register of this name.
pub(super) fn special_bits(name: &str) -> Option<u32> {
    match name {
        "%clock64" | "%globaltimer" | "%gridid" => Some(64),
        "%is_explicit_cluster" => Some(1),
        "%clock" | "%clock_hi" | "%globaltimer_lo" | "%globaltimer_hi" => Some(32),
        _ => (special(name).is_some() || system_memory::workspace_half(name).is_some()).then_some(32),
    }
}

/// The preset that a special register's name stands for.
pub(super) fn special(name: &str) -> Option<Preset> {
    let axis = |axis: &str| ["x", "y", "z"].iter().position(|a| *a == axis).map(|n| n as u8);
    let (head, tail) = name.split_once('.').unwrap_or((name, ""));
    let axes = ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];
    if !axes.contains(&head) && head != name {
        return None;
    }
    match head {
        "%tid" => axis(tail).map(Preset::Tid),
        "%ntid" => axis(tail).map(Preset::Ntid),
        "%ctaid" => axis(tail).map(Preset::Ctaid),
        "%nctaid" => axis(tail).map(Preset::Nctaid),
        "%laneid" => Some(Preset::LaneId),
        "%warpid" => Some(Preset::WarpId),
        "%nwarpid" => Some(Preset::NWarpId),
        "%lanemask_eq" => Some(Preset::LaneMask(0)),
        "%lanemask_lt" => Some(Preset::LaneMask(1)),
        "%lanemask_le" => Some(Preset::LaneMask(2)),
        "%lanemask_gt" => Some(Preset::LaneMask(3)),
        "%lanemask_ge" => Some(Preset::LaneMask(4)),
        // What the system keeps of a block's shared memory: here, nothing; but `system_memory` has the last one.
        "%reserved_smem_offset_begin"
        | "%reserved_smem_offset_end"
        | "%reserved_smem_offset_cap"
        | "%reserved_smem_offset_0"
        | "%reserved_smem_offset_1" => Some(Preset::Constant(0)),
        "%total_smem_size" | "%aggr_smem_size" => Some(Preset::SharedBytes),
        "%dynamic_smem_size" => Some(Preset::DynamicSharedBytes),
        "%clusterid" => axis(tail).map(Preset::ClusterId),
        "%nclusterid" => axis(tail).map(Preset::NClusterId),
        "%cluster_ctaid" => axis(tail).map(Preset::ClusterCtaid),
        "%cluster_nctaid" => axis(tail).map(Preset::ClusterNctaid),
        "%cluster_ctarank" => Some(Preset::ClusterRank),
        "%cluster_nctarank" => Some(Preset::ClusterSize),
        "%is_explicit_cluster" => Some(Preset::IsExplicitCluster),
        // One SM, one grid.
        "%nsmid" => Some(Preset::Constant(1)),
        "%smid" | "%gridid" => Some(Preset::Constant(0)),
        _ => None,
    }
}
