//! Colours, each a CSS variable with a light and a dark value.
//!
//! A drawing names a colour as `var(--ink, #1f2328)`: the page or the file's own style sheet sets the variable, and the
//! fall-back, the light value, is what a renderer without variables is given. Blue against vermilion (light) and sky
//! blue against orange (dark) are told apart with any kind of colour vision; a third series takes the ink, which
//! differs from both in lightness.

/// A colour, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// The ground behind everything.
    Paper,
    /// Titles and reference lines.
    Ink,
    /// Axis labels, and data that is only context.
    Muted,
    /// Axis lines.
    Axis,
    /// Grid lines.
    Grid,
    /// The model.
    Model,
    /// What the model is compared with.
    Other,
}

impl Colour {
    const ALL: [Self; 7] = [Self::Paper, Self::Ink, Self::Muted, Self::Axis, Self::Grid, Self::Model, Self::Other];

    /// The name of the colour's variable, its light value, its dark value.
    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Paper => ("paper", "#ffffff", "#15181c"),
            Self::Ink => ("ink", "#1f2328", "#e7e9ec"),
            Self::Muted => ("muted", "#5b636d", "#a4acb6"),
            Self::Axis => ("axis", "#8d959e", "#6b747e"),
            Self::Grid => ("grid", "#e7e9ec", "#2a2f36"),
            Self::Model => ("model", "#0b66a8", "#5ab4e8"),
            Self::Other => ("other", "#c9500b", "#f0a13a"),
        }
    }

    /// The colour as a CSS value: the variable, with the light value to fall back on.
    pub fn css(self) -> String {
        let (name, light, _) = self.row();
        format!("var(--{name}, {light})")
    }
}

/// The style sheet that sets every variable on `selector`, following the reader's choice of light or dark.
pub fn style_sheet(selector: &str) -> String {
    let declare = |dark: bool| -> String {
        let value =
            |(name, light, night): (&str, &str, &str)| format!("--{name}:{};", if dark { night } else { light });
        Colour::ALL.iter().map(|colour| value(colour.row())).collect()
    };
    format!(
        "{selector}{{color-scheme:light dark;{}}}@media (prefers-color-scheme:dark){{{selector}{{{}}}}}",
        declare(false),
        declare(true)
    )
}

/// The picture `svg` with every variable replaced by its light value.
pub(in crate::picture) fn resolve(svg: &str) -> String {
    Colour::ALL.iter().fold(svg.to_owned(), |svg, colour| svg.replace(&colour.css(), colour.row().1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolving_leaves_no_variable() {
        let all: String = Colour::ALL.iter().map(|colour| colour.css()).collect();
        assert!(all.contains("var("));
        assert!(!resolve(&all).contains("var("));
    }

    /// Relative luminance by the definition in WCAG 2.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits")) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn text_and_data_stand_out_from_the_paper_in_both_themes() {
        let (_, light, dark) = Colour::Paper.row();
        let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
        for colour in [Colour::Ink, Colour::Muted, Colour::Model, Colour::Other] {
            let (name, day, night) = colour.row();
            assert!(contrast(luminance(day), luminance(light)) > 4.5, "{name}, light");
            assert!(contrast(luminance(night), luminance(dark)) > 4.5, "{name}, dark");
        }
    }
}
