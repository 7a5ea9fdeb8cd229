//! How is a tensor with given logical values stored as a view of something larger or reordered?
//!
//! A [`Base`] is a dense tensor and the steps that turn it into the view. Elements of the base that
//! the view does not show are NaN: an implementation that reads them gives itself away.

/// One operation that makes a view; axes are numbered on the shape before the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewStep {
    /// Exchange two axes.
    SwapDims(usize, usize),
    /// Reorder the axes: axis `i` of the result is axis `axes[i]` of the operand.
    Permute(Vec<usize>),
    /// Keep `len` indices of axis `dim`, from `start` on.
    Narrow {
        /// Axis that is cut.
        dim: usize,
        /// First index kept.
        start: usize,
        /// Number of indices kept.
        len: usize,
    },
    /// Keep every `step`-th index of axis `dim`, from 0 on.
    Step {
        /// Axis that is thinned out.
        dim: usize,
        /// Distance between the indices kept.
        step: usize,
    },
    /// Reverse axis `dim`.
    Flip(usize),
    /// Repeat axes of length 1 up to the given shape.
    Expand(Vec<usize>),
    /// Replace the last axis by overlapping windows of it: a new last axis of length `size`,
    /// preceded by the axis of windows, `step` apart.
    Unfold {
        /// Length of a window.
        size: usize,
        /// Distance between the starts of neighbouring windows.
        step: usize,
    },
    /// Remove axis `dim`, which has length 1.
    Squeeze(usize),
}

/// A dense tensor and the view that is taken of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// Shape of the dense tensor.
    pub shape: Vec<usize>,
    /// Its values in row-major order; NaN where the view does not look.
    pub values: Vec<f64>,
    /// What makes the view, first step first. Empty when the tensor is used as it is.
    pub steps: Vec<ViewStep>,
}

impl Base {
    /// Places `logical` values so that the view shows them, and NaN elsewhere.
    pub(crate) fn scatter(shape: Vec<usize>, steps: Vec<ViewStep>, logical: &[f64]) -> Self {
        if steps.is_empty() {
            return Self {
                shape,
                values: logical.to_vec(),
                steps,
            };
        }
        let mut values = vec![f64::NAN; shape.iter().product()];
        let positions = Strided::new(&shape).view(&steps).positions();
        assert_eq!(
            positions.len(),
            logical.len(),
            "the view {steps:?} of {shape:?}"
        );
        for (position, value) in positions.into_iter().zip(logical) {
            values[position] = *value;
        }
        Self {
            shape,
            values,
            steps,
        }
    }

    /// The shape and the values, in row-major order, that the view shows.
    pub fn apply(&self) -> (Vec<usize>, Vec<f64>) {
        let view = Strided::new(&self.shape).view(&self.steps);
        let values = view
            .positions()
            .into_iter()
            .map(|position| self.values[position])
            .collect();
        (view.shape, values)
    }
}

/// Shape, strides and offset of a view.
struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: isize,
}

impl Strided {
    fn new(shape: &[usize]) -> Self {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis] as isize;
        }
        Self {
            shape: shape.to_vec(),
            strides,
            offset: 0,
        }
    }

    fn view(mut self, steps: &[ViewStep]) -> Self {
        steps.iter().for_each(|step| self.step(step));
        self
    }

    fn step(&mut self, step: &ViewStep) {
        match step {
            ViewStep::SwapDims(a, b) => {
                self.shape.swap(*a, *b);
                self.strides.swap(*a, *b);
            }
            ViewStep::Permute(axes) => {
                self.shape = axes.iter().map(|axis| self.shape[*axis]).collect();
                self.strides = axes.iter().map(|axis| self.strides[*axis]).collect();
            }
            ViewStep::Narrow { dim, start, len } => {
                assert!(start + len <= self.shape[*dim]);
                self.offset += *start as isize * self.strides[*dim];
                self.shape[*dim] = *len;
            }
            ViewStep::Step { dim, step } => {
                self.shape[*dim] = self.shape[*dim].div_ceil(*step);
                self.strides[*dim] *= *step as isize;
            }
            ViewStep::Flip(dim) => {
                self.offset += (self.shape[*dim] as isize - 1) * self.strides[*dim];
                self.strides[*dim] = -self.strides[*dim];
            }
            ViewStep::Expand(shape) => {
                for (axis, length) in shape.iter().enumerate() {
                    if self.shape[axis] != *length {
                        assert_eq!(self.shape[axis], 1);
                        self.strides[axis] = 0;
                    }
                }
                self.shape.clone_from(shape);
            }
            ViewStep::Unfold { size, step } => {
                let last = self.shape.len() - 1;
                let stride = self.strides[last];
                self.shape[last] = (self.shape[last] - size) / step + 1;
                self.strides[last] = stride * *step as isize;
                self.shape.push(*size);
                self.strides.push(stride);
            }
            ViewStep::Squeeze(dim) => {
                assert_eq!(self.shape.remove(*dim), 1);
                self.strides.remove(*dim);
            }
        }
    }

    /// Positions in the base of the elements of the view, in row-major order.
    fn positions(&self) -> Vec<usize> {
        let mut positions = vec![self.offset];
        for (length, stride) in self.shape.iter().zip(&self.strides) {
            positions = positions
                .iter()
                .flat_map(|start| (0..*length).map(move |index| start + index as isize * stride))
                .collect();
        }
        positions
            .into_iter()
            .map(|position| position as usize)
            .collect()
    }
}
