//! Damage to what clusters are made of: tables of bursts, and small traces.
//!
//! Owns the samples and what is done with whatever can still be read of them.

use talea_cluster::auto;
use talea_cluster::bursts::bursts;
use talea_cluster::dimension::Dimension;
use talea_cluster::prepare::{self, Preparation, Range};
use talea_formats::paraver::{self, Damage, Options};
use talea_formats::table;

const TABLES: [&str; 2] = [
    "rank,begin,end,duration,cluster,\"a, b\",c\n0,0,10,10,1,4.5,1e3\n1,5,9,4,,NaN,-2\n2,6,8,2,3,,7\n",
    "x;y;name\r\n1;2;\"a;b\"\r\n3;4;\r\n\r\n5;6;c\r\n",
];
const TRACES: [&str; 2] = [
    "#Paraver (01/01/2026 at 10:00):9000_ns:1(2):1:2(1:1,1:1)\n1:1:1:1:1:0:100:1\n\
     2:1:1:1:1:100:50000001:1:42000050:900:42000059:450:70000001:3\n2:1:1:1:1:150:50000001:0\n1:1:1:1:1:150:300:1\n\
     2:1:1:1:1:200:41999999:2:42000050:0\n2:1:1:1:1:300:50000002:8:42000050:700:42000059:400\n1:2:1:2:1:0:120:1\n\
     2:2:1:2:1:120:50000001:1:42000050:880:42000059:460\n",
    "#Paraver (01/01/2026 at 10:00):9000_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:9000:1\n2:1:1:1:1:10:60000019:5\n\
     2:1:1:1:1:90:60000019:0:42000050:7\n2:1:1:1:1:100:60000019:5:60000119:1\n2:1:1:1:1:190:60000019:0:42000050:8\n",
];

/// Tables as text.
pub(super) fn tables() -> Vec<Vec<u8>> {
    TABLES.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Traces as text.
pub(super) fn traces() -> Vec<Vec<u8>> {
    TRACES.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Reads a table with all columns, and with some.
pub(super) fn table(bytes: &[u8]) -> Result<(), String> {
    for wanted in [None, Some(vec!["x".to_owned(), "y".to_owned()]), Some(vec!["c".to_owned()])] {
        if let Ok(found) = table::read(bytes, wanted.as_deref())
            && found.values.len() != found.rows * found.names.len()
        {
            return Err("rows that are not whole".to_owned());
        }
    }
    Ok(())
}

/// Finds bursts of a trace, and clusters them.
pub(super) fn trace(bytes: &[u8]) -> Result<(), String> {
    let Ok(trace) = paraver::read_bytes(bytes, &Options { size: None, damage: Damage::Skip })
    else {
        return Ok(());
    };
    let bursts = bursts(&trace);
    let lengths = [bursts.rank.len(), bursts.begin.len(), bursts.end.len(), bursts.site.len()];
    let of_some = [bursts.edge.len(), bursts.set.len()];
    let sites = bursts.sites.len() as u32;
    if lengths.iter().any(|&length| length != bursts.len())
        || of_some.iter().any(|length| ![0, bursts.len()].contains(length))
        || bursts.site.iter().any(|&site| site >= sites)
    {
        return Err("columns of different lengths".to_owned());
    }
    let Ok(dimensions) = Dimension::usual(&bursts) else { return Ok(()) };
    let columns: Result<Vec<Vec<f64>>, _> =
        dimensions.iter().map(|one| one.values(&bursts)).collect();
    let columns = columns.map_err(|error| error.to_string())?;
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let how = Preparation {
        duration: Range { low: auto::shortest(&bursts.duration, auto::SHORT), high: f64::INFINITY },
        dimensions: dimensions
            .iter()
            .map(|one| prepare::Dimension { spacing: one.spacing, ..prepare::Dimension::default() })
            .collect(),
    };
    let prepared =
        prepare::prepare(&columns, &bursts.duration, &how).map_err(|error| error.to_string())?;
    let ranks: Vec<_> = prepared.bursts.iter().map(|&burst| bursts.rank[burst as usize]).collect();
    let min_points = auto::min_points(&ranks);
    let radii = auto::radii(&prepared.points, Some(&prepared.scales), min_points);
    let edges: Vec<u32> = prepared
        .bursts
        .iter()
        .filter_map(|&burst| bursts.edge.get(burst as usize).copied())
        .collect();
    for points in [&prepared.points, &prepared.points.apart(&edges, 1.0)] {
        let task = auto::Task { points, weights: None, rank_of: &ranks, min_points, part: None };
        task.choose(&radii).map_err(|error| error.to_string())?;
    }
    Ok(())
}
