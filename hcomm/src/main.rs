//! `hcomm` for the algorithms of the library.

fn main() -> std::process::ExitCode {
    hcomm::cli::main(hcomm::algos::LIBRARY)
}
