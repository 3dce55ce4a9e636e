//! Fetching a table: from the first address that gives the right one to a file that is there whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use deepgp_io::atomic::AtomicFile;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::download::{Downloader, Location, Mirror, locations};
use super::recipe::Recipe;
use super::table::Table;
use super::unpack;
use crate::arguments::paths;

/// Where a table is fetched to and from.
#[derive(Debug)]
pub struct Order<'a> {
    /// The folder for the file.
    pub out: &'a Path,
    /// The mirror to look at instead of the table's own addresses.
    pub mirror: Option<&'a Mirror>,
    /// Whether to download a table that is there already.
    pub force: bool,
}

/// A table that is there now.
#[derive(Debug)]
pub struct Fetched {
    /// The path of its file.
    pub path: PathBuf,
    /// The place that it came from; `None` if it was there already.
    pub from: Option<Location>,
}

/// Fetches a table into its folder, unless it is there.
pub fn fetch(recipe: &Recipe, order: &Order, downloader: &Downloader) -> Result<Fetched> {
    let path = order.out.join(format!("{}.csv.gz", recipe.name));
    if path.exists() && !order.force {
        Table::read(&path).and_then(|table| recipe.check(&table)).with_context(|| {
            format!(
                "{} is there, but is not the table {} (replace it with --force, or name another folder with --out)",
                path.display(),
                recipe.name
            )
        })?;
        return Ok(Fetched { path, from: None });
    }
    check_place(order.out, &path)?;
    let mut failures = Vec::new();
    for location in locations(recipe, order.mirror) {
        match get(recipe, &location, downloader) {
            Ok(table) => {
                keep(&table, &path).with_context(|| format!("cannot write {}", path.display()))?;
                return Ok(Fetched { path, from: Some(location) });
            }
            Err(error) => failures.push(format!("{location}: {error:#}")),
        }
    }
    Err(anyhow!(
        "{} could not be fetched\n  {}\nTry again later, or download {} by hand into a folder and run `deepgp data fetch {} --from FOLDER`",
        recipe.name,
        failures.join("\n  "),
        recipe.addresses[0],
        recipe.name
    ))
}

/// Fails if the file could not be written, before anything is downloaded. A folder that is not there is made to see
/// whether it can be, and is not left behind.
fn check_place(folder: &Path, path: &Path) -> Result<()> {
    if folder.exists() {
        return paths::check_writable(path);
    }
    let first_missing = folder.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists()).last();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for made in folder.ancestors() {
        let _ = std::fs::remove_dir(made);
        if Some(made) == first_missing {
            break;
        }
    }
    Ok(())
}

/// Gets the table from one place, if it is the right one.
fn get(recipe: &Recipe, location: &Location, downloader: &Downloader) -> Result<Table> {
    let bytes = downloader.get(location)?;
    let text = unpack::text(&bytes, recipe.member)?;
    let table = Table::parse(&text).and_then(|table| table.arranged(recipe.columns));
    let table = table.context("what came is not the table")?;
    recipe.check(&table).context("what came is not the table")?;
    Ok(table)
}

/// Writes the table to a file, compressed.
fn keep(table: &Table, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut encoder = GzEncoder::new(AtomicFile::create(path)?, Compression::best());
    encoder.write_all(table.to_csv().as_bytes())?;
    encoder.finish()?.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use deepgp_io::table::{Schema, Source, Wanted};

    use super::*;
    use crate::arguments::value::duration::Seconds;
    use crate::data::server::{Reply, Server};
    use crate::data::unpack::tests::zipped;
    use crate::model::rows;
    use crate::terminal::output::Voice;

    /// A small table with the target first, as in UCI's file, and numbers in two ways of printing.
    const CSV: &str = "\"t\",\"a\",\"b\"\n17.284,1.0,100\n6.021,2.5,-0.0002\n9.275,3.0,7e3\n";
    const ARFF: &str = "@relation small\n@attribute t real\n@attribute a real\n@attribute b real\n@data\n\
                        1.7284e+01, 1.0e+00, 1e2\n6.021, 2.5, -2.0e-04\n9.275, 3, 7000\n";
    const KEPT: &str = "x0,x1,y\n1,100,17.284\n2.5,-0.0002,6.021\n3,7000,9.275\n";

    fn recipe() -> Recipe {
        Recipe {
            name: "small",
            addresses: &["https://nowhere.invalid/small.arff", "https://nowhere.invalid/copies/small.csv"],
            member: "inner.csv",
            columns: &[("x0", "a"), ("x1", "b"), ("y", "t")],
            rows: 3,
            // `sha256sum` of what is kept.
            sha256: "1503ca36793acf70ebcfa8b596680f92c350f45c5feacdfc8ce3e88d840d9be1",
            ..super::super::RECIPES[0]
        }
    }

    /// Fetches the small table from `server` into a folder.
    fn from(server: &Server, folder: &Path, force: bool) -> Result<Fetched> {
        let mirror = server.address.parse().unwrap();
        let order = Order { out: &folder.join("data"), mirror: Some(&mirror), force };
        fetch(&recipe(), &order, &Downloader::new(Seconds(10.0), true))
    }

    fn kept(folder: &Path) -> String {
        let file = std::fs::File::open(folder.join("data/small.csv.gz")).unwrap();
        std::io::read_to_string(flate2::read::GzDecoder::new(file)).unwrap()
    }

    #[test]
    fn a_table_is_fetched_once_and_again_when_forced() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::new(|_| Reply::Body(ARFF.into()));
        let first = from(&server, folder.path(), false).unwrap();
        assert_eq!(first.from, Some(Location::Address(format!("{}/small.arff", server.address))));
        assert_eq!(kept(folder.path()), KEPT);
        assert_eq!(std::fs::read_dir(folder.path().join("data")).unwrap().count(), 1);
        let bytes = std::fs::read(&first.path).unwrap();
        let second = from(&server, folder.path(), false).unwrap();
        assert_eq!((second.from, second.path), (None, first.path.clone()));
        assert_eq!(server.asked(), ["/small.arff"]);
        assert!(from(&server, folder.path(), true).unwrap().from.is_some());
        assert_eq!(server.asked(), ["/small.arff", "/small.arff"]);
        assert_eq!(std::fs::read(&first.path).unwrap(), bytes, "the same bytes each time");
    }

    #[test]
    fn every_form_of_the_file_gives_the_same_table() {
        for reply in [
            Reply::Body(ARFF.into()),
            Reply::Body(CSV.into()),
            Reply::Unsized(CSV.into()),
            Reply::Body(zipped("inner.csv", CSV)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            from(&Server::new(move |_| reply.clone()), folder.path(), false).unwrap();
            assert_eq!(kept(folder.path()), KEPT);
        }
    }

    #[test]
    fn a_redirection_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::new(|path| match path {
            "/elsewhere" => Reply::Body(CSV.into()),
            _ => Reply::Moved("/elsewhere".into()),
        });
        from(&server, folder.path(), false).unwrap();
        assert_eq!(server.asked(), ["/small.arff", "/elsewhere"]);
    }

    #[test]
    fn the_second_address_helps_out_if_the_first_fails_or_lies() {
        for wrong in [Reply::Status(503), Reply::Body(CSV.replace("17.284", "17.285").into())] {
            let folder = tempfile::tempdir().unwrap();
            let server = Server::new(move |path| match path {
                "/small.csv" => Reply::Body(CSV.into()),
                _ => wrong.clone(),
            });
            let fetched = from(&server, folder.path(), false).unwrap();
            assert_eq!(fetched.from, Some(Location::Address(format!("{}/small.csv", server.address))));
            assert_eq!(server.asked(), ["/small.arff", "/small.csv"]);
            assert_eq!(kept(folder.path()), KEPT);
        }
    }

    #[test]
    fn a_folder_will_do_for_a_server() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small.csv"), CSV).unwrap();
        let mirror = Mirror::Folder(folder.path().into());
        let order = Order { out: &folder.path().join("data"), mirror: Some(&mirror), force: false };
        let fetched = fetch(&recipe(), &order, &Downloader::new(Seconds(1.0), true)).unwrap();
        assert_eq!(fetched.from, Some(Location::File(folder.path().join("small.csv"))));
        assert_eq!(kept(folder.path()), KEPT);
    }

    #[test]
    fn a_copy_that_prints_numbers_otherwise_is_the_same_table_and_a_wrong_one_is_replaced_when_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/small.csv.gz");
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let server = Server::new(|_| Reply::Body(CSV.into()));
        // The reader goes by the bytes, so that it need not be compressed.
        std::fs::write(&path, KEPT.replace("7000", "7.000e3")).unwrap();
        assert!(from(&server, folder.path(), false).unwrap().from.is_none());
        std::fs::write(&path, KEPT.replace("7000", "7001")).unwrap();
        let told = format!("{:#}", from(&server, folder.path(), false).unwrap_err());
        assert!(told.contains("is not the table small") && told.contains("--force"), "{told}");
        assert_eq!(server.asked().len(), 0);
        from(&server, folder.path(), true).unwrap();
        assert_eq!(kept(folder.path()), KEPT);
    }

    #[test]
    fn the_other_commands_read_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let fetched = from(&Server::new(|_| Reply::Body(ARFF.into())), folder.path(), false).unwrap();
        let source = Source::open(&fetched.path).unwrap();
        let wanted = Wanted { targets: vec!["y".into()], ..Wanted::default() };
        let (schema, _) = Schema::scan(&source, &wanted).unwrap();
        assert_eq!(schema.feature_names(), ["x0", "x1"]);
        let data = rows::load(&schema, &source, rows::reading(Voice::SILENT)).unwrap().data;
        assert_eq!((data.x().row(1), data.y()[(1, 0)]), (&[2.5, -0.0002][..], 6.021));
    }
}
