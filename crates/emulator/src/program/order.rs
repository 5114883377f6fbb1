//! Whom a memory operation orders, and how: PTX's semantics and scopes.

/// The semantics of a load, store, atomic or fence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Order {
    /// Orders nobody, and races with what it is not ordered with.
    #[default]
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    /// Of fences only: one order of all of them.
    Sc,
    /// As relaxed at system scope, and for this one access only.
    Volatile,
}

/// The threads among which an operation orders. Each contains those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// The thread itself: of weak operations, which have none.
    #[default]
    Thread,
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// Semantics and scope as an opcode names them, part by part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ordering {
    order: Option<Order>,
    scope: Option<Scope>,
}

impl Ordering {
    /// Takes a part of an opcode; says whether it was one of these.
    pub fn takes(&mut self, part: &str) -> bool {
        match (part, Order::named(part), Scope::named(part)) {
            ("weak", ..) => self.order = Some(Order::Weak),
            ("volatile", ..) => (self.order, self.scope) = (Some(Order::Volatile), Some(Scope::Sys)),
            (_, Some(order), _) => self.order = Some(order),
            (_, _, Some(scope)) => self.scope = Some(scope),
            _ => return false,
        }
        true
    }

    /// Of a load or store: weak where it names nothing.
    pub fn of_access(self) -> (Order, Scope) {
        (self.order.unwrap_or(Order::Weak), self.scope.unwrap_or(Scope::Thread))
    }

    /// Of an atomic operation: relaxed and of the GPU.
    pub fn of_atomic(self) -> (Order, Scope) {
        (self.order.unwrap_or(Order::Relaxed), self.scope.unwrap_or(Scope::Gpu))
    }

    /// Of a fence, which acquires and releases where it does not say.
    pub fn of_fence(self) -> Option<(Order, Scope)> {
        Some((self.order.unwrap_or(Order::AcqRel), self.scope?))
    }
}

impl Order {
    /// The semantics that a part of an opcode names. Volatile is none of them: a load or store says it in another place.
    pub fn named(part: &str) -> Option<Order> {
        Some(match part {
            "relaxed" => Order::Relaxed,
            "acquire" => Order::Acquire,
            "release" => Order::Release,
            "acq_rel" => Order::AcqRel,
            "sc" => Order::Sc,
            _ => return None,
        })
    }
}

impl Scope {
    /// The scope that a part of an opcode names.
    pub fn named(part: &str) -> Option<Scope> {
        Some(match part {
            "cta" => Scope::Cta,
            "cluster" => Scope::Cluster,
            "gpu" => Scope::Gpu,
            "sys" => Scope::Sys,
            _ => return None,
        })
    }
}
