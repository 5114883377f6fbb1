//! Threads that run thread blocks side by side. Without the feature `parallel` there is one.

/// How many threads a launch may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workers {
    wanted: Option<usize>,
    #[cfg(feature = "parallel")]
    pool: Option<std::sync::Arc<rayon::ThreadPool>>,
}

/// The most threads that are started for one device.
const MOST: usize = 256;

impl Workers {
    /// So many threads, one at least; without a number, those that rayon has. Where they cannot be started, one.
    pub fn new(threads: Option<usize>) -> Workers {
        let wanted = threads.map(|threads| threads.clamp(1, MOST));
        #[cfg(feature = "parallel")]
        let pool = wanted.filter(|&threads| threads > 1).and_then(|threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok().map(std::sync::Arc::new)
        });
        Workers {
            wanted,
            #[cfg(feature = "parallel")]
            pool,
        }
    }
}

#[cfg(feature = "parallel")]
impl Workers {
    /// How many threads there are.
    pub fn count(&self) -> usize {
        match (&self.wanted, &self.pool) {
            (None, _) => rayon::current_num_threads(),
            (Some(_), Some(pool)) => pool.current_num_threads(),
            (Some(_), None) => 1,
        }
    }

    /// Runs `work` so many times side by side, and makes one of what comes of it; the first error otherwise.
    pub fn run<T: Send, E: Send>(
        &self,
        times: u64,
        work: impl Fn() -> Result<T, E> + Sync + Send,
        add: impl Fn(T, T) -> T + Sync + Send,
    ) -> Option<Result<T, E>> {
        use rayon::prelude::*;
        let all = || (0..times).into_par_iter().map(|_| work()).try_reduce_with(|a, b| Ok(add(a, b)));
        match &self.pool {
            Some(pool) => pool.install(all),
            None => all(),
        }
    }
}

#[cfg(not(feature = "parallel"))]
impl Workers {
    /// One, whatever is wanted.
    pub fn count(&self) -> usize {
        self.wanted.map_or(1, |_| 1)
    }

    /// Runs `work` once: it takes what there is to do until nothing is left.
    pub fn run<T, E>(
        &self,
        _times: u64,
        work: impl Fn() -> Result<T, E>,
        _add: impl Fn(T, T) -> T,
    ) -> Option<Result<T, E>> {
        Some(work())
    }
}
