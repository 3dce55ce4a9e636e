//! `deepgp serve`: answers requests for predictions over HTTP.

use std::net::TcpListener;

use anyhow::{Context, Result};
use deepgp_io::ModelFile;
use serde_json::json;

use crate::arguments::{ServeArgs, paths};
use crate::serve::{self, Predictions, Served};
use crate::terminal::abandon::Abandonable;
use crate::terminal::output::{self, Outcome};
use crate::terminal::text::count;

/// Serves a model until a signal asks for the end.
pub fn serve(args: ServeArgs) -> Result<Outcome> {
    let voice = args.voice;
    let opening = Abandonable::new(move || output::say(voice, "interrupted"));
    let mut file = ModelFile::load(&args.model)?;
    let schema = args.schema(&file);
    args.device.place(&mut file.regressor.model, voice)?;
    let predictions = Predictions::new(&file, schema, args.settings(), args.limits.limits())?;
    let listening =
        || format!("cannot listen on {}: name another address with --address, such as 127.0.0.1:0", args.address);
    let listener = TcpListener::bind(&args.address).with_context(listening)?;
    let address = listener.local_addr().with_context(listening)?;
    let (model, url) = (paths::file_name(&args.model), format!("http://{address}"));
    if !address.ip().is_loopback() {
        output::say(voice, "note: whoever reaches this address may ask: there is no password");
    }
    output::say(voice, &format!("{model} answers at {url}/predict (GET {url}/schema says what a row is; Ctrl-C ends)"));
    if voice.json {
        let (version, model) = (env!("CARGO_PKG_VERSION"), args.model.display().to_string());
        output::json(&json!({ "version": version, "model": model, "url": url }))?;
    }
    drop(opening);
    let Served { requests } = serve::serve(listener, &predictions, &serve::health(&model))?;
    output::say(voice, &format!("ended after {}", count(requests as usize, "request")));
    Ok(Outcome::Interrupted)
}
