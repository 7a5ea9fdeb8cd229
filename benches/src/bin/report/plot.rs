//! Curves over the length or the number of rows.

use std::error::Error;
use std::path::Path;

use fused_norm_benches::cases::SWEEP;
use fused_norm_benches::record::{COPY, Record};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

const SIZE: (u32, u32) = (860, 480);
const FONT: &str = "sans-serif";
/// Contenders and their colours.
const CONTENDERS: [(&str, RGBColor); 4] = [
    ("ours", RGBColor(0xe4, 0x57, 0x56)),
    ("burn LayerNorm", RGBColor(0x54, 0xa2, 0x4b)),
    ("burn RmsNorm", RGBColor(0x4c, 0x78, 0xa8)),
    (COPY, RGBColor(0x88, 0x88, 0x88)),
];
/// Elements of the shapes whose row length varies.
const ELEMENTS: usize = 1 << 22;
/// Row length of the shapes whose number of rows varies.
const ROW_LEN: usize = 1024;

/// A plot of one file.
pub struct Figure {
    /// Name of the file, without its ending.
    pub name: String,
    x_label: &'static str,
    y_label: &'static str,
    log_y: bool,
    curves: Vec<Curve>,
}

/// A contender, its colour, and its points.
type Curve = (&'static str, RGBColor, Vec<(f64, f64)>);

/// What can be drawn of a pass, on Flex in f32.
pub fn figures(records: &[Record], pass: &str) -> Vec<Figure> {
    let of_pass: Vec<&Record> = records
        .iter()
        .filter(|record| record.device == "flex" && record.kind == "f32" && record.pass == pass)
        .collect();
    let curves = |picked: &dyn Fn(&Record) -> bool,
                  point: &dyn Fn(&Record) -> Option<(f64, f64)>| {
        CONTENDERS
            .into_iter()
            .map(|(name, colour)| {
                let of_contender = of_pass.iter().filter(|record| record.contender == name);
                let points = of_contender
                    .filter(|record| picked(record))
                    .filter_map(|record| point(record));
                (name, colour, points.collect())
            })
            .collect::<Vec<Curve>>()
    };
    // A pass moves more than a copy does: the copy is drawn as if it moved as much.
    let scale = |record: &Record| match (record.contender == COPY, pass) {
        (true, "training") => 2.5,
        _ => 1.0,
    };
    let swept = |record: &Record| {
        record.rows * record.row_len == ELEMENTS && SWEEP.contains(&record.row_len)
    };
    let millis = |record: &Record| scale(record) * record.micros / 1e3;
    vec![
        Figure {
            name: format!("{pass}-row-len"),
            x_label: "row_len, at 4 Mi elements",
            y_label: "milliseconds",
            log_y: true,
            curves: curves(&swept, &|record| {
                Some((record.row_len as f64, millis(record)))
            }),
        },
        Figure {
            name: format!("{pass}-rows"),
            x_label: "rows, at row_len 1024",
            y_label: "milliseconds",
            log_y: true,
            curves: curves(&|record| record.row_len == ROW_LEN, &|record| {
                Some((record.rows as f64, millis(record)))
            }),
        },
        Figure {
            name: format!("{pass}-copy"),
            x_label: "row_len, at 4 Mi elements",
            y_label: "share of the copy's bandwidth, %",
            log_y: false,
            curves: curves(&swept, &|record| {
                Some((record.row_len as f64, 100.0 * record.of_copy?))
            }),
        },
    ]
}

impl Figure {
    /// Draws it to a file.
    ///
    /// # Errors
    ///
    /// If there is nothing to draw, or the file cannot be written.
    pub fn draw(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
            .map_err(|_| "the embedded font is broken")?;
        let points = || self.curves.iter().flat_map(|(.., points)| points);
        let range = |of: fn(&(f64, f64)) -> f64| {
            let values = points().map(of);
            values.fold((f64::MAX, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (x, y) = (range(|point| point.0), range(|point| point.1));
        if x.1 == 0.0 {
            return Err(format!("no results for {}", self.name).into());
        }
        let area = SVGBackend::new(path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area);
        chart.margin(16).x_label_area_size(44).y_label_area_size(64);
        if self.log_y {
            let y = (0.7 * y.0..3.0 * y.1).log_scale();
            self.fill(chart.build_cartesian_2d((x.0..x.1).log_scale(), y)?)?;
        } else {
            self.fill(chart.build_cartesian_2d((x.0..x.1).log_scale(), 0.0..1.4 * y.1)?)?;
        }
        area.present()?;
        Ok(())
    }

    fn fill<'a, Y>(
        &self,
        mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, Y>>,
    ) -> Result<(), Box<dyn Error>>
    where
        Y: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(self.x_label)
            .y_desc(self.y_label)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .label_style((FONT, 15))
            .axis_desc_style((FONT, 17))
            .draw()?;
        for (name, colour, points) in &self.curves {
            let style = colour.stroke_width(if *name == "ours" { 3 } else { 2 });
            chart
                .draw_series(LineSeries::new(points.clone(), style).point_size(3))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.2))
            .label_font((FONT, 15))
            .draw()?;
        Ok(())
    }
}
