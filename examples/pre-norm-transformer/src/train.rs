//! The `train` command, from options to result line.

use std::fmt::Display;
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use burn::train::metric::LearningRateMetric;
use burn::train::{Learner, SupervisedTraining};

use crate::bigram::Bigram;
use crate::checkpoint::EveryEpoch;
use crate::cli::TrainArgs;
use crate::config::{RunConfig, TextIdentity};
use crate::corpus::Corpus;
use crate::curve::{self, CurveLogger};
use crate::data::{TrainLoader, ValidLoader};
use crate::device;
use crate::error::Error;
use crate::evaluate::bits_per_byte;
use crate::generate::Choice;
use crate::metric::BitsPerByte;
use crate::model::LanguageModel;
use crate::optimizer::optimizer;
use crate::plot;
use crate::progress::{PlainRenderer, StepClock};
use crate::run_folder::RunFolder;

/// A validation during the training reads about this many bytes at most.
const VALIDATION_BYTES: usize = 16 * 1024;

/// Length of `sample.txt`.
const SAMPLE_BYTES: usize = 400;

/// A run that is ready to start: everything was checked and nothing was written.
struct Run {
    folder: RunFolder,
    config: RunConfig,
    corpus: Corpus,
    device: Device,
    /// The last epoch that is done; 0 for a new run.
    epoch: usize,
}

/// Trains, and prints the result.
pub fn run(args: &TrainArgs) -> Result<(), Error> {
    let run = if args.resume {
        Run::continued(args)?
    } else {
        Run::new(args)?
    };
    let clock = StepClock::default();
    let model = run.train(&clock)?;
    run.report(&model, &clock)
}

/// Reads every parameter.
struct Drawn;

impl ModuleVisitor for Drawn {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        parameter.val();
    }
}

fn failed(path: &Path, error: impl Display) -> Error {
    Error::Training(format!("{}: {error}", path.display()))
}

fn folder(args: &TrainArgs) -> RunFolder {
    let norm = args.norm.unwrap_or(RunConfig::default().norm);
    let default = || Path::new("artifacts").join(norm.name());
    RunFolder::new(args.out.clone().unwrap_or_else(default))
}

impl Run {
    fn new(args: &TrainArgs) -> Result<Self, Error> {
        let device = device::open(args.device)?;
        let mut config = args.apply_to(RunConfig::default());
        config.check()?;
        let corpus = config.load_corpus()?;
        config.text = TextIdentity::of(config.text.files, &corpus);
        let folder = folder(args);
        folder.check_replaceable(&config)?;
        Ok(Self {
            folder,
            config,
            corpus,
            device,
            epoch: 0,
        })
    }

    fn continued(args: &TrainArgs) -> Result<Self, Error> {
        let device = device::open(args.device)?;
        let folder = folder(args);
        let (config, epoch) = folder.existing_run("--resume")?;
        let mut asked = args.apply_to(config.clone());
        let corpus = asked.load_corpus()?;
        asked.text = TextIdentity::of(asked.text.files, &corpus);
        if let Some((name, asked, started)) = asked.difference(&config) {
            let path = folder.path().display();
            let reason = match name.as_str() {
                "text" => format!("not the text that the run in {path} was started with"),
                _ => format!("the run in {path} was started with {started}"),
            };
            return Err(Error::option(&name, asked, reason));
        }
        Ok(Self {
            folder,
            config,
            corpus,
            device,
            epoch,
        })
    }

    fn train(&self, clock: &StepClock) -> Result<LanguageModel, Error> {
        let schedule = self.config.schedule();
        let device = self.device.clone().autodiff();
        let model = self.initial_model().fork(&device);
        let step = schedule.steps_after(self.epoch);
        self.prepare_folder(&model, step)?;
        self.announce(model.num_params(), step);

        let train = TrainLoader::new(
            self.corpus.train().into(),
            schedule,
            self.epoch + 1,
            &self.device,
        );
        let valid = self.validation().sample(VALIDATION_BYTES);
        let [model_saver, optimizer_saver, scheduler_saver] =
            self.folder.checkpoints().checkpointers();
        let mut training =
            SupervisedTraining::new(self.folder.path(), Arc::new(train), Arc::new(valid))
                .metrics((BitsPerByte::default(),))
                .metric_train_numeric(LearningRateMetric::new())
                .num_epochs(schedule.epochs())
                .with_checkpointing_strategy(EveryEpoch::default())
                .with_custom_checkpointers(model_saver, optimizer_saver, scheduler_saver)
                .with_progress_logger(clock.clone())
                .with_application_logger(None);
        let metrics = self.metrics();
        let logger = CurveLogger::append(&metrics, step, training.interrupter())
            .map_err(Error::file("write", &metrics))?;
        training = training.with_metric_logger(logger);
        if self.epoch > 0 {
            training = training.checkpoint(self.epoch);
        }
        if !stdout().is_terminal() {
            let lines = PlainRenderer::new(schedule, clock.clone());
            training = training.renderer(Box::new(lines));
        }
        let learner = Learner::new(
            model,
            optimizer(self.config.weight_decay as f32),
            schedule.learning_rate(self.config.lr),
        );
        // Dropping the renderer gives the terminal back.
        let result = training.launch(learner);
        if let Some(error) = result.error {
            return Err(Error::Training(error.to_string()));
        }
        if result.interrupted.is_some() {
            let path = self.folder.path().display();
            return Err(Error::Training(format!(
                "stopped; --resume --out {path} continues from the last checkpoint"
            )));
        }
        Ok(result.model)
    }

    /// Drawn on the processor, whose random numbers do not depend on the machine: a seed starts the
    /// same run on every device.
    fn initial_model(&self) -> LanguageModel {
        let processor = Device::flex().autodiff();
        processor.seed(self.config.seed);
        let model = self.config.model().init(&processor);
        // Parameters are drawn when they are first read, which must happen here.
        model.visit(&mut Drawn);
        model
    }

    /// Makes the folder ready for the steps after `step`.
    fn prepare_folder(&self, model: &LanguageModel, step: usize) -> Result<(), Error> {
        if self.epoch == 0 {
            return self.folder.start(&self.config);
        }
        let checkpoints = self.folder.checkpoints();
        checkpoints.verify(model, self.epoch)?;
        curve::truncate(&self.metrics(), step).map_err(|error| failed(&self.metrics(), error))?;
        checkpoints.remove_unfinished()
    }

    fn metrics(&self) -> PathBuf {
        self.folder.file("metrics.csv")
    }

    fn announce(&self, parameters: usize, step: usize) {
        let Self { config, corpus, .. } = self;
        let _ = writeln!(
            stdout(),
            "{parameters} parameters, norm {}; {} bytes to learn from, {} to judge by; {}",
            config.norm.name(),
            corpus.train().len(),
            corpus.valid().len(),
            match step {
                0 => format!("{} steps", config.steps),
                step => format!("continues after step {step} of {}", config.steps),
            },
        );
    }

    /// Every byte of the validation split.
    fn validation(&self) -> ValidLoader {
        ValidLoader::new(
            self.corpus.text.clone(),
            self.corpus.valid(),
            self.config.schedule(),
            &self.device,
        )
    }

    /// Writes the curves and a sample, and prints the result.
    fn report(&self, model: &LanguageModel, clock: &StepClock) -> Result<(), Error> {
        let valid = bits_per_byte(model, &self.validation());
        let train = self.corpus.train();
        let bigram = Bigram::fit(train).bits_per_byte(
            train.last().copied(),
            &self.corpus.text[self.corpus.valid()],
        );

        let points =
            curve::read(&self.metrics()).map_err(|error| failed(&self.metrics(), error))?;
        for name in ["loss.svg", "loss.png"] {
            let path = self.folder.file(name);
            plot::draw(&path, &points, bigram).map_err(|error| failed(&path, error))?;
        }
        let choice = Choice {
            temperature: 0.8,
            seed: self.config.seed,
        };
        let context = self.config.context;
        let sample = choice.continue_text(model, context, b"\n", SAMPLE_BYTES, &self.device);
        self.folder
            .write("sample.txt", String::from_utf8_lossy(&sample).as_bytes())?;

        let _ = writeln!(
            stdout(),
            "wrote config.json, metrics.csv, loss.svg, loss.png, sample.txt and checkpoints to {}\n\
             result: valid_bits_per_byte={valid:.4} bigram_bits_per_byte={bigram:.4} steps={} \
             ms_per_step={:.1}",
            self.folder.path().display(),
            self.config.steps,
            clock.milliseconds(),
        );
        Ok(())
    }
}
