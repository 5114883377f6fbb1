//! From an instruction's words to its operations: control flow, memory and warp-wide instructions
//! here, lane-wise ones in `arithmetic`.

use super::decode::Decoder;
use super::flow::Proto;
use super::places::Place;
use super::refused::GAP;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

/// Targets that a table of `brx.idx` may have: more would be more instructions than a kernel may have.
const MAX_TARGETS: usize = 1 << 18;

impl Decoder<'_> {
    /// Appends what `words` does.
    pub fn select(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let parts = self.checked(words)?;
        match parts[0] {
            "ld" | "ldu" => self.memory(words, guard, &parts, true),
            "st" if parts[1] != "async" => self.memory(words, guard, &parts, false),
            "bra" => self.branch(words, guard),
            "ret" => {
                let end = self.end();
                self.jump(words, guard, end)
            }
            "exit" => {
                let end = self.end_of_kernel;
                self.jump(words, guard, end)
            }
            "trap" => {
                self.guarded(words, guard, |decoder| decoder.push_end(Proto::Trap, words, Some(Class::Branch)));
                Ok(())
            }
            "call" => self.call(words, guard),
            "barrier" if parts.contains(&"cluster") => self.cluster_barrier(words, guard, &parts),
            "mapa" => self.map_to_rank(words, guard, &parts),
            "getctarank" => self.rank_of(words, guard, &parts),
            "isspacep" if parts[1].starts_with("shared") => self.is_shared(words, guard, parts[1]),
            "bar" | "barrier" => self.barrier(words, guard, &parts),
            "brx" => self.branch_indexed(words, guard),
            "st" | "red" if parts[1] == "async" => self.send(words, guard, &parts),
            "atom" | "red" => self.atomic(words, guard, &parts),
            "cp" => self.copy_async(words, guard, &parts),
            "createpolicy" => {
                // What the caches do changes no value.
                let (a, d) = (self.constant(File::D, 0), self.destination(operand(words, 0)?, File::D, words.line)?);
                self.push(Op::Alu { code: Alu::Mov64, d, a, b: a, c: a }, guard, words, Some(Class::Move));
                Ok(())
            }
            "setmaxnreg" => {
                let Some(count) = integer(operand(words, 0)?) else { return self.unknown(words) };
                if count % 8 != 0 {
                    return error(words.line, format!("`{}` of {count}, which is no multiple of 8", words.opcode));
                }
                let extended = Extended::new(Extension::SetRegisters(count as u32));
                self.extended(words, guard, extended, Class::Barrier);
                Ok(())
            }
            "mbarrier" => self.mbarrier(words, guard, &parts),
            "tensormap" => self.change_map(words, guard, &parts),
            "ldmatrix" | "stmatrix" => self.matrix(words, guard, &parts),
            "movmatrix" => self.move_matrix(words, guard),
            "mma" => self.multiply(words, guard, &parts),
            "wmma" => self.wmma(words, guard, &parts),
            "wgmma" => self.group(words, guard, &parts),
            "match" | "redux" | "elect" => self.across(words, guard, &parts),
            "prefetch" if parts.contains(&"tensormap") => self.prefetch_map(words, guard, &parts),
            "nanosleep" | "prefetch" | "prefetchu" | "discard" | "applypriority" | "pmevent" | "griddepcontrol" => {
                self.push(Op::Nothing, guard, words, Some(Class::Move));
                Ok(())
            }
            "membar" | "fence" => self.fence(words, guard, &parts),
            "shfl" => self.shuffle(words, guard, &parts),
            "vote" => self.vote(words, guard, &parts),
            "activemask" => {
                let d = self.destination(operand(words, 0)?, File::R, words.line)?;
                self.push(Op::ActiveMask { d }, guard, words, Some(Class::Move));
                Ok(())
            }
            _ => self.arithmetic(words, guard, &parts),
        }
    }

    /// The error for an instruction that the emulator does not run.
    pub fn unknown<T>(&self, words: &Words) -> Result<T, PtxError> {
        let message = format!("instruction `{}` is not one that the emulator runs", words.opcode);
        Err(PtxError { line: words.line, message, hint: Some(GAP) })
    }

    fn branch(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let Operand::Name(name) = operand(words, 0)? else { return self.unknown(words) };
        only(words, 1)?;
        let label = self.label(name);
        self.jump(words, guard, label)
    }

    /// `brx.idx`: a tree of two-way branches, of which the first counts.
    fn branch_indexed(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let Operand::Name(table) = operand(words, 1)? else { return self.unknown(words) };
        only(words, 2)?;
        let Some(targets) = self.branch_targets(table) else {
            return error(words.line, format!("`{table}` names no `.branchtargets`"));
        };
        let index = self.source(operand(words, 0)?, File::R, words.line)?;
        if targets.is_empty() {
            return error(words.line, format!("`{table}` has no branch targets"));
        }
        let after = self.new_label();
        if let Some(guard) = guard {
            self.push_end(Proto::Branch(Guard { negated: !guard.negated, ..guard }, after), words, None);
        }
        if targets.len() > MAX_TARGETS {
            return error(words.line, format!("`{table}` has {} targets, of at most {MAX_TARGETS}", targets.len()));
        }
        // An index beyond the table, which has no meaning, is taken for the last.
        let [place, bit] = [self.temporary(File::R), self.temporary(File::R)];
        let (last, zero) = (self.constant(File::R, targets.len() as u64 - 1), self.constant(File::R, 0));
        let predicate = self.temporary(File::P);
        self.push(Op::Alu { code: Alu::MinU32, d: place, a: index, b: last, c: last }, None, words, None);
        // Bit by bit, from the highest: so few registers do for the largest table.
        let mut class = Some(Class::Branch);
        let mut parts = vec![(0, targets.len().next_power_of_two(), None)];
        while let Some((start, size, label)) = parts.pop() {
            if let Some(label) = label {
                self.items.push(flow::Item::Label(label));
            }
            let half = size / 2;
            if half == 0 {
                let target = self.label(&targets[start]);
                self.push_end(Proto::Jump(target), words, class.take());
            } else if start + half >= targets.len() {
                parts.push((start, half, None));
            } else {
                let (upper, mask) = (self.new_label(), self.constant(File::R, half as u64));
                self.push(Op::Alu { code: Alu::And32, d: bit, a: place, b: mask, c: mask }, None, words, None);
                self.push(Op::Alu { code: Alu::Ne32, d: predicate, a: bit, b: zero, c: zero }, None, words, None);
                self.push_end(Proto::Branch(Guard { predicate, negated: false }, upper), words, class.take());
                parts.extend([(start + half, half, Some(upper)), (start, half, None)]);
            }
        }
        self.items.push(flow::Item::Label(after));
        Ok(())
    }

    fn jump(&mut self, words: &Words, guard: Option<Guard>, label: u32) -> Result<(), PtxError> {
        let proto = match guard {
            None => Proto::Jump(label),
            Some(guard) => Proto::Branch(guard, label),
        };
        self.push_end(proto, words, Some(Class::Branch));
        Ok(())
    }

    /// Where the guard holds, goes through what `inside` appends.
    pub fn guarded(&mut self, words: &Words, guard: Option<Guard>, inside: impl FnOnce(&mut Self)) {
        let Some(guard) = guard else { return inside(self) };
        let after = self.new_label();
        let skip = Guard { negated: !guard.negated, ..guard };
        self.push_end(Proto::Branch(skip, after), words, Some(Class::Branch));
        inside(self);
        self.items.push(flow::Item::Label(after));
    }

    /// `fence` and `membar`, of which the older one is sequentially consistent.
    fn fence(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let mut named = Ordering::default();
        let op = match *parts {
            ["membar", "cta"] => Op::Fence { order: Order::Sc, scope: Scope::Cta },
            ["membar", "gl"] => Op::Fence { order: Order::Sc, scope: Scope::Gpu },
            ["membar", "sys"] => Op::Fence { order: Order::Sc, scope: Scope::Sys },
            ["fence", "proxy", "async"] | ["fence", "proxy", "async", "global" | "shared::cta" | "shared::cluster"] => {
                self.proxy_fence(words, guard, parts);
                return Ok(());
            }
            ["fence", "proxy", "tensormap::generic", "release", scope] => {
                Op::Fence { order: Order::Release, scope: Scope::named(scope).unwrap_or_default() }
            }
            ["fence", "proxy", "tensormap::generic", "acquire", scope] => {
                return self.acquire_map(words, guard, Scope::named(scope).unwrap_or_default());
            }
            // From the accesses of threads to those of copies, and no other way: more than it needs.
            ["fence", "proxy", "async::generic", order, ..] => {
                let fence = Op::Fence { order: Order::named(order).unwrap_or_default(), scope: Scope::Cluster };
                if order == "acquire" {
                    self.push(fence, guard, words, None);
                }
                self.proxy_fence(words, guard, parts);
                if order == "release" {
                    self.push(fence, guard, words, None);
                }
                return Ok(());
            }
            // All other memory is accessed in one way here, so there is nothing to bring in line.
            ["membar" | "fence", "proxy", ..] => Op::Nothing,
            ["fence", "mbarrier_init", "release", "cluster"] => {
                self.proxy_fence(words, guard, parts);
                return Ok(());
            }
            ["fence", ref rest @ ..] => {
                let mut known = |part: &&str| named.takes(part) || part.starts_with("sync_restrict::");
                let unknown = rest.iter().any(|part| !known(part));
                match named.of_fence() {
                    Some((order, scope)) if !unknown => Op::Fence { order, scope },
                    _ => return self.unknown(words),
                }
            }
            _ => return self.unknown(words),
        };
        self.push(op, guard, words, Some(Class::Barrier));
        Ok(())
    }

    fn memory(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str], load: bool) -> Result<(), PtxError> {
        let mut space = Space::Generic;
        let (mut elements, mut ordering, mut read_only) = (1, Ordering::default(), parts[0] == "ldu");
        let mut of_cluster = false;
        for part in &parts[1..parts.len() - 1] {
            if ordering.takes(part) {
                continue;
            }
            match *part {
                "global" => space = Space::Global,
                "shared" | "shared::cta" => space = Space::Shared,
                "shared::cluster" => (space, of_cluster) = (Space::Shared, true),
                "local" => space = Space::Local,
                "param" | "param::entry" | "param::func" => space = Space::Parameter,
                "const" => space = Space::Constant,
                "v2" => elements = 2,
                "v4" => elements = 4,
                "nc" => read_only = true,
                "mmio" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" => {}
                hint if hint.starts_with("L1::") || hint.starts_with("L2::") => {}
                _ => return self.unknown(words),
            }
        }
        let kind = parts[parts.len() - 1];
        let (signed, bits) = match (kind.get(..1), kind.get(1..).and_then(|bits| bits.parse::<u32>().ok())) {
            (Some("s"), Some(bits)) => (true, bits),
            (Some("b" | "u" | "f"), Some(bits)) => (false, bits),
            _ => return self.unknown(words),
        };
        let is_whole = bits == 128;
        if elements * bits > 128 {
            return error(words.line, format!("`{}` is of more than 128 bits", words.opcode));
        }
        let (address, data) =
            if load { (operand(words, 1)?, operand(words, 0)?) } else { (operand(words, 0)?, operand(words, 1)?) };
        let list = match data {
            Operand::List(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        if list.len() != elements as usize {
            return error(words.line, format!("`{}` with {} registers", words.opcode, list.len()));
        }
        // A narrow element may sit in a wider register.
        let file = list.iter().find_map(|o| self.file_of(o)).unwrap_or(if bits == 64 { File::D } else { File::R });
        let mut registers = <[Slot; 4]>::default();
        if is_whole {
            registers[..2].copy_from_slice(&self.halves(&list[0], words.line)?);
        }
        for (slot, operand) in registers.iter_mut().zip(list).filter(|_| !is_whole) {
            *slot = if load {
                self.destination(operand, file, words.line)?
            } else {
                self.source(operand, file, words.line)?
            };
        }
        if let Operand::Address(Some(name), _) = address
            && !load
            && space == Space::Parameter
            && self.register(name).is_some()
        {
            return error(
                words.line,
                format!("`{}` at a register: only a name says where a parameter lies", words.opcode),
            );
        }
        let (base, base_wide, offset) = self.address(address, &mut space, words)?;
        let class = match (space, load) {
            (Space::Global | Space::Generic, true) => Class::GlobalLoad,
            (Space::Global | Space::Generic, false) => Class::GlobalStore,
            (Space::Shared, true) => Class::SharedLoad,
            (Space::Shared, false) => Class::SharedStore,
            _ => Class::OtherMemory,
        };
        let wide = is_whole || file == File::D;
        let (order, scope) = ordering.of_access();
        let (element_bytes, elements) = if is_whole { (8, 2) } else { (bits / 8, elements) };
        let index = self.accesses.len() as u32;
        self.accesses.push(Access {
            space,
            element_bytes,
            signed,
            wide,
            elements,
            registers,
            base,
            base_wide,
            offset,
            order,
            scope,
            read_only,
            of_cluster,
            ..Access::default()
        });
        self.push(if load { Op::Load(index) } else { Op::Store(index) }, guard, words, Some(class));
        if load && signed {
            // A register of 16 bits keeps only those of the sign.
            for (slot, operand) in registers.iter().zip(list) {
                if matches!(operand, Operand::Name(name) if self.register_bits(name) == Some(16)) {
                    self.push_unary(words, guard, Alu::Trunc16, *slot, *slot, None);
                }
            }
        }
        Ok(())
    }

    /// Base register, whether it is 64 bits wide, and offset of `[…]`.
    pub fn address(
        &mut self,
        operand: &Operand,
        space: &mut Space,
        words: &Words,
    ) -> Result<(Slot, bool, i64), PtxError> {
        let Operand::Address(base, offset) = operand else { return error(words.line, "an address in [ ] is expected") };
        self.check_address(base.as_deref(), *space, words)?;
        let Some(name) = base else { return Ok((self.constant(File::D, 0), true, *offset)) };
        if let Some((file, slot)) = self.register(name) {
            if file == File::P {
                return error(words.line, format!("`{name}` is no address"));
            }
            return Ok((slot, file == File::D, *offset));
        }
        // A variable's own space is known; parameters of a called function, and of calls, live in local memory.
        *space = match self.find_place(name) {
            Some(Place::Frame(at)) => {
                *space = Space::Local;
                return Ok((self.preset(File::D, Preset::Frame), true, at as i64 + offset));
            }
            Some(Place::Local(_)) => Space::Local,
            Some(Place::Shared(_)) => Space::Shared,
            Some(Place::Constant(_)) => Space::Constant,
            _ => *space,
        };
        Ok((self.source(&Operand::Name(name.clone()), File::D, words.line)?, true, *offset))
    }

    fn barrier(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let forms: Vec<&str> =
            parts[1..].iter().copied().filter(|p| !matches!(*p, "cta" | "aligned" | "b32" | "u32" | "pred")).collect();
        let at = |n: usize| words.operands.get(n);
        if forms == ["warp", "sync"] {
            let members = self.source(operand(words, 0)?, File::R, words.line)?;
            self.push(Op::WarpSync { members }, guard, words, Some(Class::Barrier));
            return Ok(());
        }
        let line = words.line;
        let aligned = parts[0] == "bar" || parts.contains(&"aligned");
        let (mut arrive_only, mut reduction, mut first) = (false, None, 0);
        match forms.as_slice() {
            ["sync"] => {}
            ["arrive"] => arrive_only = true,
            ["red", reduce] => {
                first = 1;
                let reduce = match *reduce {
                    "popc" => Reduce::Popc,
                    "and" => Reduce::And,
                    "or" => Reduce::Or,
                    _ => return self.unknown(words),
                };
                let result = if reduce == Reduce::Popc { File::R } else { File::P };
                let result = self.destination(operand(words, 0)?, result, line)?;
                let last = &words.operands[words.operands.len() - 1];
                let predicate = self.predicate(last, words)?;
                reduction = Some((reduce, result, predicate));
            }
            _ => return self.unknown(words),
        }
        let id = integer(operand(words, first)?);
        if let Some(id) = id.filter(|id| !(0..16).contains(id)) {
            return error(line, format!("barrier {id} of `{}` is none of 0 to 15", words.opcode));
        }
        let id = self.source(operand(words, first)?, File::R, line)?;
        let mut barrier = Barrier { id, threads: None, arrive_only, aligned, guard, reduce: reduction };
        let plain = words.operands.len() - barrier.reduce.is_some() as usize;
        if plain > first + 1
            && let Some(threads) = at(first + 1)
        {
            if let Operand::Integer(count) = threads
                && (*count < 0 || count % 32 != 0)
            {
                return error(line, format!("`{}` is for {count} threads, which are no whole warps", words.opcode));
            }
            barrier.threads = Some(self.source(threads, File::R, line)?);
        }
        self.push_end(Proto::Barrier(barrier), words, Some(Class::Barrier));
        Ok(())
    }

    /// The slot of a predicate operand, negated where it says `!`.
    pub fn predicate(&mut self, operand: &Operand, words: &Words) -> Result<Slot, PtxError> {
        match operand {
            Operand::Not(name) => {
                let a = self.source(&Operand::Name(name.clone()), File::P, words.line)?;
                let d = self.temporary(File::P);
                self.push(Op::Alu { code: Alu::NotP, d, a, b: a, c: a }, None, words, None);
                Ok(d)
            }
            other => self.source(other, File::P, words.line),
        }
    }

    fn shuffle(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let mode = match parts {
            ["shfl", "sync", "up", "b32"] => ShuffleMode::Up,
            ["shfl", "sync", "down", "b32"] => ShuffleMode::Down,
            ["shfl", "sync", "bfly", "b32"] => ShuffleMode::Butterfly,
            ["shfl", "sync", "idx", "b32"] => ShuffleMode::Index,
            _ => return self.unknown(words),
        };
        let line = words.line;
        let (d, valid) = match operand(words, 0)? {
            Operand::Pair(d, valid) => (self.destination(d, File::R, line)?, self.destination(valid, File::P, line)?),
            d => (self.destination(d, File::R, line)?, self.temporary(File::P)),
        };
        let mut slots = <[Slot; 4]>::default();
        for (n, slot) in slots.iter_mut().enumerate() {
            *slot = self.source(operand(words, n + 1)?, File::R, line)?;
        }
        let [a, b, c, members] = slots;
        self.push(Op::Shuffle { mode, d, valid, a, b, c, members }, guard, words, Some(Class::Move));
        Ok(())
    }

    fn vote(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let (mode, file) = match parts {
            ["vote", "sync", "all", "pred"] => (VoteMode::All, File::P),
            ["vote", "sync", "any", "pred"] => (VoteMode::Any, File::P),
            ["vote", "sync", "uni", "pred"] => (VoteMode::Uniform, File::P),
            ["vote", "sync", "ballot", "b32"] => (VoteMode::Ballot, File::R),
            _ => return self.unknown(words),
        };
        let d = self.destination(operand(words, 0)?, file, words.line)?;
        let (name, negated) = match operand(words, 1)? {
            Operand::Not(name) => (Operand::Name(name.clone()), true),
            other => (other.clone(), false),
        };
        let predicate = self.source(&name, File::P, words.line)?;
        let members = self.source(operand(words, 2)?, File::R, words.line)?;
        self.push(Op::Vote { mode, d, predicate, negated, members }, guard, words, Some(Class::Move));
        Ok(())
    }
}

/// The number of an operand that is a constant.
pub(super) fn integer(operand: &Operand) -> Option<i128> {
    match operand {
        Operand::Integer(n) => Some(*n),
        Operand::Name(name) if name == "WARP_SZ" => Some(32),
        _ => None,
    }
}

/// The `n`-th operand, or an error that says that it is missing.
pub(super) fn operand(words: &Words, n: usize) -> Result<&Operand, PtxError> {
    match words.operands.get(n) {
        Some(operand) => Ok(operand),
        None => error(words.line, format!("`{}` needs at least {} operands", words.opcode, n + 1)),
    }
}

/// An error where there are more operands than these.
fn only(words: &Words, count: usize) -> Result<(), PtxError> {
    match words.operands.len() {
        given if given > count => {
            error(words.line, format!("`{}` takes {count} operands, here are {given}", words.opcode))
        }
        _ => Ok(()),
    }
}
