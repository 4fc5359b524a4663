//! JSON Schemas of the results.
//!
//! Owns the names of views and the commands that print them, and what may be null. Descriptions are
//! the documentation of the types.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};

use crate::clusters::{ClusterData, TrackData};
use crate::collection::CollectionData;
use crate::folded::FoldedData;
use crate::growth::GrowthData;
use crate::links::{CableTable, ExperimentResult, LinkTables, PlacementTable, RegionTables};
use crate::machine::{Check, CounterData, MachineData, MapData};
use crate::metrics::MetricsData;
use crate::ports::{JobPorts, PortRates, SonarResult};
use crate::regions::RegionList;
use crate::site::{Findings, Forgotten, JobDetails, JobList, RatesData, UsageData};
use crate::views::{
    ClassData, EventLine, GraphView, MatrixData, SamplesData, StatsData, StructureData,
};
use crate::watch::WatchData;
use crate::{HostData, ReportData, SiteGroup, SiteRow};

/// A result with a schema.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Its name in `talea schema NAME`.
    pub name: &'static str,
    /// The command that prints it.
    pub command: &'static str,
    schema: fn() -> Schema,
}

impl View {
    /// Its JSON Schema, draft 2020-12.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(absent))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// A value that cannot be had is `NaN` in memory and null in JSON, so that each floating-point
/// number may be null.
fn absent(schema: &mut Schema) {
    if schema.get("type").is_some_and(|kind| kind == "number") {
        schema.insert("type".to_owned(), ["number", "null"].as_slice().into());
    }
}

const fn view<T: JsonSchema>(name: &'static str, command: &'static str) -> View {
    View { name, command, schema: schema_of::<T> }
}

/// All views, by name.
pub const VIEWS: &[View] = &[
    view::<CableTable>("cables", "talea fabric table PERFQUERY --json"),
    view::<Vec<SiteGroup>>("call-groups", "talea show RUN calls --by line|routine --json"),
    view::<Vec<SiteRow>>("calls", "talea show RUN calls --by path --json"),
    view::<Vec<ClassData>>("classes", "talea show RUN classes --json"),
    view::<ClusterData>("cluster", "talea cluster INPUT --json"),
    view::<CollectionData>("collection", "talea show RUN collection --json"),
    view::<Vec<CounterData>>("counters", "talea topo --counters --json"),
    view::<Vec<Check>>("doctor", "talea doctor --json"),
    view::<EventLine<'_>>("event", "talea events RUN --json-lines, each line"),
    view::<ExperimentResult>("experiment", "talea fabric sonar --simulate ... --json"),
    view::<Findings>("findings", "talea jobs --findings --json"),
    view::<FoldedData>("fold", "talea fold INPUT --json"),
    view::<Vec<RegionList>>("fold-list", "talea fold INPUT --list --json"),
    view::<Vec<Forgotten>>("forgotten", "talea store forgotten --json"),
    view::<GraphView>("graph", "talea show RUN graph --json"),
    view::<GrowthData>("growth", "talea show RUN growth --json"),
    view::<Vec<HostData>>("hosts", "talea show RUN hosts --json"),
    view::<JobDetails>("job", "talea jobs --job NAME --json"),
    view::<JobPorts>("job-ports", "talea fabric table RUN --json"),
    view::<JobList>("jobs", "talea jobs --json"),
    view::<LinkTables>("links", "talea fabric table TILES --json"),
    view::<MachineData>("machine", "talea topo --json, without monitors"),
    view::<MapData>("map", "talea topo --json, with monitors"),
    view::<MatrixData>("matrix", "talea show RUN matrix --json"),
    view::<MetricsData>("metrics", "talea metrics INPUT --json"),
    view::<PlacementTable>("place", "talea fabric place --json"),
    view::<PortRates>("ports", "talea fabric counters --json"),
    view::<RatesData>("rates", "talea usage --rates --json"),
    view::<RegionTables>("region-links", "talea fabric regions META --json"),
    view::<ReportData>("report", "data of report.html, written by talea report RUN"),
    view::<Vec<SamplesData>>("samples", "talea show RUN samples --json"),
    view::<SonarResult>("sonar", "talea fabric sonar --json"),
    view::<StatsData>("stats", "talea show RUN stats --json"),
    view::<Vec<StructureData>>("structure", "talea show RUN structure --json"),
    view::<TrackData>("track", "talea track INPUT... --json"),
    view::<UsageData>("usage", "talea usage --json"),
    view::<WatchData>("watch", "talea watch RUN --json, each line"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_described() {
        for view in VIEWS {
            let schema = view.schema();
            let json = schema.as_value();
            let definitions = json["$defs"].as_object().into_iter().flatten();
            for (name, one) in definitions.chain([(&view.name.to_owned(), json)]) {
                for (key, value) in one["properties"].as_object().into_iter().flatten() {
                    let described = value["description"].as_str().or(value["$ref"].as_str());
                    assert!(described.is_some(), "{}: {name}.{key}: {value}", view.name);
                }
            }
        }
    }

    #[test]
    fn names_are_in_order() {
        assert!(VIEWS.is_sorted_by_key(|view| view.name));
    }
}
