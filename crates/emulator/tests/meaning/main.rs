//! What kernels mean, held against formulas of this test's own: results, counts, races, and what nobody wrote. Many kernels
//! are made by chance; the same ones every time.

mod accesses;
mod afresh;
mod alone;
mod apart;
mod beside;
mod between;
mod boxes;
mod bulks;
mod closely;
mod clustered;
mod corners;
mod dice;
mod doubts;
mod edges;
mod elsewhere;
mod flow;
mod forms;
mod fragments;
mod groups;
mod handing;
mod landing;
mod litmus;
mod maps;
mod matrices;
mod mbarriers;
mod narrow;
mod numbers;
mod pointers;
mod prints;
mod quads;
mod readers;
mod refusals;
mod registers;
mod rows;
mod run;
mod spaces;
mod steps;
mod stuck;
#[allow(dead_code)]
#[path = "../ptx/table.rs"]
mod table;
mod texts;
mod turns;
mod unwritten;
mod waits;
mod ways;
