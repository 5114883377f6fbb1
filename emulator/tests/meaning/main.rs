//! What kernels mean, held against formulas of this test's own: results, counts, races, and what nobody wrote. Many kernels
//! are made by chance; the same ones every time.

mod accesses;
mod afresh;
mod alone;
mod between;
mod boxes;
mod bulks;
mod closely;
mod corners;
mod dice;
mod edges;
mod elsewhere;
mod flow;
mod forms;
mod fragments;
mod handing;
mod landing;
mod litmus;
mod matrices;
mod mbarriers;
mod narrow;
mod numbers;
mod pointers;
mod prints;
mod quads;
mod refusals;
mod registers;
mod run;
mod spaces;
mod steps;
mod texts;
mod turns;
mod unwritten;
mod waits;
mod ways;
