//! All text is given to NVIDIA's run-time compiler, which needs no GPU. Where there is no compiler, the test says that it was skipped.

use std::io::Write as _;

use cudarc::nvrtc::compile_ptx_with_opts;
use deepgp::KernelChoice;
use deepgp::ObjectiveForm;
use deepgp::kernel::KernelForm;
use deepgp::likelihood::{LikelihoodDescription, Link};

use super::Source;
use super::covariance::CovarianceText;
use super::data_term::LikelihoodText;
use super::data_term_on_host::others;
use crate::device::program::options;
use crate::device::real::Real;
use crate::kernels::{Covariance, DataTerm, General};
use crate::launch::Group;

/// Every covariance function alone, at a width whose distances are differences and at one where they are products; and a sum with a
/// product in it.
fn covariances() -> Vec<CovarianceText> {
    let choices = [
        KernelChoice::SquaredExponential,
        KernelChoice::Matern12,
        KernelChoice::Matern32,
        KernelChoice::Matern52,
        KernelChoice::RationalQuadratic,
    ];
    let product = KernelForm::Product(vec![KernelForm::One(choices[2]), KernelForm::One(choices[4])]);
    let nested = KernelForm::Sum(vec![KernelForm::One(choices[0]), product]);
    let wide = [(KernelForm::One(choices[0]), 40), (nested.clone(), 40), (nested, 1)];
    let forms = choices.map(|choice| (KernelForm::One(choice), 10)).into_iter().chain(wide);
    forms.map(|(form, width)| CovarianceText::alone(&form, width)).collect()
}

/// Every likelihood with every objective that it can be trained by.
fn data_terms<T: Real>() -> Vec<Source<DataTerm>> {
    let outputs = 2;
    let likelihoods = [
        LikelihoodDescription::Gaussian { outputs },
        LikelihoodDescription::Heteroscedastic { outputs },
        LikelihoodDescription::StudentT { outputs },
        LikelihoodDescription::Bernoulli { link: Link::Probit },
        LikelihoodDescription::Bernoulli { link: Link::Logit },
        LikelihoodDescription::Softmax { classes: 2 },
        LikelihoodDescription::Softmax { classes: 10 },
        LikelihoodDescription::Ordered { classes: 2 },
        LikelihoodDescription::Ordered { classes: 5 },
        LikelihoodDescription::Poisson,
        LikelihoodDescription::NegativeBinomial,
    ];
    let objectives = [ObjectiveForm::Elbo, ObjectiveForm::PREDICTIVE];
    let pairs = likelihoods.into_iter().flat_map(|likelihood| objectives.map(|objective| (likelihood, objective)));
    let faithful = (likelihoods[1], ObjectiveForm::Faithful { power: 1.0, hold: 0.5, release: 1.0 });
    let pairs = pairs.chain([(likelihoods[0], ObjectiveForm::Tighter), faithful]);
    pairs.map(|(likelihood, objective)| LikelihoodText::new(likelihood).source::<T>(objective)).collect()
}

/// Compiles a source for an architecture, and looks for every kernel that a device of it can run.
fn compiles<G: Group>(source: &Source<G>, architecture: i32) {
    let ptx = compile_ptx_with_opts(&source.text, options(&format!("compute_{architecture}")))
        .unwrap_or_else(|error| panic!("{}", crate::fault::Fault::from(error).on("the compiler")));
    let ptx = ptx.to_src();
    for kernel in G::KERNELS.iter().copied().flatten() {
        let there = kernel.needs.met(architecture / 10, source.is_double);
        assert_eq!(ptx.contains(&format!(".entry {}(", kernel.name)), there, "{} for {architecture}", kernel.name);
    }
}

/// Compiles every source with rows of one type.
fn all_compile<T: Real>(architecture: i32) {
    compiles::<General>(&Source::general::<T>(), architecture);
    for data_term in data_terms::<T>() {
        compiles::<DataTerm>(&data_term, architecture);
    }
    compiles::<DataTerm>(&others::<T>(), architecture);
    for covariance in covariances() {
        compiles::<Covariance>(&covariance.source::<T>(), architecture);
    }
}

#[test]
#[allow(unsafe_code, clippy::explicit_write, reason = "the test harness would swallow `eprintln`")]
fn everything_compiles_where_there_is_a_compiler() {
    // SAFETY: this looks for a library and runs nothing of it but its initialisation.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        writeln!(std::io::stderr(), "SKIPPED: compiling kernels: there is no libnvrtc").unwrap();
        return;
    }
    all_compile::<f64>(90);
    all_compile::<f32>(90);
    all_compile::<f64>(80);
}
