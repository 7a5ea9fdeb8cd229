//! The public function as a subject for the judge, for tests about what happens around a call.

use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::{Case, FloatKind, Outcome, Property, Subject, Values, Want, judge};

use super::devices;

/// Plain and dense cases of two axes on a device, through `rms_norm` and `backward()`.
pub struct Layer<'a> {
    pub name: &'a str,
    pub device: &'a Device,
}

/// The type of a kind.
pub fn dtype(kind: FloatKind) -> DType {
    match kind {
        FloatKind::F64 => DType::F64,
        FloatKind::F32 => DType::F32,
        FloatKind::F16 => DType::F16,
        FloatKind::BF16 => DType::BF16,
    }
}

/// Runs a case and judges all that it returns.
#[track_caller]
pub fn judged(name: &str, device: &Device, case: &Case) -> Outcome {
    const ASKED: [&str; 5] = [
        "forward values",
        "dx values",
        "dgamma values",
        "dbeta values",
        "output types",
    ];
    let asked: Vec<Property> = ASKED.map(fused_norm_testkit::properties::property).into();
    let layer = Layer { name, device };
    let report = judge(&layer, std::slice::from_ref(case), &asked);
    assert!(report.passed(), "{report}");
    layer.run(case, Want::all(case)).expect("it has just run")
}

/// All that a run returns, as bits.
pub fn bits_of(outcome: &Outcome) -> Vec<u64> {
    let gradients = [&outcome.dx, &outcome.dgamma, &outcome.dbeta];
    let gradients = gradients.into_iter().flatten().map(|(values, _)| values);
    let all = [&outcome.y].into_iter().chain(gradients);
    all.flatten().map(|value| value.to_bits()).collect()
}

/// gamma or beta of a case as a tensor.
pub fn parameter(values: Values, kind: FloatKind, device: &Device) -> Tensor<1> {
    let shape = [values.len()];
    Tensor::from_data(TensorData::new(values, shape), (device, dtype(kind)))
}

/// A case's rows as a tensor.
pub fn rows(values: Values, case: &Case, device: &Device) -> Tensor<2> {
    let shape: [usize; 2] = case.shape.clone().try_into().expect("two axes");
    Tensor::from_data(TensorData::new(values, shape), (device, dtype(case.x_kind)))
}

impl Subject for Layer<'_> {
    fn name(&self) -> String {
        self.name.into()
    }

    fn supports(&self, kind: FloatKind) -> bool {
        devices::computes(self.device, dtype(kind))
    }

    fn run(&self, case: &Case, want: Want) -> Result<Outcome, String> {
        let device = match want.any() {
            true => self.device.clone().autodiff(),
            false => self.device.clone(),
        };
        let track = |wanted| {
            move |tensor: Tensor<1>| match want.any() {
                true => tensor.set_require_grad(wanted),
                false => tensor,
            }
        };
        let x = rows(case.x(), case, &device);
        let x = if want.x { x.require_grad() } else { x };
        let dy = rows(case.dy(), case, &device);
        let gamma = case.gamma();
        let gamma = gamma.map(|values| parameter(values, case.gamma_kind, &device));
        let gamma = gamma.map(track(want.gamma));
        let beta = case.beta();
        let beta = beta.map(|values| parameter(values, case.beta_kind, &device));
        let beta = beta.map(track(want.beta));
        let options = RmsNormOptions::new(case.epsilon).with_partial(case.partial);
        let y = rms_norm(x.clone(), gamma.clone(), beta.clone(), options);
        let gradients = want.any().then(|| (y.clone() * dy).sum().backward());
        let of =
            |parameter: &Option<Tensor<1>>| read_grad(parameter.as_ref()?, gradients.as_ref()?);
        let (y, y_kind) = read(y);
        Ok(Outcome {
            y,
            y_kind,
            sum: None,
            dx: gradients
                .as_ref()
                .and_then(|gradients| read_grad(&x, gradients)),
            dsecond: None,
            dgamma: of(&gamma),
            dbeta: of(&beta),
            inputs_unchanged: true,
        })
    }
}

fn read_grad<const D: usize>(
    tensor: &Tensor<D>,
    gradients: &Gradients,
) -> Option<(Values, FloatKind)> {
    tensor.grad(gradients).map(read)
}

/// The values and the kind of a tensor.
pub fn read<const D: usize>(tensor: Tensor<D>) -> (Values, FloatKind) {
    let data = tensor.into_data();
    let kind = match data.dtype() {
        DType::F64 => FloatKind::F64,
        DType::F32 => FloatKind::F32,
        DType::F16 => FloatKind::F16,
        DType::BF16 => FloatKind::BF16,
        other => panic!("a float tensor has type {other:?}"),
    };
    (data.iter::<f64>().collect(), kind)
}
