//! Generation behind the search's port: recipes, which answer at once, and a language model, which
//! takes its time. One request goes to one of them:
//!
//! ```text
//! search ── Seeds, Children ───────────────▶ recipes ── Ready
//!        ── Rewrite ─▶ expert task ─▶ prompt ─┐
//!        ── Repair ──▶ rejection, next turn ──┴▶ interview (a task) ── Pending … Ready, or Awaited
//!                                                 asks, reads, sends back what cannot be read
//! ```
//!
//! Every exchange is kept before it is asked and after it is answered. A run that is resumed finds its
//! requests open, asks the same conversations again, and has results that were not yet in its journal
//! at once.

mod briefing;
mod exchange;
mod interview;
mod model;
mod open;
mod purse;
mod replay;
mod tariff;

use std::collections::HashMap;

pub(super) use exchange::Exchange;
pub(super) use open::{ModelRoom, exchanges, open_model};
pub(super) use replay::Recording;

use self::model::ModelGenerator;
use super::recipes_generator::RecipesGenerator;
use crate::{
    kernel::Spend,
    search::ports::{Answer, Generator, Request, Ticket},
};

/// Recipes, and a language model where there is one.
pub(super) struct MovesGenerator {
    recipes: RecipesGenerator,
    model: Option<ModelGenerator>,
    /// The recipes' own tickets.
    inner: HashMap<Ticket, Ticket>,
    tickets: u64,
}

impl MovesGenerator {
    pub(super) fn new(recipes: RecipesGenerator, model: Option<ModelGenerator>) -> Self {
        Self { recipes, model, inner: HashMap::new(), tickets: 0 }
    }
}

impl MovesGenerator {
    /// The questions that somebody outside has to answer.
    pub(super) fn awaiting(&self) -> Vec<String> {
        self.model.as_ref().map(ModelGenerator::awaiting).unwrap_or_default()
    }
}

impl Generator for MovesGenerator {
    fn estimate(&self, request: &Request) -> Spend {
        self.model.as_ref().map(|model| model.estimate(request)).unwrap_or_default()
    }

    fn submit(&mut self, request: Request) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        match (request, &mut self.model) {
            (request @ (Request::Rewrite { .. } | Request::Repair { .. }), Some(model)) => {
                model.submit(ticket, request);
            }
            (request, _) => {
                self.inner.insert(ticket, self.recipes.submit(request));
            }
        }
        ticket
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        if let Some(inner) = self.inner.remove(&ticket) {
            return self.recipes.poll(inner);
        }
        let answer = self.model.as_mut().and_then(|model| model.poll(ticket));
        answer.unwrap_or(Answer::Ready { proposals: Vec::new(), spent: Spend::default() })
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.model.as_mut().map(ModelGenerator::take_warnings).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
