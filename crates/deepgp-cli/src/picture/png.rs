//! PNG files of pictures.

use super::svg::colour::resolve;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels to a unit of the picture: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

/// The PNG file of a stand-alone SVG, in its light colours and with a font of our own, so that it looks the
/// same on every machine.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let tree = parse(svg)?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the picture has no size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| format!("the picture cannot be written as PNG: {error}"))
}

/// The picture as the renderer sees it: without CSS variables and media queries, which it does not know.
pub(crate) fn parse(svg: &str) -> Result<Tree, String> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Tree::from_str(&without_style(&resolve(svg)), &options)
        .map_err(|error| format!("the picture is not sound: {error}"))
}

/// The picture without its style sheet.
fn without_style(svg: &str) -> String {
    match (svg.find("<style>"), svg.find("</style>")) {
        (Some(start), Some(end)) if start < end => svg[..start].to_owned() + &svg[end + "</style>".len()..],
        _ => svg.to_owned(),
    }
}
