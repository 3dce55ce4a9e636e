//! Whatever the text of a configuration file, reading it ends with options that are checked, or with an error.

use super::FitOptions;
use crate::mutation::Mutator;

/// An option of each kind: texts, lists, numbers, shares, durations, intervals, choices, truths.
const CONFIGURATION: &str = "target = ['price', 'rent']\nout = 'a.deepgp'\ntask = 'regression'\nignore = 'id'\nna = ['-', '?']\n\
    dates = 'day-first'\nmissing = 'mean'\nhidden-layers = 2\nmean-inducing = 100\ncovariance-inducing = 50\nnested = true\n\
    kernel = 'matern32'\nlikelihood = 'gaussian'\nnoise = 0.1\nobjective = 'predictive'\npower = 0.5\nsteps = 300\n\
    batch-size = 1000\nlearning-rate = 1e-2\nschedule = 'cosine'\nkl-weight = 1.0\nseed = 7\nprecision = 'mixed'\n\
    test = 'last:0.2:day'\nvalidation = 0.1\ncalibrate = false\npatience = 5\ntime-limit = '10m'\ncheckpoint-every = '30s'\n";

#[test]
fn mutations_of_a_configuration_are_options_or_errors() {
    let sound: FitOptions = toml::from_str(CONFIGURATION).unwrap();
    sound.check().unwrap();
    let (mut read, mut checked) = (0, 0);
    for seed in 0..20_000 {
        let text = Mutator::new(seed).mutate(CONFIGURATION.as_bytes(), CONFIGURATION.as_bytes());
        let Ok(options) = toml::from_str::<FitOptions>(&String::from_utf8_lossy(&text)) else { continue };
        read += 1;
        if options.check().is_ok() {
            checked += 1;
            // What a fit makes of them, for however many rows.
            for rows in [0, 1, 1000, usize::MAX] {
                options.settings(rows).train.check().unwrap();
            }
        }
    }
    assert!(read > 1000 && checked > 500 && checked < read, "{read} {checked}");
}
