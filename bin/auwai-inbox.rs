//! `auwai-inbox`: main only.

fn main() -> std::process::ExitCode {
    auwai::plumbing::main::<auwai::plumbing::inbox::Inbox>()
}
