//! Names of a sample: its job and user, executable, library and phase.

use talea_model::shares::Activity;
use talea_sampling::system::{Hit, State};

use super::Agent;
use crate::notices::{Facts, Whose};
use crate::tally::Named;

impl Agent {
    pub(super) fn named(&mut self, hit: Hit) -> Named {
        let mut named = Named {
            core: hit.core,
            activity: match hit.state {
                State::User => Activity::User,
                State::Kernel => Activity::Kernel,
                State::Idle => Activity::Idle,
            },
            job: None,
            user: None,
            executable: None,
            library: None,
            address: None,
            phase: None,
            samples: hit.count,
        };
        if hit.state == State::Idle {
            named.job = self.allotted.waits(hit.core, hit.count);
            if named.job.is_some() {
                named.activity = Activity::Waiting;
            }
            return named;
        }
        let process = self.processes.find(&hit);
        let environment = match process.scheduled {
            None if !self.known.is_empty() => self.processes.environment(hit.process),
            _ => None,
        };
        let facts = Facts {
            grouped: process.scheduled.as_ref(),
            environment,
            user: process.user,
            core: hit.core,
        };
        named.job = match self.known.whose(&facts, hit.count) {
            // Only its time is kept.
            Whose::Hidden => return named,
            Whose::Job(job) => Some(job),
            Whose::Nobody => process.scheduled.or(process.grouped),
        };
        named.user = process.user;
        let sampler = &self.sampler;
        if let Some(file) = hit.executable {
            let known = self.modules.find(file, hit.process, || sampler.path(file));
            named.executable = Some(known.module.clone());
        }
        if hit.state == State::Kernel {
            named.library = Some(self.kernel.clone());
            named.address = Some(hit.offset);
        } else if let Some(file) = hit.file {
            let known = self.modules.find(file, hit.process, || sampler.path(file));
            named.address = known.address(hit.offset);
            named.library = Some(known.module.clone());
        }
        named.phase = hit.phase.map(|phase| String::from_utf8_lossy(&phase).into_owned());
        named
    }
}
