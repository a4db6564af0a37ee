//! `rab mount` in builds without the feature `mount`: says so, whatever its arguments.

use std::ffi::OsString;

use clap::Args;

use super::output::Done;
use crate::Error;

/// Not in this build, which has no FUSE
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct WithoutFuse {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

impl WithoutFuse {
    pub fn run(&self) -> Done {
        Err(Error::Fuse(
            "this rab was built without FUSE (feature mount) and cannot mount: read the file with ls, info, cat \
             and get, or mount it with another build"
                .into(),
        )
        .into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Cli, Failure, Verb};

    #[test]
    fn mount_says_that_there_is_no_fuse() {
        for arguments in
            [&["rab", "mount"][..], &["rab", "mount", "-f", "--cache-size", "1M", "x.rab", "--", "ls"]]
        {
            let Ok(Cli { verb: Verb::Mount(mount) }) = Cli::try_parse_from(arguments) else {
                panic!("not taken")
            };
            let Err(Failure::Error(error)) = mount.run() else { panic!("it mounts") };
            assert_eq!(error.exit_code(), 21);
            assert!(error.to_string().contains("without FUSE"), "{error}");
        }
    }
}
