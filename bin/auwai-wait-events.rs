//! `auwai-wait-events`: main only.

fn main() -> std::process::ExitCode {
    auwai::cli::start::<auwai::plumbing::wait_events::WaitEvents>()
}
