//! `auwai-plan`: main only.

fn main() -> std::process::ExitCode {
    auwai::cli::start::<auwai::plumbing::plan::PlanTool>()
}
