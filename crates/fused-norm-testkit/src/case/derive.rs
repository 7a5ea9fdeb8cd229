//! How are cases derived from another?

use std::ops::Range;

use super::{Case, Fill, Inputs, Layout};

impl Case {
    /// The same case on other values, given in row-major order. A layout that repeats elements
    /// cannot hold arbitrary values and becomes dense.
    pub(crate) fn with_inputs(&self, change: &str, inputs: Inputs) -> Self {
        let free = |layout: Layout| {
            if layout.repeats() {
                Layout::Dense
            } else {
                layout
            }
        };
        let mut case = self.clone();
        case.name = format!("{}+{change}", self.name);
        (case.fill, case.x_layout) = (Fill::given(inputs.x), free(self.x_layout));
        (case.dy_fill, case.dy_layout) = (Fill::given(inputs.dy), free(self.dy_layout));
        if let Some(second) = inputs.second {
            (case.second_fill, case.second_layout) =
                (Fill::given(second), free(self.second_layout));
        }
        case.dsum_fill = inputs.dsum.map(Fill::given);
        case
    }

    /// The same case on some of the parts that can stand alone, of the same rank.
    pub(crate) fn with_units(&self, units: Range<usize>) -> Self {
        let elements = units.start * self.unit_len()..units.end * self.unit_len();
        let part = |values: Vec<f64>| values[elements.clone()].to_vec();
        let inputs = self.inputs();
        let mut case = self.with_inputs(
            &format!("rows{}to{}", units.start, units.end),
            Inputs {
                x: part(inputs.x),
                dy: part(inputs.dy),
                second: inputs.second.map(part),
                dsum: inputs.dsum.map(part),
            },
        );
        let outer = case.shape.len() - case.unit_shape().len();
        case.shape[..outer].fill(1);
        if outer > 0 {
            case.shape[outer - 1] = units.len();
        }
        case
    }
}
