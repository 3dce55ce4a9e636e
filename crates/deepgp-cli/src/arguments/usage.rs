//! Wrong use of the command line, which has an exit code of its own.

use std::fmt;

/// An error that says how the command line was used wrongly. It has an exit code of its own, as against a failure.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The error as wrong use of a flag, if it is a setting that the library refuses; any other error as it is.
pub fn in_words_of_flags(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(deepgp::Error::Setting { name, value, requirement }) => {
            let flag = match *name {
                "quantile level" => "quantiles".into(),
                "inducing inputs" => "inducing".into(),
                "input columns" => "columns".into(),
                other => other.replace(['_', ' '], "-"),
            };
            Usage(format!("--{flag} {value}: give {requirement}")).into()
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_given_by_the_name_of_its_flag() {
        for (name, said) in [
            ("inducing inputs", "--inducing 0: give at least 1"),
            ("quantile level", "--quantiles 0: give at least 1"),
            ("input columns", "--columns 0: give at least 1"),
            ("batch_size", "--batch-size 0: give at least 1"),
        ] {
            let error = deepgp::Error::Setting { name, value: "0".into(), requirement: "at least 1" };
            assert_eq!(in_words_of_flags(error.into()).to_string(), said);
        }
    }
}
