//! Recipes behind the search's port for generation. Answers are ready at once.

use std::{collections::HashMap, sync::Arc};

use crate::{
    evaluate::Plane,
    generate::{Offspring, Proposer, recipe::Context},
    kernel::{Candidate, CandidateId, Move},
    search::{
        Spend,
        ports::{Answer, Generator, Proposal, Request, Ticket},
    },
};

/// Makes candidates by recipes, the same ones for the same seed and requests.
#[derive(Debug)]
pub struct RecipesGenerator {
    proposer: Proposer,
    /// Knows the kernels that the cases launch, once the baseline was called.
    plane: Option<Arc<Plane>>,
    answers: HashMap<Ticket, Vec<Proposal>>,
    tickets: u64,
}

impl RecipesGenerator {
    pub fn new(context: Context, seed: u64) -> Self {
        let proposer = Proposer::new(context, seed);
        Self { proposer, plane: None, answers: HashMap::new(), tickets: 0 }
    }

    /// Leaves out moves on kernels that the cases of `plane` do not launch.
    #[must_use]
    pub fn watching(mut self, plane: Arc<Plane>) -> Self {
        self.plane = Some(plane);
        self
    }

    /// Never proposes `id`, for example since a run that is resumed has it already.
    pub fn remember(&mut self, id: CandidateId) {
        self.proposer.remember(id);
    }
}

impl Generator for RecipesGenerator {
    fn submit(&mut self, request: Request) -> Ticket {
        if let Some(plane) = &self.plane {
            self.proposer.know_launched(plane.launched());
        }
        let (parent, offspring) = match request {
            Request::Seeds { baseline, diagnosis, at_most } => {
                let offspring = self.proposer.seeds(&baseline.source, diagnosis.as_ref(), at_most);
                (baseline, offspring)
            }
            Request::Children { parent, evaluation, at_most } => {
                let made_by =
                    if let Move::Recipe { text } = &parent.origin { Some(text) } else { None };
                let made_by = made_by.map(String::as_str);
                let diagnosis = evaluation.diagnosis.as_ref();
                let offspring = self.proposer.children(&parent.source, made_by, diagnosis, at_most);
                (parent, offspring)
            }
            // No recipe answers these.
            Request::Rewrite { parent, .. } | Request::Repair { rejected: parent, .. } => {
                (parent, Vec::new())
            }
        };
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        let proposals = offspring.into_iter().map(|child| proposal(&parent, child)).collect();
        self.answers.insert(ticket, proposals);
        ticket
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        let proposals = self.answers.remove(&ticket).unwrap_or_default();
        Answer::Ready { proposals, spent: Spend::default() }
    }
}

fn proposal(parent: &Candidate, child: Offspring) -> Proposal {
    Proposal {
        parent: parent.id.clone(),
        origin: Move::Recipe { text: child.recipe.to_string() },
        source: Ok(child.source),
    }
}

#[cfg(test)]
mod tests;
