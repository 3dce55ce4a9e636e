//! Graphs of operators, built one operator at a time. Every tensor is of `f64`; the shapes that some operators ask for are constants.

use deepgp::Mat;

/// A tensor in a graph, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor(String);

impl Tensor {
    /// The tensor of this name that the graph is given.
    pub fn input(name: &str) -> Self {
        Self(name.into())
    }
}

/// An attribute of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A whole number.
    Integer(&'static str, i64),
}

/// An operator with what it reads and what it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The operator's name.
    pub operator: &'static str,
    /// The tensors that it reads.
    pub inputs: Vec<String>,
    /// The tensor that it makes.
    pub output: String,
    /// What else it needs to know.
    pub attribute: Option<Attribute>,
}

/// A tensor that the graph has from the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its entries, row-major.
    pub entries: Entries,
}

/// The entries of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Entries {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Whole numbers: shapes and axes.
    Integers(Vec<i64>),
}

/// Operators in an order in which they can be computed, and constants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The operators.
    pub nodes: Vec<Node>,
    /// The constants.
    pub constants: Vec<Constant>,
}

impl Graph {
    /// A constant of this shape.
    pub fn constant(&mut self, shape: &[usize], entries: &[f64]) -> Tensor {
        assert_eq!(shape.iter().product::<usize>(), entries.len(), "a constant fills its shape");
        self.add_constant(shape.to_vec(), Entries::Numbers(entries.to_vec()))
    }

    /// A constant number, which fits any shape.
    pub fn number(&mut self, value: f64) -> Tensor {
        self.constant(&[], &[value])
    }

    /// A constant row, `[1, P]`.
    pub fn row(&mut self, entries: &[f64]) -> Tensor {
        self.constant(&[1, entries.len()], entries)
    }

    /// A constant matrix.
    pub fn matrix(&mut self, entries: &Mat) -> Tensor {
        self.constant(&[entries.nrows(), entries.ncols()], entries.as_slice())
    }

    /// `a + b`, where a side of length 1 is repeated; as in all that follows.
    pub fn add(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.node("Add", &[a, b])
    }

    /// `a − b`.
    pub fn subtract(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.node("Sub", &[a, b])
    }

    /// `a ∘ b`.
    pub fn multiply(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.node("Mul", &[a, b])
    }

    /// `a / b`.
    pub fn divide(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.node("Div", &[a, b])
    }

    /// `a` times a number.
    pub fn scale(&mut self, a: &Tensor, by: f64) -> Tensor {
        let by = self.number(by);
        self.multiply(a, &by)
    }

    /// `a` plus a number.
    pub fn shift(&mut self, a: &Tensor, by: f64) -> Tensor {
        let by = self.number(by);
        self.add(a, &by)
    }

    /// The matrix product `a b`.
    pub fn product(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.node("MatMul", &[a, b])
    }

    /// `exp a`.
    pub fn exp(&mut self, a: &Tensor) -> Tensor {
        self.node("Exp", &[a])
    }

    /// `ln a`.
    pub fn ln(&mut self, a: &Tensor) -> Tensor {
        self.node("Log", &[a])
    }

    /// `√a`.
    pub fn root(&mut self, a: &Tensor) -> Tensor {
        self.node("Sqrt", &[a])
    }

    /// `a` where it is at least `least`, and `least` elsewhere.
    pub fn at_least(&mut self, a: &Tensor, least: f64) -> Tensor {
        let least = self.number(least);
        self.node("Max", &[a, &least])
    }

    /// The larger of `a` and `b`.
    pub fn larger(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.node("Max", &[a, b])
    }

    /// Several tensors side by side along an axis.
    pub fn join(&mut self, all: &[&Tensor], axis: i64) -> Tensor {
        let joined = self.node("Concat", all);
        self.nodes.last_mut().expect("it was just added").attribute = Some(Attribute::Integer("axis", axis));
        joined
    }

    /// `a`, moved between two bounds.
    pub fn clip(&mut self, a: &Tensor, least: f64, most: f64) -> Tensor {
        let (least, most) = (self.number(least), self.number(most));
        self.node("Clip", &[a, &least, &most])
    }

    /// The same entries in another shape; `−1` is whatever length is left.
    pub fn reshape(&mut self, a: &Tensor, shape: &[i64]) -> Tensor {
        let shape = self.integers(shape);
        self.node("Reshape", &[a, &shape])
    }

    /// The sum along an axis, which stays with length 1.
    pub fn sum(&mut self, a: &Tensor, axis: i64) -> Tensor {
        let axis = self.integers(&[axis]);
        let sum = self.node("ReduceSum", &[a, &axis]);
        self.nodes.last_mut().expect("it was just added").attribute = Some(Attribute::Integer("keepdims", 1));
        sum
    }

    /// The columns `from..to` of a matrix.
    pub fn columns(&mut self, a: &Tensor, from: usize, to: usize) -> Tensor {
        self.range(a, from, to, 1, 1)
    }

    /// Every `step`-th entry of `from..to` along an axis.
    pub fn range(&mut self, a: &Tensor, from: usize, to: usize, axis: i64, step: usize) -> Tensor {
        let each = [from as i64, to as i64, axis, step as i64].map(|own| self.integers(&[own]));
        let [from, to, axis, step] = &each;
        self.node("Slice", &[a, from, to, axis, step])
    }

    /// Gives a tensor another name, under which it is an output.
    pub fn output(&mut self, a: &Tensor, name: &str) {
        self.nodes.push(Node { operator: "Identity", inputs: vec![a.0.clone()], output: name.into(), attribute: None });
    }

    /// An operator with what it reads.
    fn node(&mut self, operator: &'static str, inputs: &[&Tensor]) -> Tensor {
        let output = format!("{}_{}", operator.to_lowercase(), self.nodes.len());
        let inputs = inputs.iter().map(|own| own.0.clone()).collect();
        self.nodes.push(Node { operator, inputs, output: output.clone(), attribute: None });
        Tensor(output)
    }

    fn integers(&mut self, entries: &[i64]) -> Tensor {
        self.add_constant(vec![entries.len()], Entries::Integers(entries.to_vec()))
    }

    /// A constant; one that is there already is used again.
    fn add_constant(&mut self, shape: Vec<usize>, entries: Entries) -> Tensor {
        let same = |own: &&Constant| own.shape == shape && own.entries == entries;
        if let Some(own) = self.constants.iter().find(same) {
            return Tensor(own.name.clone());
        }
        let name = format!("constant_{}", self.constants.len());
        self.constants.push(Constant { name: name.clone(), shape, entries });
        Tensor(name)
    }
}
