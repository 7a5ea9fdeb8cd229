//! What is a case called?

use super::{Case, Fill, GammaForm, GammaLayout, Layout, Rounding, Variant};

impl Case {
    /// Completes the name with everything that differs from [`Case::new`].
    pub(crate) fn named(mut self) -> Self {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut parts = vec![self.name.clone(), self.x_kind.to_string(), shape.join("x")];
        let mut part = |differs: bool, text: String| {
            if differs {
                parts.push(text);
            }
        };
        part(self.axis > 0, format!("axis{}", self.axis));
        part(self.variant != Variant::Plain, self.variant.name().into());
        match self.gamma_form {
            GammaForm::Row => {}
            GammaForm::Groups(groups) => part(true, format!("groups{groups}")),
            GammaForm::Heads => part(true, "heads".into()),
        }
        part(
            self.affine.has_gamma(),
            format!("gamma_{}", self.gamma_kind),
        );
        part(self.affine.has_beta(), format!("beta_{}", self.beta_kind));
        part(self.zero_centered, "zero_centered".into());
        part(
            self.rounding == Rounding::BeforeGamma,
            "before_gamma".into(),
        );
        if let Some(partial) = self.partial {
            part(true, format!("partial{partial}"));
        }
        part(self.epsilon != 1e-5, format!("epsilon{:e}", self.epsilon));
        part(self.fill != Fill::P, format!("x_{}", self.fill.name()));
        part(
            self.dy_fill != Fill::Q,
            format!("dy_{}", self.dy_fill.name()),
        );
        part(
            self.affine.has_gamma() && self.gamma_fill != Fill::G,
            format!("g_{}", self.gamma_fill.name()),
        );
        let second = self.variant.has_second();
        part(
            second && self.second_fill != Fill::R,
            format!("second_{}", self.second_fill.name()),
        );
        if let Some(fill) = &self.dsum_fill {
            part(true, format!("dsum_{}", fill.name()));
        }
        part(
            self.x_layout != Layout::Dense,
            format!("x_{}", self.x_layout.name()),
        );
        part(
            self.dy_layout != Layout::Dense,
            format!("dy_{}", self.dy_layout.name()),
        );
        part(
            second && self.second_layout != Layout::Dense,
            format!("second_{}", self.second_layout.name()),
        );
        part(
            self.gamma_layout != GammaLayout::Dense,
            format!("g_{}", self.gamma_layout.name()),
        );
        self.name = parts.join("-");
        self
    }
}
