//! `loss.svg` and `loss.png`: the curves of `metrics.csv`.

use std::error::Error as StdError;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::FontStyle;
use plotters::style::register_font;

use crate::curve::Point;

const SIZE: (u32, u32) = (960, 540);
const FONT: &str = "sans-serif";
const TRAIN: RGBColor = RGBColor(0x4c, 0x78, 0xa8);
const VALID: RGBColor = RGBColor(0xe4, 0x57, 0x56);
const BIGRAM: RGBColor = RGBColor(0x66, 0x66, 0x66);

/// Draws the curves, with the bigram's figure as a line, to a file named `.svg` or `.png`.
pub fn draw(path: &Path, points: &[Point], bigram: f64) -> Result<(), Box<dyn StdError>> {
    // Without system libraries, plotters knows no font of its own.
    register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| "the embedded font is broken")?;
    if path.extension().is_some_and(|extension| extension == "svg") {
        draw_on(SVGBackend::new(path, SIZE), points, bigram)
    } else {
        draw_on(BitMapBackend::new(path, SIZE), points, bigram)
    }
}

fn draw_on<B>(backend: B, points: &[Point], bigram: f64) -> Result<(), Box<dyn StdError>>
where
    B: DrawingBackend<ErrorType: 'static>,
{
    let curve = |split: &str| -> Vec<(f64, f64)> {
        let of_split = points.iter().filter(|point| point.split == split);
        of_split
            .map(|point| (point.step as f64, point.bits_per_byte))
            .collect()
    };
    let (train, valid) = (curve("train"), curve("valid"));
    let all = || train.iter().chain(&valid);
    let last_step = all().map(|point| point.0).fold(1.0, f64::max);
    let highest = all().map(|point| point.1).fold(bigram, f64::max);

    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..last_step, 0.0..highest * 1.05)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("training step")
        .y_desc("bits per byte")
        .x_label_formatter(&|step| format!("{step:.0}"))
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 18))
        .draw()?;
    let level = vec![(0.0, bigram), (last_step, bigram)];
    for (points, name, style) in [
        (train, "training (batch)", TRAIN.stroke_width(1)),
        (valid, "validation", VALID.stroke_width(3)),
        (level, "bigram on validation", BIGRAM.stroke_width(2)),
    ] {
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .label_font((FONT, 16))
        .draw()?;
    area.present()?;
    Ok(())
}
