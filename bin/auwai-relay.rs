//! `auwai-relay`: main only.

fn main() -> std::process::ExitCode {
    auwai::cli::start::<auwai::plumbing::relay::Relay>()
}
