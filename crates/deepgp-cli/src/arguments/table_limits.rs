//! Limits of tables, wherever a command reads one.

use clap::Args;
use deepgp_io::table::TableLimits;

use super::value::limits::{self, within};

/// How large a table may be, compared with its file.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableLimitOptions {
    /// The most columns that a table may have [default: 50000]
    #[arg(long, value_name = "N", value_parser = within(limits::TABLE_SIZE), help_heading = "Limits")]
    pub max_columns: Option<usize>,
    /// The most bytes of one cell of text [default: 1048576]
    #[arg(long, value_name = "BYTES", value_parser = within(limits::TABLE_SIZE), help_heading = "Limits")]
    pub max_cell: Option<usize>,
    /// How many times as large as its file a compressed table may be [default: 100; 16 MiB in all where the file is below 1 MiB]
    #[arg(long, value_name = "TIMES", value_parser = within(limits::TABLE_SIZE), help_heading = "Limits")]
    pub max_expansion: Option<usize>,
}

impl TableLimitOptions {
    /// The limits, for the library.
    pub fn limits(self) -> TableLimits {
        let usual = TableLimits::default();
        TableLimits {
            columns: self.max_columns.unwrap_or(usual.columns),
            cell: self.max_cell.unwrap_or(usual.cell),
            expansion: self.max_expansion.map(|times| times as u64).or(usual.expansion),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Cli;

    #[test]
    fn helps_show_the_limits_that_there_are() {
        let TableLimits { columns, cell, expansion } = TableLimitOptions::default().limits();
        assert_eq!(expansion, None);
        let mut cli = Cli::command();
        cli.build();
        for command in ["fit", "resume", "predict", "evaluate", "report"] {
            let command = cli.find_subcommand(command).unwrap();
            for (name, default) in [("max_columns", columns), ("max_cell", cell), ("max_expansion", 100)] {
                let found = command.get_arguments().find(|arg| arg.get_id() == name);
                let help =
                    found.unwrap_or_else(|| panic!("{} {name}", command.get_name())).get_help().unwrap().to_string();
                assert!(help.contains(&format!("[default: {default}")), "{help}");
            }
        }
    }
}
