//! `auwai-ledger`: main only.

fn main() -> std::process::ExitCode {
    auwai::cli::start::<auwai::plumbing::ledger::Ledger>()
}
