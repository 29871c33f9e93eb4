//! profile: what a mount was asked for some time, and where the time went.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Answer;
use super::args::ProfileArgs;
use super::follow::{Follow, Spent, Tally, command_of, most, mount_of, stopped};
use super::output::Output;
use super::stats::{columns, duration};
use crate::Result;

pub fn profile(args: &ProfileArgs, json: bool) -> Result<Answer> {
    let (mount, below) = mount_of(&args.path)?;
    let mut follow = Follow::open(&mount, &below)?;
    let (tally, lasted) = follow.during(Duration::from_secs_f64(args.seconds), &stopped())?;
    drop(follow);
    let mut output = Output::new();
    if json {
        output.json(&as_json(&tally, lasted, args.count))?;
    } else {
        print(&mut output, &tally, (lasted, args.count))?;
    }
    output.finish()?;
    Ok(if tally.all.count == 0 { Answer::No } else { Answer::Yes })
}

fn print(output: &mut Output, tally: &Tally, (lasted, count): (Duration, usize)) -> Result<()> {
    let all = &tally.all;
    output.line(&format!(
        "{:.1} s: {} requests, {:.1} a second, {} failed, {} in all of them",
        lasted.as_secs_f64(),
        all.count,
        all.count as f64 / lasted.as_secs_f64().max(1e-9),
        all.failed,
        duration(all.nanos)
    ))?;
    if tally.lost > 0 {
        output.line("more came than could be read: the numbers are too low")?;
    }
    output.line("")?;
    output.line(&columns(&["request", "count", "failed", "time", "mean", "p50", "p99", "max"].map(str::to_owned)))?;
    for (name, spent) in most(&tally.requests, usize::MAX) {
        let mut cells = vec![name.clone(), spent.count.to_string(), spent.failed.to_string(), duration(spent.nanos)];
        let latencies = [spent.mean(), spent.quantile(0.5), spent.quantile(0.99), spent.quantile(1.0)];
        cells.extend(latencies.map(duration));
        output.line(&columns(&cells))?;
    }
    let line = |name: &str, spent: &Spent| {
        format!(
            "{:>10}{:>10}{:>12}{:>12}  {name}",
            spent.count,
            spent.failed,
            duration(spent.nanos),
            duration(spent.mean())
        )
    };
    let title = format!("{:>10}{:>10}{:>12}{:>12}  ", "count", "failed", "time", "mean");
    output.line(&format!("\n{title}path"))?;
    for (path, spent) in most(&tally.paths, count) {
        output.line(&line(path, spent))?;
    }
    output.line(&format!("\n{title}process"))?;
    for (pid, spent) in most(&tally.processes, count) {
        output.line(&line(&crate::error::printable(&command_of(pid)), spent))?;
    }
    Ok(())
}

/// `count`: of paths and of processes.
pub fn as_json(tally: &Tally, lasted: Duration, count: usize) -> Json {
    let plain = |spent: &Spent| json!({ "count": spent.count, "failed": spent.failed, "nanoseconds": spent.nanos });
    let measured = |spent: &Spent| {
        let mut object = plain(spent);
        object["quantile_nanoseconds"] =
            json!({ "0.5": spent.quantile(0.5), "0.99": spent.quantile(0.99), "1": spent.quantile(1.0) });
        object
    };
    let requests: Vec<Json> = most(&tally.requests, usize::MAX)
        .into_iter()
        .map(|(name, spent)| {
            let mut object = measured(spent);
            object["request"] = json!(name);
            object
        })
        .collect();
    let named = |key: &str, of| {
        let each = most(of, count).into_iter().map(|(name, spent)| {
            let mut object = plain(spent);
            object[key] = json!(name);
            object
        });
        each.collect::<Vec<Json>>()
    };
    json!({
        "seconds": lasted.as_secs_f64(), "all": measured(&tally.all), "is_complete": tally.lost == 0,
        "requests": requests, "paths": named("path", &tally.paths), "processes": named("pid", &tally.processes),
    })
}
