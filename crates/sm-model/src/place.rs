//! The order of instructions that an assembler would choose.

use std::collections::HashMap;

use crate::figures::Figures;
use crate::ops::{Kind, Node, Op};

/// Puts the instructions into order, region by region, and numbers them anew.
pub(crate) fn place(nodes: &[Node], registers: u32, figures: &Figures) -> Vec<Op> {
    let mut last_use = vec![0u32; nodes.len()];
    for (number, node) in nodes.iter().enumerate().filter(|(_, node)| !node.dropped) {
        for &need in &node.needs {
            last_use[need as usize] = number as u32;
        }
    }
    let ends = |node: &Node| !node.dropped && ends_region(node.kind);
    let mut order: Vec<u32> = Vec::with_capacity(nodes.len());
    let mut live = 0;
    let mut start = 0;
    while start < nodes.len() {
        let end = (start..nodes.len()).find(|&n| ends(&nodes[n])).map_or(nodes.len(), |n| n + 1);
        region(nodes, &last_use, (start, end), registers, figures, &mut order, &mut live);
        start = end;
    }
    let mut at = vec![u32::MAX; nodes.len()];
    for (place, &number) in order.iter().enumerate() {
        at[number as usize] = place as u32;
    }
    let op = |&number: &u32| {
        let node = &nodes[number as usize];
        let mut needs: Vec<u32> = node.needs.iter().map(|&need| at[need as usize]).filter(|&n| n != u32::MAX).collect();
        needs.sort_unstable();
        needs.dedup();
        Op { kind: node.kind, needs, touch: node.touch, code: node.code }
    };
    order.iter().map(op).collect()
}

/// Registers for addresses, counters and the like, which are computed anew where they are short.
const ADDRESSES: u32 = 24;

/// Predicates that a warp has for its conditions.
const PREDICATES: i64 = 6;

/// Clocks that the assembler takes a result to need.
fn assumed(kind: Kind, figures: &Figures) -> u32 {
    match kind {
        Kind::GlobalLoad => figures.assumed,
        Kind::SharedLoad => figures.shared,
        Kind::Special | Kind::Tensor => 20,
        Kind::Guard => figures.guard,
        Kind::Parameter => figures.parameter,
        Kind::Fp64 => figures.fp64_latency,
        _ => figures.fixed,
    }
}

fn region(
    nodes: &[Node],
    last_use: &[u32],
    (start, end): (usize, usize),
    registers: u32,
    figures: &Figures,
    order: &mut Vec<u32>,
    live: &mut i64,
) {
    let count = end - start;
    let inside = |need: u32| (need as usize >= start).then(|| need as usize - start);
    let mut followers: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut missing = vec![0u32; count];
    let mut readers: HashMap<u32, u32> = HashMap::new();
    let mut last_fence: Option<usize> = None;
    let mut last_store: Option<usize> = None;
    for n in 0..count {
        let node = &nodes[start + n];
        if node.dropped {
            continue;
        }
        let mut befores: Vec<usize> = node.needs.iter().filter_map(|&need| inside(need)).collect();
        befores.extend(node.after.and_then(inside));
        for &need in &node.needs {
            *readers.entry(need).or_default() += 1;
        }
        // Stores and loads of shared memory keep their order, and so do copies and their groups.
        match node.kind {
            Kind::SharedStore => {
                befores.extend(last_store);
                last_store = Some(n);
            }
            Kind::SharedLoad => befores.extend(last_store),
            Kind::Copy | Kind::Commit | Kind::Wait(_) => {
                befores.extend(last_fence);
                last_fence = Some(n);
            }
            Kind::Barrier | Kind::Branch => befores.extend(0..n),
            _ => {}
        }
        befores.sort_unstable();
        befores.dedup();
        befores.retain(|&b| !nodes[start + b].dropped);
        missing[n] = befores.len() as u32;
        for before in befores {
            followers[before].push(n as u32);
        }
    }
    // The longest way to the region's end.
    let mut height = vec![0u32; count];
    for n in (0..count).rev() {
        let own = assumed(nodes[start + n].kind, figures);
        let far = followers[n]
            .iter()
            .filter(|&&f| !ends_region(nodes[start + f as usize].kind))
            .map(|&f| height[f as usize])
            .max();
        height[n] = own + far.unwrap_or(0);
    }
    let mut ready_at = vec![0u64; count];
    let mut ready: Vec<u32> =
        (0..count as u32).filter(|&n| missing[n as usize] == 0 && !nodes[start + n as usize].dropped).collect();
    let (mut clock, mut predicates) = (0u64, 0i64);
    // What is computed once, before the loop, keeps its registers.
    let mut kept: Vec<u32> = (start..end)
        .filter(|&n| !nodes[n].dropped)
        .flat_map(|n| &nodes[n].needs)
        .copied()
        .filter(|&need| (need as usize) < start && nodes[need as usize].kind == Kind::Alu)
        .collect();
    kept.sort_unstable();
    kept.dedup();
    let kept = (kept.len() as u32).min(registers / 3).max(ADDRESSES.min(registers / 4));
    let budget = i64::from(registers - kept);
    let mut placed = vec![false; count];
    // Before this one all are placed.
    let mut first = 0;
    // Addresses that other regions need are among those that are set apart.
    let width = |n: u32| match nodes[n as usize].kind == Kind::Alu && (last_use[n as usize] as usize) >= end {
        true => 0,
        false => i64::from(nodes[n as usize].width),
    };
    // Predicates of other regions are computed anew, or wait in registers.
    let own = |n: u32| match n as usize >= start && (last_use[n as usize] as usize) < end {
        true => i64::from(nodes[n as usize].predicates),
        false => 0,
    };
    let freed = |n: u32, readers: &HashMap<u32, u32>| -> (i64, i64) {
        let node = &nodes[start + n as usize];
        let dead = |need: &&u32| {
            readers.get(need) == Some(&1)
                && (last_use[**need as usize] as usize) < end
                && (**need as usize >= start || nodes[**need as usize].kind != Kind::Alu)
        };
        let of = |need: &u32| (width(*need), own(*need));
        node.needs.iter().filter(dead).map(of).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    };
    while !ready.is_empty() {
        let grows = |n: u32, readers: &HashMap<u32, u32>| {
            let freed = freed(n, readers);
            (width(start as u32 + n) - freed.0, own(start as u32 + n) - freed.1)
        };
        let fits = |n: &&u32| {
            let grows = grows(**n, &readers);
            (*live + grows.0 <= budget || grows.0 <= 0) && (predicates + grows.1 <= PREDICATES || grows.1 <= 0)
        };
        while first < count && (placed[first] || nodes[start + first].dropped) {
            first += 1;
        }
        let near = |n: &&u32| {
            let far = matches!(
                nodes[start + **n as usize].kind,
                Kind::GlobalLoad | Kind::Copy | Kind::Alu | Kind::Guard | Kind::Parameter
            );
            far || **n as usize <= first + figures.ahead
        };
        let best = |now: bool| {
            let mut best: Option<u32> = None;
            for n in ready.iter().filter(near).filter(fits).filter(|n| !now || ready_at[**n as usize] <= clock) {
                let better = |other: u32| {
                    let key = |n: u32| {
                        if now { (u64::MAX - u64::from(height[n as usize]), n) } else { (ready_at[n as usize], n) }
                    };
                    key(*n) < key(other)
                };
                if best.is_none_or(better) {
                    best = Some(*n);
                }
            }
            best
        };
        let chosen = best(true).or_else(|| best(false)).unwrap_or_else(|| *ready.iter().min().unwrap_or(&0));
        ready.retain(|n| *n != chosen);
        clock = clock.max(ready_at[chosen as usize]) + 1;
        let more = grows(chosen, &readers);
        (*live, predicates) = (*live + more.0, predicates + more.1);
        let node = &nodes[start + chosen as usize];
        placed[chosen as usize] = true;
        for need in &node.needs {
            if let Some(count) = readers.get_mut(need) {
                *count -= 1;
            }
        }
        order.push(start as u32 + chosen);
        let done = clock - 1 + u64::from(assumed(node.kind, figures));
        for &follower in &followers[chosen as usize] {
            let f = follower as usize;
            let issued = ends_region(nodes[start + f].kind) || nodes[start + f].after == Some(start as u32 + chosen);
            ready_at[f] = ready_at[f].max(if issued { clock } else { done });
            missing[f] -= 1;
            if missing[f] == 0 {
                ready.push(follower);
            }
        }
    }
}

pub(crate) fn ends_region(kind: Kind) -> bool {
    matches!(kind, Kind::Barrier | Kind::Branch)
}
