//! Rows that lie side by side: normalisation over an axis that is not the last.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::server::Handle;

use super::backward::wanted_parameter;
use super::buffers::check_len;
use super::launch;
use super::sides::Sides;
use super::types::{check_type, checked_address_type, statistic_type};
use super::{Affine, DeviceLimits, Form, Gradients, Normalised, OperandKind, Pass, Wanted};
use crate::{Error, Problem};

/// Rows side by side in a buffer: with `inner` of them in a group, element j of row `o·inner + i` is at
/// `o·pitch + j·inner + i`.
#[derive(Debug, Clone)]
pub struct Interleaved {
    /// The buffer; it starts with the first element of the first row.
    pub handle: Handle,
    /// Type of the elements.
    pub elem: ElemType,
    /// Rows of a group: the product of the axes behind the normalised one.
    pub inner: usize,
    /// Elements between the starts of neighbouring groups: `row_len·inner` where they are dense.
    pub pitch: usize,
}

impl Interleaved {
    /// Elements from the start of the first group to the end of the last.
    pub(super) fn span(&self, problem: &Problem) -> usize {
        match problem.rows() {
            0 => 0,
            rows => (rows / self.inner - 1) * self.pitch + problem.row_len() * self.inner,
        }
    }

    /// The buffer holds all rows, in whole groups, in a type that the device can read.
    fn check(&self, client: &Client, name: &'static str, problem: &Problem) -> Result<(), Error> {
        check_type(client, name, self.elem)?;
        let (rows, inner) = (problem.rows(), self.inner);
        if !rows.is_multiple_of(inner) {
            return Err(Error::Inner { inner, rows });
        }
        let groups = rows / inner.max(1);
        let fits = groups
            .checked_mul(self.pitch)
            .and_then(|groups| groups.checked_add(problem.elements()));
        if fits.is_none() {
            return Err(Error::TooLarge {
                rows: groups,
                row_len: self.pitch,
            });
        }
        check_len(client, name, &self.handle, self.elem, self.span(problem))
    }
}

/// What a forward pass over rows side by side reads.
#[derive(Debug, Clone)]
pub struct InterleavedForward {
    /// The rows to normalise.
    pub x: Interleaved,
    /// gamma and beta: one value an element of a row.
    pub affine: Affine,
    /// Keep every row's rstd, for the backward pass.
    pub with_rstd: bool,
}

/// What a backward pass over rows side by side reads.
#[derive(Debug, Clone)]
pub struct InterleavedBackward {
    /// The gradient of y, of x's type.
    pub dy: Interleaved,
    /// The rows that were normalised.
    pub x: Interleaved,
    /// Every row's rstd, in the statistic's type.
    pub rstd: Handle,
    /// gamma and beta. Of beta, only the type is used.
    pub affine: Affine,
    /// The gradients to compute; there is no gate to want one of.
    pub wanted: Wanted,
}

/// As [`forward`](super::forward()), of rows side by side: y lies as x does, in dense groups of as many
/// rows, and rstd has one value a row, in their order.
///
/// # Errors
///
/// If a buffer is too short or of a type that the device lacks, the rows are no whole groups, gamma
/// has several rows, or the device cannot address the buffers. Nothing is queued then.
pub fn interleaved_forward(
    client: &Client,
    problem: &Problem,
    args: InterleavedForward,
) -> Result<Normalised, Error> {
    let elem = args.x.elem;
    args.x.check(client, "x", problem)?;
    check_affine(client, problem, &args.affine)?;
    let form = form(problem, &args.affine, elem, Pass::Forward);
    let limits = DeviceLimits::of(client.properties());
    let spans = args.x.span(problem).max(problem.elements());
    let address = checked_address_type(client, spans.max(problem.gamma_len()))?;
    let statistic = statistic_type(elem);
    let outputs = Normalised {
        y: client.empty(problem.elements() * elem.size()),
        sum: None,
        rstd: args
            .with_rstd
            .then(|| client.empty(problem.rows() * statistic.size())),
    };
    if problem.rows() > 0 {
        let sides = Sides::new(problem, elem, args.x.inner, &[args.x.pitch], &limits);
        launch::interleaved_forward(
            client,
            problem,
            (sides, form),
            address,
            args,
            outputs.clone(),
        );
    }
    Ok(outputs)
}

/// As [`backward`](super::backward()), of rows side by side: dx lies as x does, in dense groups of as
/// many rows.
///
/// # Errors
///
/// As [`interleaved_forward`]; also if dy does not lie as x does but for its pitch, or a gradient is
/// wanted of a parameter, or a gate, that is not there.
pub fn interleaved_backward(
    client: &Client,
    problem: &Problem,
    args: InterleavedBackward,
) -> Result<Gradients, Error> {
    let (x, wanted) = (&args.x, args.wanted);
    x.check(client, "x", problem)?;
    if args.dy.inner != x.inner {
        return Err(Error::Length {
            buffer: "the inner axis of dy",
            expected: x.inner,
            found: args.dy.inner,
        });
    }
    args.dy.check(client, "dy", problem)?;
    check_affine(client, problem, &args.affine)?;
    if args.dy.elem != x.elem {
        return Err(Error::Type {
            buffer: "dy",
            elem: args.dy.elem,
        });
    }
    if wanted.dgate {
        return Err(Error::MissingParameter("gate"));
    }
    let statistic = statistic_type(x.elem);
    check_len(client, "rstd", &args.rstd, statistic, problem.rows())?;
    let (gamma, beta) = args.affine.parameters();
    let dgamma = wanted_parameter(client, problem, "gamma", wanted.dgamma, gamma)?;
    let dbeta = wanted_parameter(client, problem, "beta", wanted.dbeta, beta)?;
    let form = form(problem, &args.affine, x.elem, Pass::Backward);
    let limits = DeviceLimits::of(client.properties());
    let spans = x.span(problem).max(args.dy.span(problem));
    let largest = spans.max(problem.elements()).max(problem.gamma_len());
    let address = checked_address_type(client, largest)?;
    let gradients = Gradients {
        dx: wanted
            .dx
            .then(|| client.empty(problem.elements() * x.elem.size())),
        dgate: None,
        dgamma,
        dbeta,
    };
    let pitches = [args.dy.pitch, x.pitch];
    let sides = Sides::new(problem, x.elem, x.inner, &pitches, &limits);
    if let Some(dx) = gradients.dx.clone().filter(|_| problem.rows() > 0) {
        launch::interleaved_backward(client, problem, (sides, form), address, &args, dx);
    }
    if wanted.dgamma || wanted.dbeta {
        let outputs = [gradients.dgamma.clone(), gradients.dbeta.clone()];
        launch::interleaved_parameters(client, problem, sides, address, &args, outputs);
    }
    Ok(gradients)
}

fn form(problem: &Problem, affine: &Affine, x: ElemType, pass: Pass) -> Form {
    let has_gamma = affine.parameters().0.is_some();
    Form::of(problem, OperandKind::None, has_gamma, x, pass)
}

/// gamma and beta fit, and have one row: which row of several a row would take depends on where it
/// lies.
fn check_affine(client: &Client, problem: &Problem, affine: &Affine) -> Result<(), Error> {
    if problem.gamma_rows() > 1 && affine.parameters().0.is_some() {
        let gamma_rows = problem.gamma_rows();
        return Err(Error::GammaRowsSideBySide { gamma_rows });
    }
    affine.check(client, problem)
}
