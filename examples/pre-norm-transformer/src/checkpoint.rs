//! Checkpoints that a kill cannot spoil.
//!
//! A checkpoint is three files: the model, the optimizer, the learning rate. Each is written beside
//! its place and renamed into it, and counts only when all three are there. The checkpoint before is
//! deleted afterwards, so that one whole checkpoint exists at every moment after the first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use burn::lr_scheduler::LrSchedulerRecord;
use burn::module::Module;
use burn::optim::OptimizerRecord;
use burn::store::ModuleRecord;
use burn::train::checkpoint::{
    Checkpoint, Checkpointer, CheckpointerError, CheckpointingAction, CheckpointingStrategy,
    KeepLastNCheckpoints,
};
use burn::train::metric::store::{Aggregate, EventStoreClient, Split};

use crate::error::Error;
use crate::metric::BitsPerByte;

/// The parts of a checkpoint, which are also the beginnings of their file names.
const PARTS: [&str; 3] = ["model", "optimizer", "scheduler"];

/// How the name of a file ends that is being written: ours, and the one that Burn writes beside it.
const TEMPORARY: &str = "tmp";

/// The folder of the checkpoints of a run.
#[derive(Clone, Debug)]
pub struct CheckpointFolder(PathBuf);

impl CheckpointFolder {
    /// The checkpoints at `path`, which may not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The last epoch whose checkpoint is whole.
    pub fn last(&self) -> Option<usize> {
        fs::read_dir(&self.0)
            .ok()?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                let epoch = name.strip_prefix("model-")?.strip_suffix(".bpk")?;
                epoch.parse().ok()
            })
            .filter(|epoch| PARTS.iter().all(|part| self.file(part, *epoch).exists()))
            .max()
    }

    /// Loads the model of an epoch into one of the same architecture.
    pub fn load_model<M: Module>(&self, model: M, epoch: usize) -> Result<M, Error> {
        let path = self.file(PARTS[0], epoch);
        ModuleRecord::load(&path)
            .and_then(|record| model.try_load_record(record))
            .map_err(|error| unreadable(&path, error))
    }

    /// Reads every part of an epoch once, because Burn's trainer panics on one it cannot read.
    pub fn verify<M: Module>(&self, model: &M, epoch: usize) -> Result<(), Error> {
        self.load_model(model.clone(), epoch)?;
        let [_, optimizer, scheduler] = PARTS.map(|part| self.file(part, epoch));
        OptimizerRecord::load(&optimizer).map_err(|error| unreadable(&optimizer, error))?;
        LrSchedulerRecord::load(&scheduler).map_err(|error| unreadable(&scheduler, error))?;
        Ok(())
    }

    /// Deletes what a save has left that was killed.
    pub fn remove_unfinished(&self) -> Result<(), Error> {
        let entries = fs::read_dir(&self.0).map_err(Error::file("read", &self.0))?;
        for entry in entries {
            let path = entry.map_err(Error::file("read", &self.0))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == TEMPORARY)
            {
                fs::remove_file(&path).map_err(Error::file("remove", &path))?;
            }
        }
        Ok(())
    }

    /// The checkpointers of the three parts, in the order of Burn's trainer.
    pub fn checkpointers(&self) -> [AtomicCheckpointer; 3] {
        PARTS.map(|part| AtomicCheckpointer {
            folder: self.clone(),
            part,
        })
    }

    fn file(&self, part: &str, epoch: usize) -> PathBuf {
        self.0.join(format!("{part}-{epoch}.bpk"))
    }
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Error {
    // Burn lists what does not fit over several lines.
    let reason = error.to_string().replace('\n', " ");
    Error::Training(format!("cannot load {}: {reason}", path.display()))
}

/// Saves one part of each checkpoint.
pub struct AtomicCheckpointer {
    folder: CheckpointFolder,
    part: &'static str,
}

impl<R: Checkpoint> Checkpointer<R> for AtomicCheckpointer {
    fn save(&self, epoch: usize, record: R) -> Result<(), CheckpointerError> {
        let path = self.folder.file(self.part, epoch);
        let temporary = path.with_extension(TEMPORARY);
        record.save(temporary.clone())?;
        File::open(&temporary)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| sync_folder(&self.folder.0))
            .map_err(CheckpointerError::IOError)
    }

    fn restore(&self, epoch: usize) -> Result<R, CheckpointerError> {
        R::load(self.folder.file(self.part, epoch))
    }

    fn delete(&self, epoch: usize) -> Result<(), CheckpointerError> {
        match fs::remove_file(self.folder.file(self.part, epoch)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(CheckpointerError::IOError(error))
            }
            _ => Ok(()),
        }
    }
}

/// Makes the names in a folder last, where a folder can be opened.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}

/// Checkpoints every epoch and keeps the last two.
pub struct EveryEpoch(KeepLastNCheckpoints);

impl Default for EveryEpoch {
    fn default() -> Self {
        Self(KeepLastNCheckpoints::new(2))
    }
}

impl CheckpointingStrategy for EveryEpoch {
    fn checkpointing(
        &mut self,
        epoch: usize,
        store: &EventStoreClient,
    ) -> Vec<CheckpointingAction> {
        // The metrics are logged by another thread. A question to it is answered after it has
        // written the epoch, so that no checkpoint is ahead of metrics.csv.
        store.find_metric(BitsPerByte::NAME, epoch, Aggregate::Mean, &Split::Valid);
        self.0.checkpointing(epoch, store)
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use burn::tensor::{Device, Tensor};
    use burn_fused_norm::RmsNormConfig;

    use super::*;
    use crate::optimizer::optimizer;

    #[test]
    fn only_a_whole_checkpoint_counts() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = CheckpointFolder::new(folder.path().into());
        assert_eq!(checkpoints.last(), None);
        for name in ["model-3.bpk", "optimizer-3.bpk", "scheduler-3.bpk"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        // A kill came between the files of epoch 10, and within one of epoch 11.
        for name in ["model-10.bpk", "optimizer-10.bpk", "model-11.tmp"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(checkpoints.last(), Some(3));
    }

    #[test]
    fn what_a_killed_save_left_is_deleted_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = CheckpointFolder::new(folder.path().into());
        let kept = ["config.json", "model-3.bpk", "optimizer-3.bpk"];
        for name in ["model-4.tmp", "optimizer-4.tmp.17907-7.tmp"]
            .iter()
            .chain(&kept)
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        checkpoints.remove_unfinished().unwrap();
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, kept);
    }

    /// Cut anywhere, a part is one line that names its file.
    #[test]
    fn a_checkpoint_is_refused_wherever_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = CheckpointFolder::new(folder.path().into());
        let device = Device::default().autodiff();
        let norm = RmsNormConfig::new(4).init(&device);
        let gradients = norm.gamma.as_ref().unwrap().val().sum().backward();
        let gradients = GradientsParams::from_grads(gradients, &norm);
        let mut optimizer = optimizer(0.1);
        let norm = optimizer.step(0.1, norm, gradients);
        let [model, of_optimizer, scheduler] = checkpoints.checkpointers();
        model.save(1, norm.clone().into_record()).unwrap();
        of_optimizer.save(1, optimizer.to_record()).unwrap();
        let mut rate = crate::schedule::Schedule::new(60, 1, 1, 0).learning_rate(0.01);
        rate.step();
        scheduler.save(1, rate.to_record()).unwrap();
        checkpoints.verify(&norm, 1).unwrap();
        for part in PARTS {
            let path = checkpoints.file(part, 1);
            let whole = fs::read(&path).unwrap();
            // A record without tensors ends in padding.
            let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
            assert!(end > 100, "{part}: {end}");
            for len in 0..=end {
                fs::write(&path, &whole[..len]).unwrap();
                let error = checkpoints.verify(&norm, 1);
                let line = error.expect_err(&format!("{part}: {len} of {}", whole.len()));
                let line = line.to_string();
                assert!(line.contains(&format!("{part}-1.bpk")), "{line}");
                assert_eq!(line.lines().count(), 1, "{line}");
            }
            fs::write(&path, whole).unwrap();
        }
        checkpoints.verify(&norm, 1).unwrap();
    }

    #[test]
    fn a_saved_record_is_restored_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let [_, _, scheduler] = CheckpointFolder::new(folder.path().into()).checkpointers();
        scheduler.save(1, LrSchedulerRecord::new()).unwrap();
        Checkpointer::<LrSchedulerRecord>::restore(&scheduler, 1).unwrap();
        let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), 1);
        Checkpointer::<LrSchedulerRecord>::delete(&scheduler, 1).unwrap();
        Checkpointer::<LrSchedulerRecord>::delete(&scheduler, 1).unwrap();
    }

    /// Every byte of every part: cleared, filled, changed by a bit.
    #[test]
    fn a_damaged_checkpoint_is_an_error_or_a_checkpoint() {
        let device = Device::flex().autodiff();
        let model = RmsNormConfig::new(2).with_bias(true).init(&device);
        let loss = model.forward(Tensor::<2>::ones([1, 2], &device)).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let mut optimizer = optimizer(0.1);
        let model = optimizer.step(0.5, model, gradients);

        let folder = tempfile::tempdir().unwrap();
        let checkpoints = CheckpointFolder::new(folder.path().into());
        let [model_part, optimizer_part, scheduler_part] = checkpoints.checkpointers();
        model_part.save(1, model.clone().into_record()).unwrap();
        optimizer_part.save(1, optimizer.to_record()).unwrap();
        let scheduler = LrSchedulerRecord::new().with_scalar("step", 7_usize);
        scheduler_part.save(1, scheduler).unwrap();
        checkpoints.verify(&model, 1).unwrap();

        for part in PARTS {
            let path = checkpoints.file(part, 1);
            let whole = fs::read(&path).unwrap();
            let mut refused = 0;
            for at in 0..whole.len() {
                let with = |byte: u8| {
                    let mut file = whole.clone();
                    file[at] = byte;
                    file
                };
                let bit = whole[at] ^ (1 << (at % 8));
                for file in [with(0), with(0xff), with(bit)] {
                    fs::write(&path, file).unwrap();
                    refused += usize::from(checkpoints.verify(&model, 1).is_err());
                }
            }
            // Much of a small file is padding.
            assert!(
                refused > whole.len() / 4,
                "{part}: {refused} of {}",
                whole.len()
            );
            fs::write(&path, whole).unwrap();
        }
    }
}
