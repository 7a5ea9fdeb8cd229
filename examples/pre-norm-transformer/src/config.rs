//! `config.json`: everything that a run is a function of, apart from the device.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::corpus::Corpus;
use crate::error::Error;
use crate::model::ModelConfig;
use crate::norm::NormKind;
use crate::schedule::Schedule;

/// A run. Each field is named as the option that sets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunConfig {
    pub norm: NormKind,
    pub partial: Option<f64>,
    pub fuse_add: bool,
    pub qk_norm: bool,
    pub d_model: usize,
    pub layers: usize,
    pub heads: usize,
    pub context: usize,
    pub steps: usize,
    pub batch: usize,
    pub lr: f64,
    pub weight_decay: f64,
    pub dropout: f64,
    pub seed: u64,
    pub text: TextIdentity,
}

/// Which text a run learns from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TextIdentity {
    /// The files, in order; none for this repository's documentation.
    pub files: Vec<PathBuf>,
    /// Length of all files together.
    pub bytes: usize,
    /// Checksum of all files together.
    pub crc32: u32,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            norm: NormKind::Rms,
            partial: None,
            fuse_add: true,
            qk_norm: false,
            d_model: 128,
            layers: 4,
            heads: 4,
            context: 64,
            steps: 1400,
            batch: 8,
            lr: 1.5e-3,
            weight_decay: 0.1,
            dropout: 0.2,
            seed: 1,
            text: TextIdentity::default(),
        }
    }
}

impl RunConfig {
    /// Refuses sizes that do not go together, by the name of an option.
    pub fn check(&self) -> Result<(), Error> {
        if self.partial.is_some() && self.norm != NormKind::Prms {
            let value = self.partial.unwrap_or_default();
            let reason = format!("--norm {} reads all features", self.norm.name());
            return Err(Error::option("partial", value, reason));
        }
        if !self.d_model.is_multiple_of(self.heads) {
            let reason = format!("does not divide --d-model {}", self.d_model);
            return Err(Error::option("heads", self.heads, reason));
        }
        let head_size = self.d_model / self.heads;
        if !head_size.is_multiple_of(2) {
            let reason = format!(
                "splits --d-model {} into heads of {head_size}, and rotary positions need an even size",
                self.d_model
            );
            return Err(Error::option("heads", self.heads, reason));
        }
        Ok(())
    }

    /// Reads the text, and refuses one that is too short for the context.
    pub fn load_corpus(&self) -> Result<Corpus, Error> {
        let corpus = Corpus::load(&self.text.files)?;
        let (bytes, shortest) = (corpus.text.len(), Corpus::shortest(self.context));
        if bytes < shortest {
            let reason = format!(
                "is too short: {bytes} bytes, and --context {} needs {shortest}",
                self.context
            );
            return Err(Error::option("text", self.text.describe(), reason));
        }
        Ok(corpus)
    }

    /// The architecture.
    pub fn model(&self) -> ModelConfig {
        ModelConfig {
            d_model: self.d_model,
            layers: self.layers,
            heads: self.heads,
            context: self.context,
            dropout: self.dropout,
            norm: self.norm,
            partial: self.partial,
            fuse_add: self.fuse_add,
            qk_norm: self.qk_norm,
        }
    }

    /// The size and order of the training.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.steps, self.batch, self.context, self.seed)
    }

    /// The first option, in alphabetical order, that differs from `other`: its name and both values.
    ///
    /// Texts are the same when their bytes are, whatever the names of the files.
    pub fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let fields = |config: &Self| {
            let mut config = config.clone();
            config.text.files = Vec::new();
            match serde_json::to_value(&config) {
                Ok(Value::Object(fields)) => fields,
                _ => unreachable!("a struct of plain fields is a JSON object"),
            }
        };
        let others = fields(other);
        let (name, ..) = fields(self)
            .into_iter()
            .find(|(name, value)| others.get(name) != Some(value))?;
        let show = |config: &Self| match name.as_str() {
            "text" => config.text.describe(),
            name => match &fields(config)[name] {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            },
        };
        let (mine, theirs) = (show(self), show(other));
        Some((name, mine, theirs))
    }
}

impl TextIdentity {
    /// Names the files and what is in them.
    pub fn of(files: Vec<PathBuf>, corpus: &Corpus) -> Self {
        Self {
            files,
            bytes: corpus.text.len(),
            crc32: corpus.checksum(),
        }
    }

    /// The files as an error names them.
    pub fn describe(&self) -> String {
        if self.files.is_empty() {
            return "(the documentation)".into();
        }
        let names: Vec<_> = self
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        names.join(" --text ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_survives_json() {
        let config = RunConfig {
            norm: NormKind::Prms,
            partial: Some(0.0625),
            lr: 0.1 + 0.2,
            seed: u64::MAX,
            text: TextIdentity {
                files: vec!["a b.txt".into()],
                bytes: 12,
                crc32: 0xffff_fffe,
            },
            ..RunConfig::default()
        };
        let json = serde_json::to_string_pretty(&config).unwrap();
        assert_eq!(serde_json::from_str::<RunConfig>(&json).unwrap(), config);
    }

    #[test]
    fn a_difference_is_named_as_its_option() {
        let config = RunConfig::default();
        assert_eq!(config.difference(&config), None);
        let other = RunConfig {
            d_model: 64,
            ..config.clone()
        };
        let named = ("d-model".to_string(), "128".to_string(), "64".to_string());
        assert_eq!(config.difference(&other), Some(named));
    }

    #[test]
    fn the_name_of_a_text_does_not_matter() {
        let config = RunConfig::default();
        let mut other = config.clone();
        other.text.files = vec!["copy.md".into()];
        assert_eq!(config.difference(&other), None);
        other.text.crc32 ^= 1;
        assert_eq!(config.difference(&other).unwrap().0, "text");
    }
}
