//! Buffers as rows and parameters.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::server::Handle;

use super::types::{check_type, reads_in_place};
use crate::{Error, Problem};

/// Rows in a buffer.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The buffer; it starts with the first row.
    pub handle: Handle,
    /// Type of the elements.
    pub elem: ElemType,
    /// Elements between the starts of neighbouring rows.
    pub pitch: usize,
}

impl Rows {
    /// One row after the other.
    pub fn dense(handle: Handle, elem: ElemType, row_len: usize) -> Self {
        Self {
            handle,
            elem,
            pitch: row_len,
        }
    }

    /// Elements from the start of the first row to the end of the last.
    pub(super) fn span(&self, problem: &Problem) -> usize {
        match problem.rows() {
            0 => 0,
            rows => (rows - 1) * self.pitch + problem.row_len(),
        }
    }

    /// The buffer holds all rows, in a type and with a pitch that the device can read.
    pub(super) fn check(
        &self,
        client: &Client,
        name: &'static str,
        problem: &Problem,
    ) -> Result<(), Error> {
        check_type(client, name, self.elem)?;
        if !reads_in_place(client, self.elem, problem.row_len(), self.pitch) {
            return Err(Error::Pitch {
                buffer: name,
                pitch: self.pitch,
            });
        }
        let rows = problem.rows();
        if rows.checked_mul(self.pitch).is_none() {
            return Err(Error::TooLarge {
                rows,
                row_len: self.pitch,
            });
        }
        check_len(client, name, &self.handle, self.elem, self.span(problem))
    }

    /// The same, and its type is that of other rows.
    pub(super) fn check_as(
        &self,
        client: &Client,
        name: &'static str,
        problem: &Problem,
        elem: ElemType,
    ) -> Result<(), Error> {
        self.check(client, name, problem)?;
        if self.elem == elem {
            return Ok(());
        }
        Err(Error::Type {
            buffer: name,
            elem: self.elem,
        })
    }
}

/// gamma or beta: one value a column, in as many rows as the problem says.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The buffer.
    pub handle: Handle,
    /// Type of the elements.
    pub elem: ElemType,
}

impl Parameter {
    pub(super) fn check(
        &self,
        client: &Client,
        name: &'static str,
        problem: &Problem,
    ) -> Result<(), Error> {
        check_type(client, name, self.elem)?;
        check_len(client, name, &self.handle, self.elem, problem.gamma_len())
    }
}

/// What is done to the normalised values.
#[derive(Debug, Clone)]
pub enum Affine {
    /// Nothing.
    None,
    /// A scale.
    Scale {
        /// The scale.
        gamma: Parameter,
    },
    /// A scale and a shift.
    ScaleShift {
        /// The scale.
        gamma: Parameter,
        /// The shift.
        beta: Parameter,
    },
}

impl Affine {
    /// gamma and beta, as far as there are any.
    pub fn parameters(&self) -> (Option<&Parameter>, Option<&Parameter>) {
        match self {
            Self::None => (None, None),
            Self::Scale { gamma } => (Some(gamma), None),
            Self::ScaleShift { gamma, beta } => (Some(gamma), Some(beta)),
        }
    }

    pub(super) fn check(&self, client: &Client, problem: &Problem) -> Result<(), Error> {
        let (gamma, beta) = self.parameters();
        gamma.map_or(Ok(()), |gamma| gamma.check(client, "gamma", problem))?;
        beta.map_or(Ok(()), |beta| beta.check(client, "beta", problem))
    }
}

/// The buffer is long enough, and starts where the device may bind it: loads are up to that wide.
pub(super) fn check_len(
    client: &Client,
    buffer: &'static str,
    handle: &Handle,
    elem: ElemType,
    expected: usize,
) -> Result<(), Error> {
    let offset = handle.offset_start.unwrap_or(0);
    if !offset.is_multiple_of(client.properties().memory.alignment) {
        return Err(Error::Offset { buffer, offset });
    }
    let found = handle.size_in_used() as usize / elem.size();
    if found < expected {
        return Err(Error::Length {
            buffer,
            expected,
            found,
        });
    }
    Ok(())
}
