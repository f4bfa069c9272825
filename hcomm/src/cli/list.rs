//! `hcomm list`

use serde_json::json;

use super::Answer;
use super::describe::{Align, table};
use crate::spec::{Engine, Spec, Verify};

pub(super) fn list(library: &[&Spec<'static>], json: bool) -> Answer {
    let text = if json {
        let algorithms: Vec<serde_json::Value> = library
            .iter()
            .map(|spec| {
                let engines: Vec<&str> = engines(spec).iter().map(|engine| engine.name()).collect();
                json!({
                    "name": spec.snake,
                    "operator": spec.operator.name(),
                    "engines": engines,
                    "max_ranks": spec.headers.max_ranks,
                    "layouts": layouts(spec),
                    "doc": spec.doc.trim(),
                })
            })
            .collect();
        format!("{:#}\n", serde_json::Value::Array(algorithms))
    } else {
        let mut rows =
            vec![["ALGORITHM", "OPERATOR", "ENGINES", "MAX RANKS", "WHAT IT IS"].map(str::to_owned).to_vec()];
        for spec in library {
            let engines: Vec<&str> = engines(spec).iter().map(|engine| engine.name()).collect();
            rows.push(vec![
                spec.snake.to_owned(),
                spec.operator.name().to_owned(),
                engines.join(" "),
                spec.headers.max_ranks.map_or("-".into(), |max| max.to_string()),
                summary(spec.doc),
            ]);
        }
        table(&rows, &[Align::Left, Align::Left, Align::Left, Align::Right, Align::Left])
    };
    Answer { text, holds: true }
}

/// The first sentence of a doc comment.
fn summary(doc: &str) -> String {
    let words: Vec<&str> = doc.trim().lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let paragraph = words.join(" ");
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches('.').to_owned()
}

/// The engines that carry an algorithm out.
fn engines(spec: &Spec<'_>) -> Vec<Engine> {
    let wanted = spec.headers.engines;
    [Engine::AiCpu, Engine::Aiv].into_iter().filter(|engine| wanted.is_empty() || wanted.contains(engine)).collect()
}

/// The layouts that an algorithm is verified for: any flat one, or those that it names.
fn layouts(spec: &Spec<'_>) -> Vec<String> {
    match spec.headers.verify {
        Verify::Ranks(..) => vec!["flat".into()],
        Verify::Layouts(layouts) => layouts.iter().map(ToString::to_string).collect(),
    }
}
