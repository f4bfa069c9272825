//! Presets, files with mistakes in them, paths, rank tables.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::rank_table;
use super::*;

#[test]
fn presets_are_well_formed_and_name_their_sources() {
    for (name, text) in PRESETS {
        let cluster = Cluster::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((cluster.name.as_str(), Cluster::preset(name)), (name, Some(cluster.clone())));
        for line in text.lines().filter(|line| line.contains(" = ") && line.contains(|c: char| c.is_ascii_digit())) {
            let value = line.split(" = ").nth(1).unwrap().trim();
            let is_number = value.starts_with(|c: char| c.is_ascii_digit());
            let has_source = line.contains("facts 6.3") || line.contains("# assumption");
            assert!(!is_number || has_source, "{name}: no source: {line}");
        }
    }
    assert_eq!(Cluster::preset("a4"), None);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let good = PRESETS[1].1;
    let cases = [
        ("gbps = 18.3", "gbps = -1.0", "`gbps` is -1: a rate in GB/s is between 1e-6 and 1e9"),
        ("fabric = \"mesh\"", "fabric = \"torus\"", "there is no fabric `torus`: mesh or switch"),
        ("scope = \"cluster\"", "scope = \"node\"", "level `roce` follows `hccs`, and its scope is not wider"),
        ("scope = \"node\"", "scope = \"rack\"", "there is no scope `rack`: device, node, pod, cluster"),
        ("product = \"a2\"", "product = \"a9\"", "there is no product `a9`"),
        ("layout = \"2x8\"", "layout = \"2x2x2x2\"", "a layout is like"),
        ("utilisation = 0.8", "utilisation = 1.5", "`utilisation` is a part"),
        ("latency_us = 6.4", "latency_us = nan", "`latency_us` is NaN"),
        ("fabric = \"mesh\"", "fabric = \"mesh\"\nsharing = 2", "`sharing` is of a switch only"),
        ("wait_us = 0.02", "wait = 0.02", "unknown field `wait`"),
        ("scope = \"cluster\"", "scope = \"pod", "invalid basic string"),
    ];
    for (from, to, message) in cases {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let error = Cluster::from_toml(&text).unwrap_err();
        assert!(error.message.contains(message), "{to}: {error}");
        let written = to.lines().last().unwrap().split(['=', ' ']).next().unwrap();
        let line = text.lines().nth(error.line - 1).unwrap();
        assert!(line.contains(written), "{to}: line {} is {line}", error.line);
    }
    let text = good
        .replace("scope = \"cluster\"", "scope = \"node\"")
        .replace("scope = \"node\"\nfabric = \"mesh\"", "scope = \"device\"\nfabric = \"mesh\"");
    assert!(Cluster::from_toml(&text).unwrap_err().message.contains("needs links of scope `pod`"));
}

fn names(network: &mut Network<'_>, from: u32, to: u32) -> Vec<String> {
    let path = network.path(from, to);
    let route = network.routes()[path as usize];
    route.hops().iter().map(|link| network.name(*link)).collect()
}

#[test]
fn paths_take_the_narrowest_level() {
    let cluster = Cluster::preset("a3-superpod").unwrap();
    let mut network = Network::new(&cluster, Layout::equal(2, 2, 4).unwrap()).unwrap();
    assert_eq!(names(&mut network, 0, 1), ["sio 0>1"]);
    assert_eq!(names(&mut network, 1, 2), ["hccs out of rank 1", "hccs into rank 2"]);
    assert_eq!(names(&mut network, 7, 0), ["hccs out of rank 7", "hccs into rank 0"]);
    assert_eq!(names(&mut network, 7, 8), ["roce out of rank 7", "roce into rank 8"]);
    assert_eq!(network.path(7, 8), network.path(7, 8));
    let sio = network.path(0, 1);
    assert!((network.routes()[sio as usize].gbps - 204.0).abs() < 1e-9);
    // What is asked for is there, and no more.
    assert_eq!(network.links().len(), 7);
}

#[test]
fn ports_can_be_shared_and_nodes_have_uplinks() {
    let text = PRESETS[1].1.replace("utilisation = 0.8 ", "sharing = 4\nnode_gbps = 30.0\n#");
    let cluster = Cluster::from_toml(&text).unwrap();
    let mut network = Network::new(&cluster, Layout::equal(1, 2, 8).unwrap()).unwrap();
    let expected = ["roce out of rank 4", "roce out of node 0", "roce into node 1", "roce into rank 8"];
    assert_eq!(names(&mut network, 6, 11), expected);
    assert_eq!(names(&mut network, 4, 8), expected);
    let a2 = Cluster::preset("a2-server").unwrap();
    let refused = Network::new(&a2, Layout::equal(1, 2, 8).unwrap()).unwrap_err();
    assert_eq!(refused, "a2-server joins the ranks of a node, and the layout 2 x 8 needs links of scope `pod`");
}

fn server(id: u32, ranks: std::ops::Range<u32>, superpod: bool) -> String {
    let sdid = |rank| if superpod { format!(r#", "super_device_id": "{rank}""#) } else { String::new() };
    let device =
        |rank| format!(r#"{{"device_id": "{rank}", "device_ip": "10.0.0.1", "rank_id": "{rank}"{}}}"#, sdid(rank));
    let devices: Vec<String> = ranks.map(device).collect();
    format!(r#"{{"server_id": "node_{id}", "device": [{}]}}"#, devices.join(","))
}

fn servers(version: &str, servers: &[String], more: &str) -> String {
    let (count, list) = (servers.len(), servers.join(","));
    format!(
        r#"{{"status": "completed", "version": "{version}", "server_count": "{count}", "server_list": [{list}]{more}}}"#
    )
}

#[test]
fn rank_tables_of_every_version() {
    let a2 = servers("1.0", &[server(0, 0..8, false), server(1, 8..16, false)], "");
    assert_eq!(rank_table::layout(&a2), Ok(Layout::equal(1, 2, 8).unwrap()));
    let uneven = servers("1.0", &[server(0, 0..3, false), server(1, 3..8, false)], "");
    assert_eq!(rank_table::layout(&uneven), Ok(Layout::unequal(&[3, 5]).unwrap()));
    let pods = r#", "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "node_0"}]}, {"super_pod_id": "1", "server_list": [{"server_id": "node_1"}]}]"#;
    let a3 = servers("1.2", &[server(0, 0..4, true), server(1, 4..8, true)], pods);
    assert_eq!(rank_table::layout(&a3), Ok(Layout::equal(2, 1, 4).unwrap()));
    // Without super_device_id it is server mode.
    let server_mode = servers("1.2", &[server(0, 0..4, false), server(1, 4..8, false)], pods);
    assert_eq!(rank_table::layout(&server_mode), Ok(Layout::equal(1, 2, 4).unwrap()));
    let rank = |rank: u32, node: u32| {
        format!(
            r#"{{"rank_id": {rank}, "local_id": {rank}, "device_id": {rank}, "level_list": [
            {{"net_layer": 0, "net_instance_id": "az0-{node}", "net_type": "TOPO_FILE_DESC"}},
            {{"net_layer": 1, "net_instance_id": "superpod", "net_type": "CLOS"}}]}}"#
        )
    };
    let ranks: Vec<String> = (0..8).map(|r| rank(r, r / 2)).collect();
    let a5 =
        format!(r#"{{"version": "2.0", "status": "completed", "rank_count": 8, "rank_list": [{}]}}"#, ranks.join(","));
    assert_eq!(rank_table::layout(&a5), Ok(Layout::equal(1, 4, 2).unwrap()));
}

#[test]
fn rank_tables_with_mistakes() {
    let said = |text: &str| rank_table::layout(text).unwrap_err().to_string();
    assert_eq!(said("{\n  \"version\": 3 }"), "line 2, column 14: invalid type: integer `3`, expected a string");
    assert_eq!(said("[]"), "line 1, column 2: invalid length 0, expected a rank table");
    assert_eq!(said(r#"{"version": "7"}"#), "there is no version \"7\": 1.0, 1.2 or 2.0");
    assert_eq!(said(r#"{"version": "1.0"}"#), "version 1.0 has no `server_list`");
    let twice = servers("1.0", &[server(0, 0..2, false), server(1, 1..3, false)], "");
    assert_eq!(said(&twice), "rank 1 is listed twice");
    let missing = servers("1.0", &[server(0, 0..2, false), server(1, 3..5, false)], "");
    assert_eq!(said(&missing), "rank 2 is missing: ranks are 0 to 3");
    assert_eq!(said(&servers("1.0", &[], "")), "there are 0 ranks: a communicator has between 1 and 4096");
    let interleaved = servers("1.0", &[server(0, 0..2, false), server(1, 2..3, false)], "")
        .replace(r#""rank_id": "1""#, r#""rank_id": "x""#)
        .replace(r#""rank_id": "2""#, r#""rank_id": "1""#)
        .replace(r#""rank_id": "x""#, r#""rank_id": "2""#);
    assert_eq!(said(&interleaved), "rank 2: the ranks of server node_0 do not follow one another");
}

#[test]
fn texts_of_a_cluster_are_lines() {
    let said = |from: &str, to: &str| {
        assert!(PRESETS[0].1.contains(from));
        Cluster::from_toml(&PRESETS[0].1.replacen(from, to, 1)).unwrap_err().message
    };
    let name = "name = \"a2-server\"";
    assert_eq!(said(name, "name = \"a\\n#error\""), "`name` is one line of text, without control characters");
    assert_eq!(said(name, "name = \" \""), "`name` is empty: it is what the cluster is called in outputs");
    assert!(said("layout = \"8\"", "layout = \"99x99\"").ends_with("with at most 4096 ranks"));
}
