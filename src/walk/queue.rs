//! Work shared by threads that also make new work: done when none is left and none is being made.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A stack of jobs. Last in, first out keeps few directories open at a time.
pub struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    jobs: Vec<J>,
    busy: usize,
}

/// A job being done; what it leads to must be pushed before this is dropped.
pub struct Taken<'a, J> {
    queue: &'a Queue<J>,
    job: Option<J>,
}

impl<J> Queue<J> {
    /// A queue with its first jobs.
    pub fn new(jobs: Vec<J>) -> Self {
        Queue { state: Mutex::new(State { jobs, busy: 0 }), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds jobs.
    pub fn push(&self, jobs: Vec<J>) {
        if jobs.is_empty() {
            return;
        }
        self.lock().jobs.extend(jobs);
        self.changed.notify_all();
    }

    /// The next job; waits while others may still make one, `None` when all is done.
    pub fn take(&self) -> Option<Taken<'_, J>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(Taken { queue: self, job: Some(job) });
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<J> Taken<'_, J> {
    /// The job itself, once.
    pub fn job(&mut self) -> Option<J> {
        self.job.take()
    }
}

impl<J> Drop for Taken<'_, J> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.busy -= 1;
        if state.busy == 0 && state.jobs.is_empty() {
            self.queue.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_job_is_done_once_and_the_threads_end() {
        let queue = Queue::new(vec![12_u64]);
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(mut taken) = queue.take() {
                        let depth = taken.job().unwrap();
                        done.fetch_add(1, Ordering::Relaxed);
                        queue.push(if depth == 0 { vec![] } else { vec![depth - 1; 2] });
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), (1 << 13) - 1);
    }
}
