//! Tips on options that do not exist: the one that was meant is likelier to begin with what was written than to look like it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error of a command line, with a tip on the options whose names begin with what was written, if there are any. `written` are the words of
/// the command line after the program's name.
pub fn with_tip(mut error: clap::Error, cli: &clap::Command, written: &[String]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return error };
    let Some(begin) = option.strip_prefix("--").map(|option| option.split('=').next().unwrap_or_default().to_string())
    else {
        return error;
    };
    let command = written.iter().filter(|word| !word.starts_with('-')).try_fold(cli, |command, word| {
        // As far as words name commands.
        command.find_subcommand(word).ok_or(command)
    });
    let (Ok(command) | Err(command)) = command;
    let longs = command.get_arguments().filter_map(|argument| argument.get_long());
    let mut likely: Vec<String> =
        longs.filter(|long| long.starts_with(&begin)).map(|long| format!("--{long}")).collect();
    match likely.len() {
        0 => return error,
        1 => _ = error.insert(ContextKind::SuggestedArg, ContextValue::String(likely.remove(0))),
        _ => _ = error.insert(ContextKind::SuggestedArg, ContextValue::Strings(likely)),
    }
    // That it could be a value is no help beside the option that was meant.
    error.remove(ContextKind::Suggested);
    error
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::arguments::Cli;

    fn tip(line: &str) -> String {
        let written: Vec<String> = line.split_whitespace().map(String::from).collect();
        let words = std::iter::once("deepgp".to_string()).chain(written.iter().cloned());
        let error = Cli::try_parse_from(words).unwrap_err();
        with_tip(error, &Cli::command(), &written).render().to_string()
    }

    #[test]
    fn an_option_that_begins_so_is_the_likely_one() {
        let said = tip("fit houses.csv --target y --transform log");
        assert!(said.contains("exists: '--transform-target'") && !said.contains("mean-form"), "{said}");
        assert!(tip("fit houses.csv --transform=log").contains("exists: '--transform-target'"));
        let several = tip("fit houses.csv --mean 3");
        assert!(several.contains("'--mean-inducing', '--mean-form'"), "{several}");
        // Others are told of as before.
        assert!(tip("fit houses.csv --targte y").contains("exists: '--target'"));
        assert!(tip("predict model.deepgp new.csv --quantile 0.5").contains("exists: '--quantiles'"));
        assert!(tip("fit houses.csv --xyz 3").contains("unexpected argument '--xyz'"));
    }
}
