//! `rab`: everything is in the library; see `rab::cli`.

fn main() -> std::process::ExitCode {
    rab::cli::rab()
}
