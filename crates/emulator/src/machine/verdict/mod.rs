//! What is wrong or doubtful, put into words; and what is followed for that from register to register: values that nobody
//! wrote, and registers of products under way. It imports `arithmetic`, `state` and `order`.

pub(crate) mod agent;
pub(crate) mod bulk;
pub(crate) mod circumstances;
pub(crate) mod cluster;
pub(crate) mod copy_hints;
pub(crate) mod mbarrier;
pub(crate) mod origins;
pub(crate) mod product_registers;
pub(crate) mod product_taint;
pub(crate) mod race;
pub(crate) mod race_hints;
pub(crate) mod taint;
pub(crate) mod tensor;
pub(crate) mod uninitialised;
pub(crate) mod unwritten_hints;
pub(crate) mod wait;
pub(crate) mod warn;
pub(crate) mod warpgroup;
pub(crate) mod words;
