//! Recipes of public tables: where a table is, which of its columns go where, and how it is recognised.

use anyhow::{Result, ensure};

use super::table::Table;

/// A public table that can be fetched.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The table's name here, and its file's.
    pub name: &'static str,
    /// What the table is about.
    pub about: &'static str,
    /// The terms of use, and whom to credit.
    pub licence: &'static str,
    /// The address of a page about the table, for people.
    pub page: &'static str,
    /// The addresses of its file; the first that gives the right table is enough.
    pub addresses: &'static [&'static str],
    /// The name of the table in its file, if that is a zip archive.
    pub member: &'static str,
    /// The columns as they are written, the target last, each with its name in the source's file.
    pub columns: &'static [(&'static str, &'static str)],
    /// The number of rows.
    pub rows: usize,
    /// The digest that [`Table::sha256`] must give.
    pub sha256: &'static str,
}

/// All of them.
///
/// Their digests were taken from tables whose columns, printed as the source prints them, have the SHA-256 that others publish for the
/// source's file, byte by byte: `7b9bf030…dbc8ad` for kin8nm as OpenML's CSV, `4277cfcb…848f40` for UCI's `CASP.csv`. The last address
/// of each is a copy of these very files, at a commit that does not change.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "kin8nm",
        about: "how far the hand of an 8-link robot arm is from a point, by its joint angles",
        licence: "DELVE, University of Toronto; no licence is stated",
        page: "https://www.openml.org/d/189",
        addresses: &[
            "https://www.openml.org/data/download/3626/dataset_2175_kin8nm.arff",
            "https://raw.githubusercontent.com/stanfordmlgroup/ngboost/9622ed9051edc1ce0906ca6e7e6e455b6bfeb55f/data/uci/kin8nm.csv",
        ],
        member: "kin8nm.csv",
        columns: &[
            ("x0", "theta1"),
            ("x1", "theta2"),
            ("x2", "theta3"),
            ("x3", "theta4"),
            ("x4", "theta5"),
            ("x5", "theta6"),
            ("x6", "theta7"),
            ("x7", "theta8"),
            ("y", "y"),
        ],
        rows: 8192,
        sha256: "8ba62ad199288a9513137a8d6e69a544518ff7b307e497bbeacc73b810869352",
    },
    Recipe {
        name: "protein",
        about: "how far a predicted protein structure is from the true one, by its physicochemical properties",
        licence: "CC BY 4.0; P. S. Rana, UCI, doi:10.24432/C5QW3H",
        page: "https://archive.ics.uci.edu/dataset/265",
        addresses: &[
            "https://archive.ics.uci.edu/static/public/265/physicochemical+properties+of+protein+tertiary+structure.zip",
            "https://raw.githubusercontent.com/stanfordmlgroup/ngboost/9622ed9051edc1ce0906ca6e7e6e455b6bfeb55f/data/uci/protein.csv",
        ],
        member: "CASP.csv",
        columns: &[
            ("F1", "F1"),
            ("F2", "F2"),
            ("F3", "F3"),
            ("F4", "F4"),
            ("F5", "F5"),
            ("F6", "F6"),
            ("F7", "F7"),
            ("F8", "F8"),
            ("F9", "F9"),
            ("y", "RMSD"),
        ],
        rows: 45_730,
        sha256: "ad38bfd8d43c99eb8d7e3361bb33b97fdb7ff73f9e2933608bcf5a184032939c",
    },
];

impl Recipe {
    /// The recipe of this name, if there is one.
    pub fn find(name: &str) -> Option<&'static Self> {
        RECIPES.iter().find(|recipe| recipe.name == name)
    }

    /// The number of columns without the target.
    pub fn inputs(&self) -> usize {
        self.columns.len() - 1
    }

    /// Fails unless this is the table: every number the same to the last bit, in the same place. The order of rows counts too, since a
    /// seed splits the table by row numbers; how numbers are printed does not.
    pub fn check(&self, table: &Table) -> Result<()> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        ensure!(
            table.names == names,
            "its columns are {}, where {} were expected",
            table.names.join(", "),
            names.join(", ")
        );
        ensure!(table.rows() == self.rows, "it has {} rows, where {} were expected", table.rows(), self.rows);
        let found = table.sha256();
        ensure!(
            found == self.sha256,
            "its numbers are other ones: their SHA-256 is {found}, where {} was expected",
            self.sha256
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_sound() {
        for recipe in RECIPES {
            assert_eq!(recipe.columns.last().map(|column| column.0), Some("y"), "{}", recipe.name);
            assert_eq!(recipe.sha256.len(), 64);
            assert!(recipe.addresses.len() > 1 && recipe.addresses.iter().all(|url| url.starts_with("https://")));
            assert_eq!(Recipe::find(recipe.name).unwrap().page, recipe.page);
        }
        assert!(Recipe::find("iris").is_none());
    }

    #[test]
    fn another_table_is_told_by_columns_rows_and_numbers() {
        let table = Table { names: vec!["a".into(), "y".into()], values: vec![1.0, 2.0, 3.0, 4.0] };
        let digest: &'static str = table.sha256().leak();
        let recipe = Recipe { columns: &[("a", "b"), ("y", "t")], rows: 2, sha256: digest, ..RECIPES[0] };
        recipe.check(&table).unwrap();
        let refused = |table: Table| recipe.check(&table).unwrap_err().to_string();
        let names = vec!["y".into(), "a".into()];
        assert_eq!(refused(Table { names, ..table.clone() }), "its columns are y, a, where a, y were expected");
        assert_eq!(refused(Table { values: vec![1.0, 2.0], ..table.clone() }), "it has 1 rows, where 2 were expected");
        let next_up = Table { values: vec![1.0, 2.0, 3.0, 4.0f64.next_up()], ..table.clone() };
        let exchanged = Table { values: vec![3.0, 4.0, 1.0, 2.0], ..table.clone() };
        for other in [next_up, exchanged] {
            let found = other.sha256();
            let told = refused(other);
            assert!(told.contains(&found) && told.contains(digest), "{told}");
        }
    }
}
