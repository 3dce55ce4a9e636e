//! `deepgp data`: fetches public tables, and lists those that can be fetched.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::arguments::{DataCommand, FetchArgs, ListArgs};
use crate::data::{Downloader, Fetched, Order, RECIPES, Recipe, fetch};
use crate::terminal::output::{self, Outcome};
use crate::terminal::text;

/// Runs a command of `deepgp data`.
pub fn data(command: &DataCommand) -> Result<Outcome> {
    match command {
        DataCommand::Fetch(args) => fetch_all(args),
        DataCommand::List(args) => list(args),
    }
}

/// Fetches each of the tables; one that cannot be had does not keep the others away.
fn fetch_all(args: &FetchArgs) -> Result<Outcome> {
    let voice = args.voice;
    let downloader = Downloader::new(args.timeout, voice.quiet);
    let order = Order { out: &args.out, mirror: args.from.as_ref(), force: args.force };
    let (mut told, mut failures) = (Vec::new(), Vec::new());
    for name in &args.names {
        let recipe = Recipe::find(name).with_context(|| format!("there is no recipe for {name}"))?;
        let Fetched { path, from } = match fetch(recipe, &order, &downloader) {
            Ok(fetched) => fetched,
            Err(error) => {
                failures.push(format!("{error:#}"));
                continue;
            }
        };
        let place = path.display().to_string();
        let from = from.map(|location| location.to_string());
        let news = match &from {
            None => format!("{name} is there already: {place}"),
            Some(from) => format!("{name}: {} rows, {} inputs, from {from} to {place}", recipe.rows, recipe.inputs()),
        };
        output::say(voice, &news);
        told.push(json!({
            "name": name,
            "path": place,
            "from": from,
            "rows": recipe.rows,
            "inputs": recipe.inputs(),
            "sha256": recipe.sha256,
        }));
    }
    if voice.json {
        output::json(&json!({ "tables": told, "version": env!("CARGO_PKG_VERSION") }))?;
    }
    if failures.is_empty() { Ok(Outcome::Done) } else { bail!("{}", failures.join("\n")) }
}

/// Lists the tables that can be fetched.
fn list(args: &ListArgs) -> Result<Outcome> {
    if args.json {
        let tables: Vec<Value> = RECIPES
            .iter()
            .map(|recipe| {
                json!({
                    "name": recipe.name,
                    "about": recipe.about,
                    "rows": recipe.rows,
                    "inputs": recipe.inputs(),
                    "licence": recipe.licence,
                    "page": recipe.page,
                    "addresses": recipe.addresses,
                    "sha256": recipe.sha256,
                })
            })
            .collect();
        output::json(&json!({ "tables": tables, "version": env!("CARGO_PKG_VERSION") }))?;
        return Ok(Outcome::Done);
    }
    let mut lines = vec![["name", "rows", "inputs"].map(String::from).to_vec()];
    lines.extend(RECIPES.iter().map(|r| vec![r.name.into(), r.rows.to_string(), r.inputs().to_string()]));
    let mut shown = text::table(&lines);
    for recipe in RECIPES {
        shown.push_str(&format!("\n{}: {}\n", recipe.name, recipe.about));
        shown.push_str(&format!("  page     {}\n  licence  {}\n", recipe.page, recipe.licence));
    }
    output::print_text(&shown)?;
    Ok(Outcome::Done)
}
