//! From genes to a case.

use fused_norm_testkit::{
    AffineForm, Base, Case, Fill, FloatKind, GammaForm, GammaLayout, Layout, Rounding, Variant,
};

use crate::genes::{Numbers, Structure};
use crate::values::{is_constant, values};

/// What a subject can be given.
#[derive(Clone, Debug)]
pub struct Limits {
    pub kinds: Vec<FloatKind>,
    /// Has tensors of so many axes.
    pub rank: usize,
    /// Has a path for squares beyond the range of the statistic's kind, and keeps subnormal numbers.
    pub whole_range: bool,
    /// Has a right exponential in f64.
    pub exponential_64: bool,
    /// Rounds f64 to 16 bits at once.
    pub narrows_64: bool,
}

/// Elements of a case, unless a single row has more.
const ELEMENTS: usize = 600;

/// The same where values are repeated, whose sums err the same way each time.
const REPEATED_ELEMENTS: usize = 64;

pub fn case(structure: &Structure, numbers: &Numbers, limits: &Limits) -> Case {
    let kind = limits.kinds[structure.kind % limits.kinds.len()];
    let parameter_kind = |index: usize| {
        let drawn = match index % 4 {
            0 => kind,
            index => limits.kinds[index % limits.kinds.len()],
        };
        let twice = kind == FloatKind::F64 && drawn.is_half() && !limits.narrows_64;
        if twice { kind } else { drawn }
    };
    let mut case = Case::new("random", kind, &[1]).affine(AffineForm::ALL[structure.affine % 3]);
    case.variant = Variant::ALL[structure.variant % 4];
    if let (Variant::Gated(_), FloatKind::F64, false) = (case.variant, kind, limits.exponential_64)
    {
        case.variant = Variant::Plain;
    }
    (case.gamma_kind, case.beta_kind) = (
        parameter_kind(structure.gamma_kind),
        parameter_kind(structure.beta_kind),
    );
    let gated = matches!(case.variant, Variant::Gated(_));
    case.zero_centered = structure.zero_centered && structure.arrangement % 2 == 1;
    if structure.before_gamma && !gated {
        case.rounding = Rounding::BeforeGamma;
    }
    case.epsilon = 10_f64.powf(numbers.epsilon);
    layouts(&mut case, structure);
    arrange(&mut case, structure, numbers, limits);
    case.partial = partial(structure.partial, numbers.part, case.row_len());
    fill(&mut case, numbers, limits);
    case
}

/// Shape, normalised axis, and rows of gamma.
fn arrange(case: &mut Case, structure: &Structure, numbers: &Numbers, limits: &Limits) {
    let rank = structure.axes % limits.rank + 1;
    let row_len = stretched(structure.row_len, numbers.stretch);
    let repeats = case.x_layout.repeats() || case.dy_layout.repeats();
    let constant = numbers.values[..3].iter().any(|style| is_constant(*style));
    let elements = if repeats || constant || case.second_layout.repeats() {
        REPEATED_ELEMENTS
    } else {
        ELEMENTS
    };
    let mut left = (elements / row_len).max(1);
    let most = match rank {
        2 => 40,
        3 => 12,
        _ => 4,
    };
    let mut lengths = numbers.lengths.iter().cycle();
    let mut length = |most: usize| {
        let length = 1 + lengths.next().expect("endless") % most.min(left);
        left /= length;
        length
    };
    match structure.arrangement {
        // The rows of another axis lie side by side.
        2..=4 if rank > 1 => {
            case.axis = 1 + structure.arrangement % (rank - 1).min(2);
            let mut shape: Vec<usize> = (0..case.axis).map(|_| length(70)).collect();
            shape.push(row_len);
            shape.extend((case.axis + 1..rank).map(|_| length(most)));
            shape.reverse();
            case.shape = shape;
        }
        form => {
            let mut shape = vec![row_len];
            match form {
                5..=7 => {
                    let groups = length(4);
                    shape[0] *= groups;
                    case.gamma_form = GammaForm::Groups(groups);
                }
                8..=10 if rank > 1 => case.gamma_form = GammaForm::Heads,
                _ => {}
            }
            shape.extend((1..rank).map(|_| length(most)));
            shape.reverse();
            case.shape = shape;
        }
    }
    let heads = usize::from(case.gamma_form == GammaForm::Heads);
    if numbers.empty && rank > case.axis + 1 + heads {
        case.shape[0] = 0;
        let dense = Layout::Dense;
        (case.x_layout, case.dy_layout, case.second_layout) = (dense, dense, dense);
    }
    for layout in [
        &mut case.x_layout,
        &mut case.dy_layout,
        &mut case.second_layout,
    ] {
        let needs_two = !matches!(
            layout,
            Layout::NarrowedLast
                | Layout::MiddleThird
                | Layout::Step2
                | Layout::Flipped
                | Layout::BroadcastAll
        );
        if rank < 2 && needs_two {
            *layout = Layout::Dense;
        }
    }
}

/// A longer row that is read in vectors of the same width, and in no more than twice as many.
fn stretched(row_len: usize, steps: usize) -> usize {
    let vector = 1 << row_len.trailing_zeros().min(3);
    let vectors = row_len / vector;
    let room = vectors.next_power_of_two() - vectors;
    row_len + vector * (room.saturating_sub(1) / 2).min(steps) * 2
}

fn layouts(case: &mut Case, structure: &Structure) {
    let layout = |index: usize| match index {
        1 => Layout::NarrowedLast,
        2 => Layout::MiddleThird,
        3 => Layout::Transposed,
        4 => Layout::Permuted,
        5 => Layout::NarrowedFirst,
        6 => Layout::Step2,
        7 => Layout::Flipped,
        8 => Layout::BroadcastRows,
        9 => Layout::BroadcastAll,
        10 => Layout::Unfolded { step: 1 },
        11 => Layout::Unfolded { step: 3 },
        _ => Layout::Dense,
    };
    case.x_layout = layout(structure.x_layout);
    case.dy_layout = layout(structure.dy_layout);
    if case.variant.has_second() {
        case.second_layout = layout(structure.second_layout);
    }
    case.gamma_layout = match structure.gamma_layout {
        1 => GammaLayout::Expanded,
        2 => GammaLayout::Step2,
        3 => GammaLayout::Column,
        4 => GammaLayout::Narrowed,
        5 => GammaLayout::Flipped,
        _ => GammaLayout::Dense,
    };
}

fn partial(choice: usize, part: f64, row_len: usize) -> Option<f64> {
    let whole = (part * row_len as f64).ceil().max(1.0);
    match choice {
        1 => Some(1.0),
        2 => Some(0.0625),
        3 => Some(0.3),
        4 => Some(whole / row_len as f64),
        5 => Some(part.max(1e-9)),
        _ => None,
    }
}

/// The values, of magnitudes for which every intermediate result is a normal number.
fn fill(case: &mut Case, numbers: &Numbers, limits: &Limits) {
    let gated = matches!(case.variant, Variant::Gated(_));
    // log10 of the smallest and largest magnitude of x, and of the products that gradients are
    // summed from.
    let (x_range, products) = match (case.x_kind, limits.whole_range) {
        // In f64 the oracle squares too.
        (FloatKind::F64, _) => ((-150.0, 150.0), (-120.0, 120.0)),
        (FloatKind::F16, _) => ((-6.0, 4.5), (-28.0, 34.0)),
        (_, true) => ((-38.0, 37.9), (-28.0, 34.0)),
        (_, false) => ((-34.0, 37.9), (-28.0, 34.0)),
    };
    // What a partial statistic does not read is multiplied by up to 1/√epsilon.
    let (x_range, products) = match case.partial {
        Some(_) if !limits.whole_range && case.x_kind != FloatKind::F64 => {
            let root = numbers.epsilon / 2.0;
            let highest = f64::min(x_range.1, 37.5 + root);
            ((x_range.0, highest), (products.0, products.1 + root))
        }
        _ => (x_range, products),
    };
    // A closed gate is 1e-25, and an open one 60.
    let narrow = if gated { 6.0 } else { f64::INFINITY };
    let between = |size: f64, (low, high): (f64, f64)| {
        let (low, high) = (low.max(-narrow), high.min(narrow));
        let exponent = if size < 0.0 {
            -size * low.min(0.0)
        } else {
            size * high.max(0.0)
        };
        exponent.clamp(low, high)
    };
    let headroom = if case.variant == Variant::Add {
        0.5
    } else {
        0.0
    };
    let x = between(numbers.x_size, (x_range.0, x_range.1 - headroom));
    let gamma_range = if case.gamma_kind == FloatKind::F16 || case.x_kind == FloatKind::F16 {
        (-3.0, 3.0)
    } else {
        (-8.0, 8.0)
    };
    let gamma = between(numbers.gamma_size, gamma_range);
    let factor = match (case.affine.has_gamma(), case.zero_centered) {
        (false, _) => 0.0,
        (true, true) => gamma.max(0.0),
        (true, false) => gamma,
    };
    // The terms of c are large enough to be summed where they matter: not where x is so small that
    // epsilon is all of the statistic.
    let x_in_sums = x.max(-18.0);
    let low = (products.0 - x_in_sums).max(products.0) - factor;
    let high = (products.1 - x.max(0.0)).min(30.0) - factor;
    let (low, high) = match case.x_kind {
        FloatKind::F16 => (low.max(-6.0), high.min(4.0)),
        _ => (low, high),
    };
    let sum_used = numbers.sum_used && case.variant == Variant::Add;
    let high = match (case.x_kind, sum_used) {
        // A gradient that overflows before another joins it stays infinite. rstd is at most that of
        // epsilon alone.
        (FloatKind::F16, true) => high.min(3.0 - factor + numbers.epsilon / 2.0),
        _ => high,
    };
    let dy = between(numbers.dy_size, (low.min(high), high));
    let second = match case.variant {
        Variant::Gated(_) => between(numbers.second_size, (-3.0, 1.75)),
        _ => (x + 3.0 * numbers.second_size).clamp(x_range.0, x_range.1 - headroom),
    };

    let [x_style, dy_style, second_style, gamma_style, dsum_style] = numbers.values;
    let row_len = case.row_len();
    // A layout that repeats elements holds the values of its base.
    let elements = case.elements();
    let few = |layout: Layout| layout.repeats();
    let len = |layout: Layout, base: Base| match layout.repeats() {
        true => base.values.len(),
        false => elements,
    };
    let drawn = |style, size: f64, few_digits, len| {
        Fill::given(values(style, 10_f64.powf(size), few_digits, len, row_len))
    };
    let x_fill = drawn(
        x_style,
        x,
        few(case.x_layout),
        len(case.x_layout, case.base_x()),
    );
    let dy_fill = drawn(
        dy_style,
        dy,
        few(case.dy_layout),
        len(case.dy_layout, case.base_dy()),
    );
    let second_fill = case.base_second().map(|base| {
        drawn(
            second_style,
            second,
            few(case.second_layout),
            len(case.second_layout, base),
        )
    });
    let dsum_fill = sum_used.then(|| drawn(dsum_style, dy, false, elements));
    let gamma_len = case.gamma_shape().iter().product();
    case.gamma_fill = match case.gamma_layout {
        GammaLayout::Expanded => Fill::Constant(10_f64.powf(gamma)),
        _ => drawn(gamma_style, gamma, false, gamma_len),
    };
    if let (true, Fill::Given(values)) = (case.zero_centered, &case.gamma_fill) {
        // A gamma wider than the statistic is rounded to it before 1 is added, which shows where
        // the sum cancels.
        let round = |value: &f64| case.statistic().round(*value);
        case.gamma_fill = Fill::given(values.iter().map(round).collect::<Vec<f64>>());
    }
    (case.fill, case.dy_fill, case.dsum_fill) = (x_fill, dy_fill, dsum_fill);
    if let Some(fill) = second_fill {
        case.second_fill = fill;
    }
}
