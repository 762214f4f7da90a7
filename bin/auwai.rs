//! `auwai`: main only.

fn main() -> std::process::ExitCode {
    auwai::porcelain::main()
}
