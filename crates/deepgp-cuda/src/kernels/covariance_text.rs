//! A covariance function as CUDA text.
//!
//! Sums and products of kernels nest, so the function that a kernel matrix needs is not known when this program is built: it is
//! written out here from the [`KernelForm`], and compiled with the input width as a constant.

use std::fmt::Write;

use deepgp::KernelChoice;
use deepgp::kernel::KernelForm;

use super::covariance::COLUMNS_AT_ONCE;
use super::{Covariance, Source};
use crate::device::real::Real;

/// A kernel over inputs of one width, as its program needs it.
#[derive(Clone, Debug)]
pub struct CovarianceText {
    /// How many stationary kernels it is made of.
    pub leaves: usize,
    /// How many parameters it has.
    pub parameters: usize,
    /// Whether distances come as matrix products.
    pub products: bool,
    /// What was written out for it.
    function: String,
}

impl CovarianceText {
    /// Writes out the functions of a kernel.
    pub fn new(form: &KernelForm, width: usize) -> Self {
        let mut choices = Vec::new();
        let expression = expression(form, &mut choices);
        let products = width > COLUMNS_AT_ONCE && !choices.contains(&KernelChoice::Matern12);
        let (mut offsets, mut at) = (Vec::new(), 0);
        for choice in &choices {
            offsets.push(at);
            at += width + 1 + usize::from(shaped(*choice));
        }
        let leaves = choices.len();
        let mut source =
            format!("#define D {width}\n#define LEAVES {leaves}\n#define PRODUCTS {}\n", u8::from(products));
        let from_value = choices == [KernelChoice::SquaredExponential];
        let _ = writeln!(source, "#define FROM_VALUE {}", u8::from(from_value));
        let mut by_leaf = |head: &str, each: &dyn Fn(usize) -> String| {
            let _ = write!(source, "{head} {{\n    switch (leaf) {{\n");
            for leaf in 0..leaves {
                let _ = writeln!(source, "    case {leaf}: return {};", each(leaf));
            }
            let _ = write!(source, "    }}\n    return 0;\n}}\n");
        };
        let inline = "__device__ __forceinline__";
        let name = |leaf: usize| type_name(choices[leaf]);
        by_leaf(&format!("{inline} int offset(int leaf)"), &|i| offsets[i].to_string());
        by_leaf(&format!("{inline} bool shaped(int leaf)"), &|i| shaped(choices[i]).to_string());
        by_leaf(&format!("template <class T> {inline} T profile(int leaf, T r2, T shape)"), &|i| {
            format!("{}<T>::value(r2, shape)", name(i))
        });
        by_leaf(&format!("template <class T> {inline} T slope(int leaf, T r2, T g, T shape)"), &|i| {
            format!("{}<T>::slope(r2, g, shape)", name(i))
        });
        by_leaf(&format!("template <class T> {inline} T shape_slope(int leaf, T r2, T g, T shape)"), &|i| {
            format!("{}<T>::shape_slope(r2, g, shape)", name(i))
        });
        let _ = writeln!(source, "template <class T> {inline} T combine(const T *v) {{ return {expression}; }}");
        let _ = writeln!(source, "template <class T> {inline} void shares(const T *v, T *share) {{");
        for leaf in 0..leaves {
            let _ = writeln!(source, "    share[{leaf}] = {};", derivative(form, 0, leaf));
        }
        source.push_str("}\n");
        Self { leaves, parameters: at, products, function: source }
    }

    /// The whole text of its kernels, for rows of type `T`.
    pub fn source<T: Real>(&self) -> Source<Covariance> {
        Source::covariance::<T>(&self.function)
    }
}

fn shaped(choice: KernelChoice) -> bool {
    choice == KernelChoice::RationalQuadratic
}

fn type_name(choice: KernelChoice) -> &'static str {
    match choice {
        KernelChoice::SquaredExponential => "SquaredExponential",
        KernelChoice::Matern12 => "Matern12",
        KernelChoice::Matern32 => "Matern32",
        KernelChoice::Matern52 => "Matern52",
        KernelChoice::RationalQuadratic => "RationalQuadratic",
    }
}

/// `k` in terms of the leaves' values `v`; adds the leaves to `choices`.
fn expression(form: &KernelForm, choices: &mut Vec<KernelChoice>) -> String {
    let mut join = |parts: &[KernelForm], by: &str| {
        let parts: Vec<String> = parts.iter().map(|part| expression(part, choices)).collect();
        format!("({})", parts.join(by))
    };
    match form {
        KernelForm::One(choice) => {
            choices.push(*choice);
            format!("v[{}]", choices.len() - 1)
        }
        KernelForm::Sum(parts) => join(parts, " + "),
        KernelForm::Product(parts) => join(parts, " * "),
    }
}

/// How many leaves a form has.
fn count(form: &KernelForm) -> usize {
    match form {
        KernelForm::One(_) => 1,
        KernelForm::Sum(parts) | KernelForm::Product(parts) => parts.iter().map(count).sum(),
    }
}

/// `∂k/∂v` of leaf `leaf`; the form's own leaves are numbered from `first`.
fn derivative(form: &KernelForm, first: usize, leaf: usize) -> String {
    let (KernelForm::Sum(parts) | KernelForm::Product(parts)) = form else { return "T(1)".into() };
    let (mut at, mut factors) = (first, Vec::new());
    for part in parts {
        let own = at..at + count(part);
        if own.contains(&leaf) {
            factors.push(derivative(part, own.start, leaf));
        } else if matches!(form, KernelForm::Product(_)) {
            factors.push(renumbered(part, own.start));
        }
        at = own.end;
    }
    format!("({})", factors.join(" * "))
}

/// [`expression`] of a part whose leaves are numbered from `first`.
fn renumbered(form: &KernelForm, first: usize) -> String {
    // Leaves before it are stood in for.
    let mut choices = vec![KernelChoice::SquaredExponential; first];
    expression(form, &mut choices)
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
        let text = CovarianceText::new(&nested(), 3);
        assert_eq!((text.leaves, text.parameters), (3, 4 + 4 + 5));
        for line in [
            "#define D 3",
            "#define FROM_VALUE 0",
            "case 2: return 8;",
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
    fn wide_inputs_are_taken_by_products_unless_there_is_a_kink() {
        let products = |choice, width| CovarianceText::new(&KernelForm::One(choice), width).products;
        assert!(!products(KernelChoice::SquaredExponential, COLUMNS_AT_ONCE));
        assert!(products(KernelChoice::SquaredExponential, COLUMNS_AT_ONCE + 1));
        assert!(!products(KernelChoice::Matern12, COLUMNS_AT_ONCE + 1));
    }
}
