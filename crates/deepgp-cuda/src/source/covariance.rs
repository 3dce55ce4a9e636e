//! A covariance function as CUDA text.
//!
//! Sums and products of kernels nest, so the function that a kernel matrix needs is not known when this program is built: it is
//! written out here from the [`KernelForm`], and compiled with the input width as a constant. A *leaf* is one of the stationary kernels
//! that it is made of.

use std::fmt::Write;
use std::ops::Range;

use deepgp::KernelChoice;
use deepgp::kernel::KernelForm;

use super::Source;
use crate::device::real::Real;
use crate::fault::Outcome;
use crate::kernels::Covariance;
use crate::kernels::covariance::COLUMNS_AT_ONCE;
use crate::model::parameter_list::{ParameterList, joined};

/// A covariance function over inputs of one width, as its program needs it.
#[derive(Clone, Debug)]
pub struct CovarianceText {
    /// How many stationary kernels it is made of.
    pub leaves: usize,
    /// Whether distances come as matrix products.
    pub products: bool,
    /// Whether a kernel matrix of inducing inputs is pulled back and summed in one kernel, `gram_sums`.
    pub sums_at_once: bool,
    /// What was written out for it.
    function: String,
}

impl CovarianceText {
    /// Writes out the functions of a kernel whose parameters are listed under `name`; also gives the range of them all.
    pub fn new(form: &KernelForm, width: usize, name: &str, list: &mut ParameterList) -> Outcome<(Self, Range<usize>)> {
        let (mut leaves, mut ranges) = (Vec::new(), Vec::new());
        for (choice, path) in paths(form, name) {
            let profile = profile(choice);
            let mut take = |parameter: &str, len: usize| -> Outcome<usize> {
                let range = list.take(&format!("{path}.{parameter}"), len)?;
                ranges.push(range.clone());
                Ok(range.start)
            };
            let (lengthscales, variance) = (take("lengthscales", width)?, take("variance", 1)?);
            let shape = profile.shape.map(|parameter| take(parameter, 1)).transpose()?;
            leaves.push(Leaf { profile, lengthscales, variance, shape });
        }
        let theta = joined(&ranges)?;
        let products = width > COLUMNS_AT_ONCE && !leaves.iter().any(|leaf| leaf.profile.kink);
        let from_value = matches!(&leaves[..], [one] if one.profile.slope_from_value);
        let function = write_out(form, &leaves, width, (products, from_value), theta.start);
        Ok((Self { leaves: leaves.len(), products, sums_at_once: from_value && !products, function }, theta))
    }

    /// The whole text of its kernels, for rows of type `T`.
    pub fn source<T: Real>(&self) -> Source<Covariance> {
        Source::covariance::<T>(&self.function)
    }

    /// A kernel by itself, at its starting parameters.
    #[cfg(test)]
    pub fn alone(form: &KernelForm, width: usize) -> Self {
        let mut list = ParameterList::of_part("kernel", &mut *form.start(width).unwrap());
        let (text, theta) = Self::new(form, width, "kernel", &mut list).unwrap();
        assert_eq!(theta.start, 0);
        list.finish().unwrap();
        text
    }
}

/// A stationary kernel, and where its parameters stand in the flat vector.
struct Leaf {
    profile: Profile,
    lengthscales: usize,
    variance: usize,
    shape: Option<usize>,
}

/// What must be known of a stationary kernel beside its functions in `profiles.cu`.
struct Profile {
    /// Its name there.
    name: &'static str,
    /// The name of its shape parameter, if it has one.
    shape: Option<&'static str>,
    /// Whether it has a kink at 0, so that rounding in `r²` matters there.
    kink: bool,
    /// Whether its slope is −½ of its value, so that the pullback need not compute distances again.
    slope_from_value: bool,
}

fn profile(choice: KernelChoice) -> Profile {
    let smooth = |name| Profile { name, shape: None, kink: false, slope_from_value: false };
    match choice {
        KernelChoice::SquaredExponential => Profile { slope_from_value: true, ..smooth("SquaredExponential") },
        KernelChoice::Matern12 => Profile { kink: true, ..smooth("Matern12") },
        KernelChoice::Matern32 => smooth("Matern32"),
        KernelChoice::Matern52 => smooth("Matern52"),
        KernelChoice::RationalQuadratic => Profile { shape: Some("alpha"), ..smooth("RationalQuadratic") },
    }
}

/// The leaves of a kernel, and the names that their parameters are listed under.
fn paths(form: &KernelForm, name: &str) -> Vec<(KernelChoice, String)> {
    match form {
        KernelForm::One(choice) => vec![(*choice, name.to_string())],
        KernelForm::Sum(parts) | KernelForm::Product(parts) => {
            let part = |(i, part): (usize, &KernelForm)| paths(part, &format!("{name}.{i}"));
            parts.iter().enumerate().flat_map(part).collect()
        }
    }
}

/// What `covariance.cu` expects before it; the kernel's parameters start at `first` of the flat vector.
fn write_out(
    form: &KernelForm,
    leaves: &[Leaf],
    width: usize,
    (products, from_value): (bool, bool),
    first: usize,
) -> String {
    let mut text = String::new();
    let (products, from_value) = (u8::from(products), u8::from(from_value));
    let _ = writeln!(text, "#define D {width}\n#define LEAVES {}\n#define PRODUCTS {products}", leaves.len());
    let _ = writeln!(text, "#define FROM_VALUE {from_value}");
    let (last, before) = leaves.split_last().expect("a kernel has a leaf");
    let mut by_leaf = |head: &str, each: &dyn Fn(&Leaf) -> String| {
        let _ = writeln!(text, "{head} {{\n    switch (leaf) {{");
        for (i, leaf) in before.iter().enumerate() {
            let _ = writeln!(text, "    case {i}: return {};", each(leaf));
        }
        let _ = writeln!(text, "    default: return {};\n    }}\n}}", each(last));
    };
    let inline = "__device__ __forceinline__";
    by_leaf(&format!("{inline} int lengthscales_at(int leaf)"), &|leaf| (leaf.lengthscales - first).to_string());
    by_leaf(&format!("{inline} int variance_at(int leaf)"), &|leaf| (leaf.variance - first).to_string());
    by_leaf(&format!("{inline} int shape_at(int leaf)"), &|leaf| leaf.shape.map_or(0, |at| at - first).to_string());
    by_leaf(&format!("{inline} bool shaped(int leaf)"), &|leaf| leaf.shape.is_some().to_string());
    by_leaf(&format!("template <class T> {inline} T profile(int leaf, T r2, T shape)"), &|leaf| {
        format!("{}<T>::value(r2, shape)", leaf.profile.name)
    });
    by_leaf(&format!("template <class T> {inline} T slope(int leaf, T r2, T g, T shape)"), &|leaf| {
        format!("{}<T>::slope(r2, g, shape)", leaf.profile.name)
    });
    by_leaf(&format!("template <class T> {inline} T shape_slope(int leaf, T r2, T g, T shape)"), &|leaf| {
        format!("{}<T>::shape_slope(r2, g, shape)", leaf.profile.name)
    });
    let whole = expression(form, 0);
    let _ = writeln!(text, "template <class T> {inline} T combine(const T *v) {{ return {whole}; }}");
    let _ = writeln!(text, "template <class T> {inline} void shares(const T *v, T *share) {{");
    for leaf in 0..leaves.len() {
        let _ = writeln!(text, "    share[{leaf}] = {};", derivative(form, 0, leaf));
    }
    text.push_str("}\n");
    text
}

/// How many leaves a form has.
fn count(form: &KernelForm) -> usize {
    match form {
        KernelForm::One(_) => 1,
        KernelForm::Sum(parts) | KernelForm::Product(parts) => parts.iter().map(count).sum(),
    }
}

/// The parts of a form, each with the number of its first leaf.
fn numbered(parts: &[KernelForm], first: usize) -> impl Iterator<Item = (usize, &KernelForm)> {
    let mut at = first;
    parts.iter().map(move |part| {
        let own = at;
        at += count(part);
        (own, part)
    })
}

/// `k` in terms of the leaves' values `v`, which are numbered from `first`.
fn expression(form: &KernelForm, first: usize) -> String {
    let join = |parts: &[KernelForm], by: &str| {
        let parts: Vec<String> = numbered(parts, first).map(|(own, part)| expression(part, own)).collect();
        format!("({})", parts.join(by))
    };
    match form {
        KernelForm::One(_) => format!("v[{first}]"),
        KernelForm::Sum(parts) => join(parts, " + "),
        KernelForm::Product(parts) => join(parts, " * "),
    }
}

/// `∂k/∂v` of leaf `leaf`; the form's own leaves are numbered from `first`.
fn derivative(form: &KernelForm, first: usize, leaf: usize) -> String {
    let has_leaf = |own: usize, part: &KernelForm| (own..own + count(part)).contains(&leaf);
    let factors: Vec<String> = match form {
        KernelForm::One(_) => return "T(1)".into(),
        KernelForm::Sum(parts) => numbered(parts, first)
            .filter(|(own, part)| has_leaf(*own, part))
            .map(|(own, part)| derivative(part, own, leaf))
            .collect(),
        KernelForm::Product(parts) => numbered(parts, first)
            .map(|(own, part)| if has_leaf(own, part) { derivative(part, own, leaf) } else { expression(part, own) })
            .collect(),
    };
    format!("({})", factors.join(" * "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested() -> KernelForm {
        let one = KernelForm::One;
        let product = KernelForm::Product(vec![one(KernelChoice::Matern32), one(KernelChoice::RationalQuadratic)]);
        KernelForm::Sum(vec![one(KernelChoice::SquaredExponential), product])
    }

    #[test]
    fn a_nested_kernel_is_written_out_with_its_derivatives() {
        let mut list = ParameterList::of_part("kernel", &mut *nested().start(3).unwrap());
        let (text, theta) = CovarianceText::new(&nested(), 3, "kernel", &mut list).unwrap();
        assert_eq!((text.leaves, theta), (3, 0..4 + 4 + 5));
        for line in [
            "#define D 3",
            "#define FROM_VALUE 0",
            "return (v[0] + (v[1] * v[2]));",
            "share[0] = (T(1));",
            "share[1] = ((T(1) * v[2]));",
            "share[2] = ((v[1] * T(1)));",
        ] {
            assert!(text.function.contains(line), "`{line}` is missing in\n{}", text.function);
        }
        let deeper = KernelForm::Product(vec![KernelForm::One(KernelChoice::Matern52), nested()]);
        assert_eq!(derivative(&deeper, 0, 0), "(T(1) * (v[1] + (v[2] * v[3])))");
        assert_eq!(derivative(&deeper, 0, 3), "(v[0] * ((v[2] * T(1))))");
    }

    #[test]
    fn parameters_stand_where_the_librarys_list_has_them() {
        let text = CovarianceText::alone(&nested(), 3).function;
        let places = |name: &str| -> Vec<String> {
            let body = text.split(&format!("int {name}(int leaf)")).nth(1).unwrap().split("    }\n").next().unwrap();
            body.split("return ").skip(1).map(|rest| rest.split(';').next().unwrap().to_string()).collect()
        };
        assert_eq!(places("lengthscales_at"), ["0", "4", "8"]);
        assert_eq!(places("variance_at"), ["3", "7", "11"]);
        assert_eq!(places("shape_at"), ["0", "0", "12"]);
    }

    #[test]
    fn wide_inputs_are_taken_by_products_unless_there_is_a_kink() {
        let products = |choice, width| CovarianceText::alone(&KernelForm::One(choice), width).products;
        assert!(!products(KernelChoice::SquaredExponential, COLUMNS_AT_ONCE));
        assert!(products(KernelChoice::SquaredExponential, COLUMNS_AT_ONCE + 1));
        assert!(!products(KernelChoice::Matern12, COLUMNS_AT_ONCE + 1));
    }
}
