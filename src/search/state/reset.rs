//! After a change of device, driver or triton every timing is void. The baseline and the
//! candidates that had been promoted are measured anew; what was rejected stays rejected.

use super::{Standing, State, UnderWay};
use crate::kernel::{Gate, Verdict, Verification};

impl State {
    pub(super) fn make_timings_void(&mut self, reason: &str) {
        self.resets.push(reason.to_owned());
        self.baseline_evaluation = None;
        self.trajectory.clear();
        self.forget_progress();
        self.cut_short = false;
        if let Some(estimate) = self.verification_debit.take() {
            self.account.credit(&estimate);
        }
        self.verifications.retain(|verification| !rejected_by_timing(verification));
        self.verifications.retain(|verification| !verification.accepted());
        self.rungs.iter_mut().for_each(|rung| rung.reset());
        while let Some(job) = self.under_way.pop_front() {
            self.take_back(job);
        }
        for number in 0..self.records.len() {
            self.measure_anew(number, reason);
        }
    }

    /// Ends a job that was under way: its rejection holds, its timings do not.
    fn take_back(&mut self, job: UnderWay) {
        let rung = &mut self.rungs[job.rung];
        let record = &mut self.records[job.number];
        rung.under_way -= 1;
        record.standing = Standing::Queued { rung: job.rung };
        match job.arrived {
            Some((evaluation, spent)) => {
                self.account.correct(&job.estimate, &spent);
                if let Verdict::Rejected(rejection) = &evaluation.verdict {
                    rung.tally.rejected += 1;
                    let rejection = rejection.clone();
                    record.standing = Standing::Rejected { rung: job.rung, rejection };
                    record.evaluations.push(evaluation);
                    return;
                }
            }
            None => {
                self.account.credit(&job.estimate);
                rung.tally.entered -= 1;
            }
        }
        rung.queue.insert(record.key);
    }

    fn measure_anew(&mut self, number: usize, reason: &str) {
        let top = self.rungs.len() - 1;
        let record = &mut self.records[number];
        record.place = None;
        match &record.standing {
            // In a queue already, or out for good.
            Standing::Queued { .. } | Standing::Evaluating { .. } | Standing::Rejected { .. } => {}
            Standing::Refuted { rejection } if rejection.gate != Gate::Performance => {}
            _ if record.promotions > 0 => {
                let rung = record.promotions.min(top);
                record.promotions = rung;
                record.standing = Standing::Queued { rung };
                self.rungs[rung].queue.insert(record.key);
            }
            Standing::Waiting { rung } => {
                let reason = format!("its timings became void before it was promoted: {reason}");
                record.standing = Standing::Pruned { rung: *rung, reason };
            }
            _ => {}
        }
    }
}

fn rejected_by_timing(verification: &Verification) -> bool {
    matches!(&verification.verdict, Verdict::Rejected(why) if why.gate == Gate::Performance)
}
