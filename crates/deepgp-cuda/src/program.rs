//! Kernels as text, and their compilation when a model is taken on board.
//!
//! Sums and products of kernels nest, so the function that a kernel matrix needs is not known when this program is built: it is
//! written out here from the [`KernelForm`], and compiled with the input width as a constant.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use deepgp::KernelChoice;
use deepgp::kernel::KernelForm;

use crate::fault::Outcome;

const COMMON: &str = include_str!("kernels/common.cu");
const MATRIX: &str = include_str!("kernels/matrix.cu");
const SYMMETRIC: &str = include_str!("kernels/symmetric.cu");
const ROWS: &str = include_str!("kernels/rows.cu");
const OPTIMISER: &str = include_str!("kernels/optimiser.cu");
const PROFILES: &str = include_str!("kernels/profiles.cu");
const COVARIANCE: &str = include_str!("kernels/covariance.cu");

/// The compute capability that has clusters of blocks and fast matrix units for doubles, and the kernels that need them.
const HOPPER: i32 = 9;
pub const FACTOR: &str = "factor_lower";
pub const SYMMETRIC_SUMS: &str = "symmetric_sums";

/// From so many input columns on, distances are taken by matrix products.
const MANY_COLUMNS: usize = 32;

/// The text of everything that no kernel function occurs in, for rows of type `real`.
pub fn general_source(real: &str) -> String {
    let double = u8::from(real == "double");
    format!("#define REAL {real}\n#define DOUBLE {double}\n{COMMON}{MATRIX}{SYMMETRIC}{ROWS}{OPTIMISER}")
}

/// A kernel over inputs of one width, as its program needs it.
#[derive(Clone, Debug)]
pub struct KernelText {
    /// How many stationary kernels it is made of.
    pub leaves: usize,
    /// How many parameters it has.
    pub parameters: usize,
    /// Whether distances come as matrix products.
    pub products: bool,
    source: String,
}

impl KernelText {
    /// Writes out the functions of a kernel.
    pub fn new(form: &KernelForm, width: usize) -> Self {
        let mut choices = Vec::new();
        let expression = expression(form, &mut choices);
        let products = width > MANY_COLUMNS && !choices.contains(&KernelChoice::Matern12);
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
        Self { leaves, parameters: at, products, source }
    }

    /// The whole text, for rows of type `real`.
    pub fn source(&self, real: &str) -> String {
        format!("#define REAL {real}\n{COMMON}{PROFILES}{}{COVARIANCE}", self.source)
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

/// Compiled kernels, by name.
#[derive(Debug)]
pub struct Program(HashMap<&'static str, CudaFunction>);

impl Program {
    /// Compiles `source` for the device and finds the kernels of these names.
    pub fn compile(context: &Arc<CudaContext>, source: &str, names: &[&'static str]) -> Outcome<Self> {
        let (major, minor) = context.compute_capability()?;
        let options = CompileOptions {
            options: vec![format!("--gpu-architecture=compute_{major}{minor}"), "--std=c++17".into()],
            ..CompileOptions::default()
        };
        let module = context.load_module(compile_ptx_with_opts(source, options)?)?;
        let named = |&name| Ok((name, module.load_function(name)?));
        let mut kernels = names.iter().map(named).collect::<Outcome<HashMap<_, _>>>()?;
        if major >= HOPPER && source.contains(FACTOR) {
            kernels.insert(FACTOR, module.load_function(FACTOR)?);
            if source.contains("#define DOUBLE 1") {
                kernels.insert(SYMMETRIC_SUMS, module.load_function(SYMMETRIC_SUMS)?);
            }
        }
        Ok(Self(kernels))
    }

    /// Lets blocks of a kernel ask for so many bytes of shared memory.
    pub fn allow_shared(&self, name: &str, bytes: usize) -> Outcome<()> {
        use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as SHARED;
        Ok(self.get(name).set_attribute(SHARED, bytes as i32)?)
    }

    /// A kernel that not every device has.
    pub fn find(&self, name: &str) -> Option<&CudaFunction> {
        self.0.get(name)
    }

    /// A kernel of it.
    pub fn get(&self, name: &str) -> &CudaFunction {
        self.0.get(name).expect("a kernel of the list it was compiled with")
    }
}

/// The kernels of [`general_source`].
pub const GENERAL: &[&str] = &[
    "invert_lower",
    "narrow",
    "dot",
    "add_kl",
    "scale_rows",
    "add_row_dots",
    "complement",
    "add_identity",
    "covariance_kl",
    "dual_kl",
    "finish_factor",
    "clear_above",
    "mirror_half",
    "dual_h_bar",
    "sum_chunks",
    "sum_wide_chunks",
    "sum_triangles",
    "with_ones",
    "gather",
    "moments",
    "sample",
    "gaussian",
    "through_variance",
    "sample_pullback",
    "weighted_squares",
    "check_finite",
    "decide",
    "ascend",
    "constrain",
    "advance",
];

/// The kernels of [`KernelText::source`].
pub const COVARIANCES: &[&str] = &[
    "prior",
    "norms",
    "wide_norms",
    "cross",
    "weigh",
    "gram",
    "weigh_gram",
    "input_gradient",
    "inducing_gradient",
    "theta_gradient",
];

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
        let text = KernelText::new(&nested(), 3);
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
            assert!(text.source.contains(line), "`{line}` is missing in\n{}", text.source);
        }
        let deeper = KernelForm::Product(vec![KernelForm::One(KernelChoice::Matern52), nested()]);
        assert_eq!(derivative(&deeper, 0, 0), "(T(1) * (v[1] + (v[2] * v[3])))");
        assert_eq!(derivative(&deeper, 0, 3), "(v[0] * ((v[2] * T(1))))");
    }

    #[test]
    fn both_sides_count_alike() {
        use crate::{chunks, prologue, rows};
        let general = general_source("double");
        for (name, value) in [
            ("CLUSTER", prologue::CLUSTER),
            ("FACTOR_WARPS", prologue::FACTOR_WARPS),
            ("STRIP", prologue::STRIP),
            ("SIDE", chunks::SIDE),
            ("GROUP", chunks::GROUP),
            ("UNDER_WAY", rows::UNDER_WAY),
        ] {
            assert!(general.contains(&format!("#define {name} {value}\n")), "{name}");
        }
        let (first, second) = (deepgp::Adam::BETA_1, deepgp::Adam::BETA_2);
        assert!(
            general
                .contains(&format!("{first} * m + (1 - {first}) * g, new_v = {second} * v + (1 - {second}) * g * g"))
        );
        assert!(general.contains(&format!("+ {:e})", deepgp::Adam::EPSILON)));
        let covariance = KernelText::new(&nested(), 3).source("float");
        assert!(covariance.contains("#define ROWS 32\n#define COLUMNS 64\n"));
    }

    #[test]
    fn wide_inputs_are_taken_by_products_unless_there_is_a_kink() {
        let products = |choice, width| KernelText::new(&KernelForm::One(choice), width).products;
        assert!(!products(KernelChoice::SquaredExponential, MANY_COLUMNS));
        assert!(products(KernelChoice::SquaredExponential, MANY_COLUMNS + 1));
        assert!(!products(KernelChoice::Matern12, MANY_COLUMNS + 1));
    }

    #[test]
    #[allow(unsafe_code, clippy::explicit_write, reason = "the test harness would swallow `eprintln`")]
    fn everything_compiles_where_there_is_a_compiler() {
        use std::io::Write as _;
        // SAFETY: this looks for a library and runs nothing of it but its initialisation.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            writeln!(std::io::stderr(), "SKIPPED: compiling kernels: there is no libnvrtc").unwrap();
            return;
        }
        for (real, arch) in [("double", "compute_90"), ("float", "compute_90"), ("double", "compute_80")] {
            let mut sources = vec![general_source(real)];
            sources.extend([1, 10, 40].map(|width| KernelText::new(&nested(), width).source(real)));
            for source in sources {
                let options = CompileOptions {
                    options: vec![format!("--gpu-architecture={arch}"), "--std=c++17".into()],
                    ..CompileOptions::default()
                };
                compile_ptx_with_opts(source, options).unwrap();
            }
        }
    }
}
