//! Which device is it, and under which circumstances was it used?

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use burn::tensor::Device;
use cubecl::client::Client;
use fused_norm_cube_tests::elem;
use fused_norm_testkit::FloatKind;

use crate::caught;

/// A device, to CubeCL and to Burn.
pub struct Gpu {
    /// `cuda`, unless the program is tried without a GPU.
    pub name: &'static str,
    /// The device without Burn.
    pub client: Client,
    /// The device with Burn.
    pub burn: Device,
    /// Bytes of its memory, where it says how many.
    pub memory: Option<u64>,
}

impl Gpu {
    /// Opens a device by name.
    ///
    /// # Errors
    ///
    /// One line: the build lacks it, the machine lacks it, or it does not start.
    pub fn open(name: &str) -> Result<Self, String> {
        type Open = (
            &'static str,
            fn() -> Result<cubecl::Device, String>,
            fn() -> Device,
        );
        let devices: Vec<Open> = vec![
            (
                "cuda",
                || named(cubecl::Device::cuda(0)),
                || Device::cuda(0),
            ),
            #[cfg(feature = "cpu")]
            ("cpu", || named(cubecl::Device::cpu()), Device::cpu),
            #[cfg(feature = "wgpu")]
            (
                "wgpu",
                || named(cubecl::Device::wgpu(Default::default())),
                || Device::wgpu(Default::default()),
            ),
        ];
        let found = devices.iter().find(|(offered, ..)| *offered == name);
        let (name, open, burn) = found.ok_or_else(|| {
            let names: Vec<&str> = devices.iter().map(|(name, ..)| *name).collect();
            format!("no device {name} in this build, expected one of {names:?}")
        })?;
        let device = open().map_err(|error| format!("{error} (is there a driver for {name}?)"))?;
        let client = caught(|| Ok(device.client()))
            .map_err(|error| format!("the {name} device does not start: {error}"))?;
        Ok(Self {
            name,
            memory: client.properties().memory.max_memory(),
            client,
            burn: burn(),
        })
    }

    /// Its own name, and its memory.
    pub fn title(&self) -> String {
        let name = &self.client.properties().identity.name;
        match self.memory {
            Some(bytes) => format!("{name}, {:.0} GiB", bytes as f64 / (1u64 << 30) as f64),
            None => name.to_string(),
        }
    }

    /// The kernels take rows of this type here.
    pub fn supports(&self, kind: FloatKind) -> bool {
        fused_norm_kernels::cube::supports(&self.client, elem(kind))
    }

    /// Returns when the device has done all work of this thread.
    ///
    /// # Errors
    ///
    /// If the device failed.
    pub fn sync(&self) -> Result<(), String> {
        self.burn.sync().map_err(|error| error.to_string())?;
        cubecl::future::block_on(self.client.sync()).map_err(|error| error.to_string())
    }

    /// Gives unused memory back, so that the next shape finds none in pieces of another size.
    pub fn clean_up(&self) {
        // Only the next allocation could tell, and it does.
        let _ = self.sync();
        let _ = self.client.memory_cleanup();
    }
}

fn named(device: Result<cubecl::Device, impl std::fmt::Display>) -> Result<cubecl::Device, String> {
    device.map_err(|error| error.to_string())
}

/// Date, command and driver.
pub fn circumstances() -> Vec<String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut lines = vec![
        format!("date     {}", date(SystemTime::now())),
        format!("command  gpu {}", arguments.join(" ")),
    ];
    let fields = "name,driver_version,clocks.max.sm,clocks.max.memory,power.limit";
    let answer = Command::new("nvidia-smi")
        .args([&format!("--query-gpu={fields}"), "--format=csv,noheader"])
        .output();
    if let Ok(answer) = answer
        && answer.status.success()
    {
        let text = String::from_utf8_lossy(&answer.stdout);
        lines.extend(text.lines().map(|line| format!("driver   {line}")));
    }
    lines
}

/// Year, month, day, hour and minute, UTC.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let (days, minutes) = (seconds / 86_400, seconds / 60 % 1440);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (hour, minute) = (minutes / 60, minutes % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_of_known_seconds() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_340, "2000-02-28 23:59 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
