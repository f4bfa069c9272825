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
                    "cost": cost(spec.doc),
                    "doc": spec.doc.trim(),
                })
            })
            .collect();
        format!("{:#}\n", serde_json::Value::Array(algorithms))
    } else {
        let mut rows = vec![
            ["ALGORITHM", "OPERATOR", "ENGINES", "MAX RANKS", "LAYOUTS", "WHAT IT IS", "COST"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for spec in library {
            let engines: Vec<&str> = engines(spec).iter().map(|engine| engine.name()).collect();
            rows.push(vec![
                spec.snake.to_owned(),
                spec.operator.name().to_owned(),
                engines.join(" "),
                spec.headers.max_ranks.map_or("-".into(), |max| max.to_string()),
                layouts(spec).join(", "),
                summary(spec.doc),
                cost(spec.doc),
            ]);
        }
        let mut align = [Align::Left; 7];
        align[3] = Align::Right;
        table(&rows, &align)
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

/// The sentence of a doc comment that begins with `Cost`, without that word; empty if there is none.
fn cost(doc: &str) -> String {
    let words: Vec<&str> = doc.split_whitespace().collect();
    let text = words.join(" ");
    let Some(start) = text.find("Cost") else { return String::new() };
    let rest = text[start + "Cost".len()..].trim_start_matches(':').trim_start();
    rest[..rest.find(". ").unwrap_or(rest.len())].trim_end_matches('.').to_owned()
}

/// The engines that carry an algorithm out.
fn engines(spec: &Spec<'_>) -> Vec<Engine> {
    [Engine::AiCpu, Engine::Aiv].into_iter().filter(|engine| spec.offers(*engine)).collect()
}

/// The layouts that an algorithm is verified for: any flat one, or those that it names.
fn layouts(spec: &Spec<'_>) -> Vec<String> {
    match spec.headers.verify {
        Verify::Ranks(..) => vec!["flat".into()],
        Verify::Layouts(layouts) => layouts.iter().map(ToString::to_string).collect(),
    }
}
