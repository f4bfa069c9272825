//! Clusters as TOML files (`docs/clusters.md`). What is wrong in one is told with its line.

use serde::Deserialize;
use toml::Spanned;

use super::{Aiv, Cluster, Engine, Fabric, Level, Scope};
use hcomm_core::product::Product;
use hcomm_core::shape::{Layout, MAX_RANKS};

/// What is wrong with a cluster's file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ClusterError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong, and what would do.
    pub message: String,
}

/// Larger files are refused: a cluster is a page of text.
const MAX_BYTES: usize = 1 << 20;
/// More levels have no use: there are four scopes.
const MAX_LEVELS: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    about: Option<Spanned<String>>,
    product: Spanned<String>,
    layout: Spanned<String>,
    dies: Option<Spanned<u32>>,
    #[serde(default)]
    engine: EngineFile,
    #[serde(default)]
    aiv: AivFile,
    #[serde(default)]
    level: Vec<Spanned<LevelFile>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct EngineFile {
    launch_us: Option<Spanned<f64>>,
    local_us: Option<Spanned<f64>>,
    transfer_us: Option<Spanned<f64>>,
    thread_record_us: Option<Spanned<f64>>,
    channel_record_us: Option<Spanned<f64>>,
    wait_us: Option<Spanned<f64>>,
    local_copy_gbps: Option<Spanned<f64>>,
    local_reduce_gbps: Option<Spanned<f64>>,
    inline_reduce_gbps: Option<Spanned<f64>>,
    ai_cpu_reduce_gbps: Option<Spanned<f64>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct AivFile {
    launch_us: Option<Spanned<f64>>,
    copy_us: Option<Spanned<f64>>,
    record_us: Option<Spanned<f64>>,
    poll_us: Option<Spanned<f64>>,
    sync_us: Option<Spanned<f64>>,
    barrier_us: Option<Spanned<f64>>,
    load_gbps: Option<Spanned<f64>>,
    store_gbps: Option<Spanned<f64>>,
    atomic_gbps: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelFile {
    name: Spanned<String>,
    scope: Spanned<String>,
    fabric: Spanned<String>,
    gbps: Spanned<f64>,
    utilisation: Option<Spanned<f64>>,
    ports: Option<Spanned<u32>>,
    sharing: Option<Spanned<u32>>,
    node_gbps: Option<Spanned<f64>>,
    latency_us: Spanned<f64>,
    notify_latency_us: Option<Spanned<f64>>,
}

impl Cluster {
    /// Reads a cluster.
    ///
    /// # Errors
    ///
    /// What is wrong first, with its place in the text.
    pub fn from_toml(text: &str) -> Result<Cluster, ClusterError> {
        let reader = Reader { text };
        if text.len() > MAX_BYTES {
            return Err(reader.wrong(0, format!("{} bytes are more than the {MAX_BYTES} of a cluster", text.len())));
        }
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.wrong(at, error.message().trim().to_owned())
        })?;
        let product = Product::from_name(file.product.get_ref()).ok_or_else(|| {
            reader.at(&file.product, format!("there is no product `{}`: a2, a3 or 950", file.product.get_ref()))
        })?;
        let layout = parse_layout(file.layout.get_ref()).ok_or_else(|| {
            let forms = "\"8\", \"2x8\" or \"2x4x16\" (pods x nodes x locals)";
            reader.at(&file.layout, format!("a layout is like {forms}, with at most {MAX_RANKS} ranks"))
        })?;
        let mut levels: Vec<Level> = Vec::new();
        for spanned in &file.level {
            if levels.len() == MAX_LEVELS {
                return Err(reader.at(spanned, format!("more than {MAX_LEVELS} levels: there is one for each scope")));
            }
            let level = reader.level(spanned.get_ref())?;
            if let Some(before) = levels.last()
                && before.scope >= level.scope
            {
                let scopes: Vec<&str> = Scope::ALL.map(Scope::name).to_vec();
                let message = format!(
                    "level `{}` follows `{}`, and its scope is not wider: scopes grow from level to level ({})",
                    level.name,
                    before.name,
                    scopes.join(", ")
                );
                return Err(reader.at(&spanned.get_ref().scope, message));
            }
            levels.push(level);
        }
        let dies = reader.count(file.dies.as_ref(), "dies")?;
        let engine = reader.engine(&file.engine)?;
        let aiv = reader.aiv(&file.aiv)?;
        let name = reader.line(&file.name, "name")?;
        if name.is_empty() {
            return Err(reader.at(&file.name, "`name` is empty: it is what the cluster is called in outputs".into()));
        }
        let about = file.about.as_ref().map(|about| reader.line(about, "about")).transpose()?.unwrap_or_default();
        let cluster = Cluster { name, about, product, layout, dies, engine, aiv, levels };
        cluster.admits(&layout).map_err(|message| reader.at(&file.layout, message))?;
        Ok(cluster)
    }
}

/// `8`, `2x8` or `2x4x16`.
fn parse_layout(text: &str) -> Option<Layout> {
    let numbers: Vec<u32> = text.split('x').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    match numbers[..] {
        [locals] => Layout::flat(locals),
        [nodes, locals] => Layout::equal(1, nodes, locals),
        [pods, nodes, locals] => Layout::equal(pods, nodes, locals),
        _ => None,
    }
}

/// The text that places are in.
struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn wrong(&self, byte: usize, message: String) -> ClusterError {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        ClusterError { line, column, message }
    }

    fn at<T>(&self, spanned: &Spanned<T>, message: String) -> ClusterError {
        self.wrong(spanned.span().start, message)
    }

    /// A text that is printed within a line, and into comments of generated code.
    fn line(&self, text: &Spanned<String>, name: &str) -> Result<String, ClusterError> {
        if text.get_ref().chars().any(char::is_control) {
            return Err(self.at(text, format!("`{name}` is one line of text, without control characters")));
        }
        Ok(text.get_ref().trim().to_owned())
    }

    /// A time in microseconds, as nanoseconds; 0 if it is not given.
    fn time(&self, time: Option<&Spanned<f64>>, name: &str) -> Result<f64, ClusterError> {
        let Some(time) = time else { return Ok(0.0) };
        let us = *time.get_ref();
        if !(0.0..=1e9).contains(&us) {
            return Err(self.at(time, format!("`{name}` is {us}: a time in microseconds is between 0 and 1e9")));
        }
        Ok(us * 1000.0)
    }

    /// A rate in GB/s; infinite if it is not given.
    fn rate(&self, rate: Option<&Spanned<f64>>, name: &str) -> Result<f64, ClusterError> {
        let Some(rate) = rate else { return Ok(f64::INFINITY) };
        let gbps = *rate.get_ref();
        if !(1e-6..=1e9).contains(&gbps) {
            return Err(self.at(rate, format!("`{name}` is {gbps}: a rate in GB/s is between 1e-6 and 1e9")));
        }
        Ok(gbps)
    }

    /// A number of things, 1 if it is not given.
    fn count(&self, count: Option<&Spanned<u32>>, name: &str) -> Result<u32, ClusterError> {
        let Some(count) = count else { return Ok(1) };
        match *count.get_ref() {
            n @ 1..=1024 => Ok(n),
            n => Err(self.at(count, format!("`{name}` is {n}: it is between 1 and 1024"))),
        }
    }

    fn engine(&self, file: &EngineFile) -> Result<Engine, ClusterError> {
        Ok(Engine {
            launch: self.time(file.launch_us.as_ref(), "launch_us")?,
            local: self.time(file.local_us.as_ref(), "local_us")?,
            transfer: self.time(file.transfer_us.as_ref(), "transfer_us")?,
            thread_record: self.time(file.thread_record_us.as_ref(), "thread_record_us")?,
            channel_record: self.time(file.channel_record_us.as_ref(), "channel_record_us")?,
            wait: self.time(file.wait_us.as_ref(), "wait_us")?,
            local_copy: self.rate(file.local_copy_gbps.as_ref(), "local_copy_gbps")?,
            local_reduce: self.rate(file.local_reduce_gbps.as_ref(), "local_reduce_gbps")?,
            inline_reduce: self.rate(file.inline_reduce_gbps.as_ref(), "inline_reduce_gbps")?,
            ai_cpu_reduce: self.rate(file.ai_cpu_reduce_gbps.as_ref(), "ai_cpu_reduce_gbps")?,
        })
    }

    fn aiv(&self, file: &AivFile) -> Result<Aiv, ClusterError> {
        let store = self.rate(file.store_gbps.as_ref(), "store_gbps")?;
        Ok(Aiv {
            launch: self.time(file.launch_us.as_ref(), "launch_us")?,
            copy: self.time(file.copy_us.as_ref(), "copy_us")?,
            record: self.time(file.record_us.as_ref(), "record_us")?,
            poll: self.time(file.poll_us.as_ref(), "poll_us")?,
            sync: self.time(file.sync_us.as_ref(), "sync_us")?,
            barrier: self.time(file.barrier_us.as_ref(), "barrier_us")?,
            load: self.rate(file.load_gbps.as_ref(), "load_gbps")?,
            store,
            atomic: match &file.atomic_gbps {
                None => store,
                given => self.rate(given.as_ref(), "atomic_gbps")?,
            },
        })
    }

    fn level(&self, file: &LevelFile) -> Result<Level, ClusterError> {
        let name = file.name.get_ref();
        if name.is_empty() || name.len() > 32 || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(self.at(&file.name, "a level's name is a word of up to 32 letters".into()));
        }
        let scope = Scope::ALL.into_iter().find(|scope| scope.name() == file.scope.get_ref()).ok_or_else(|| {
            let known = Scope::ALL.map(Scope::name).join(", ");
            self.at(&file.scope, format!("there is no scope `{}`: {known}", file.scope.get_ref()))
        })?;
        let fabric = match file.fabric.get_ref().as_str() {
            "mesh" => Fabric::Mesh,
            "switch" => Fabric::Switch,
            other => return Err(self.at(&file.fabric, format!("there is no fabric `{other}`: mesh or switch"))),
        };
        if fabric == Fabric::Mesh {
            let only = "is of a switch only: a link of a mesh joins two ranks";
            if let Some(sharing) = &file.sharing {
                return Err(self.at(sharing, format!("`sharing` {only}")));
            }
            if let Some(gbps) = &file.node_gbps {
                return Err(self.at(gbps, format!("`node_gbps` {only}")));
            }
        }
        let utilisation = match &file.utilisation {
            None => 1.0,
            Some(part) if (1e-6..=1.0).contains(part.get_ref()) => *part.get_ref(),
            Some(part) => return Err(self.at(part, "`utilisation` is a part: above 0, and at most 1".into())),
        };
        let gbps = self.rate(Some(&file.gbps), "gbps")?;
        let ports = self.count(file.ports.as_ref(), "ports")?;
        let node_gbps = file.node_gbps.as_ref().map(|rate| self.rate(Some(rate), "node_gbps")).transpose()?;
        Ok(Level {
            name: name.clone(),
            scope,
            fabric,
            gbps: gbps * f64::from(ports) * utilisation,
            sharing: self.count(file.sharing.as_ref(), "sharing")?,
            node_gbps: node_gbps.map(|gbps| gbps * utilisation),
            latency: self.time(Some(&file.latency_us), "latency_us")?,
            notify_latency: self.time(file.notify_latency_us.as_ref(), "notify_latency_us")?,
        })
    }
}
