//! The generation plane: recipes, and a language model that answers when it is told to.

use std::collections::HashMap;

use kernelbrain::{
    kernel::Move,
    search::{
        Spend,
        ports::{Answer, Generator, Proposal, Request, Ticket},
    },
};

/// What a question to the language model is expected to cost, and what it costs.
pub(crate) const ESTIMATE: Spend =
    Spend { wall_seconds: 0.0, gpu_seconds: 0.0, evaluations: 0, tokens: 1000, usd: 0.01 };
pub(crate) const PAID: Spend = Spend { tokens: 700, usd: 0.007, ..ESTIMATE };

/// Proposals that are there after so many polls, and what they cost.
#[derive(Clone, Debug)]
struct Waiting {
    proposals: Vec<Proposal>,
    polls: usize,
    spent: Spend,
}

/// The generation plane.
#[derive(Clone, Debug)]
pub(crate) struct Moves {
    pub(crate) seeds: usize,
    pub(crate) children: usize,
    /// Polls before an answer is there.
    pub(crate) slow: usize,
    /// Answers come from outside and are not there.
    pub(crate) awaited: bool,
    /// For each request the source that it is about, and the finding that came with it.
    pub(crate) asked: Vec<(String, Option<String>)>,
    /// Polls before an answer of the language model's is there.
    pub(crate) model_slow: usize,
    /// Questions to the language model are answered outside, and are not yet.
    pub(crate) model_awaited: bool,
    /// What the language model was asked, and how many questions it was at, at most.
    pub(crate) questions: Vec<String>,
    /// For each question for a rewrite the source that it is about, and the finding that came with it.
    pub(crate) told: Vec<(String, Option<String>)>,
    pub(crate) most_at_once: usize,
    tickets: HashMap<Ticket, Waiting>,
    next_ticket: u64,
}

impl Moves {
    pub(crate) fn new(seeds: usize, children: usize) -> Self {
        Self {
            seeds,
            children,
            slow: 0,
            awaited: false,
            asked: Vec::new(),
            model_slow: 0,
            model_awaited: false,
            questions: Vec::new(),
            told: Vec::new(),
            most_at_once: 0,
            tickets: HashMap::new(),
            next_ticket: 0,
        }
    }
}

impl Moves {
    fn wait(&mut self, waiting: Waiting) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.tickets.insert(ticket, waiting);
        ticket
    }

    /// A language model's answer: one candidate that says how it came about.
    fn ask_model(&mut self, question: String, proposal: Proposal) -> Ticket {
        self.questions.push(question);
        let waiting = Waiting { proposals: vec![proposal], polls: self.model_slow, spent: PAID };
        let ticket = self.wait(waiting);
        let at_once = self.tickets.values().filter(|it| it.spent.tokens > 0).count();
        self.most_at_once = self.most_at_once.max(at_once);
        ticket
    }
}

impl Generator for Moves {
    fn estimate(&self, request: &Request) -> Spend {
        match request {
            Request::Rewrite { .. } | Request::Repair { .. } => ESTIMATE,
            _ => Spend::default(),
        }
    }

    fn submit(&mut self, request: Request) -> Ticket {
        let rewrite = |repairs| Move::Rewrite { task: "retile".into(), repairs };
        let (parent, diagnosis, prefix, count) = match request {
            Request::Seeds { baseline, diagnosis, at_most } => {
                (baseline, diagnosis, "seed".to_owned(), self.seeds.min(at_most))
            }
            Request::Children { parent, evaluation, at_most } => {
                let prefix = parent.source.to_string();
                (parent, evaluation.diagnosis, prefix, self.children.min(at_most))
            }
            Request::Rewrite { parent, evaluation, number, history } => {
                let finding = evaluation.diagnosis.map(|diagnosis| diagnosis.findings[0].clone());
                self.told.push((parent.source.to_string(), finding));
                let question = format!("{} {number}, {} tried", parent.source, history.len());
                let source = Ok(format!("{} rewritten {number}", parent.source));
                let proposal = Proposal { parent: parent.id, origin: rewrite(0), source };
                return self.ask_model(question, proposal);
            }
            Request::Repair { rejected, rejection, attempt } => {
                let question = format!("{}: {rejection}", rejected.source);
                let parent = rejected.parent.clone().expect("no baseline is repaired");
                let source = Ok(format!("{attempt} {}", rejected.source));
                let proposal = Proposal { parent, origin: rewrite(attempt), source };
                return self.ask_model(question, proposal);
            }
        };
        let finding = diagnosis.as_ref().map(|diagnosis| diagnosis.findings[0].clone());
        self.asked.push((parent.source.to_string(), finding));
        let proposals = (0..count)
            .map(|index| Proposal {
                parent: parent.id.clone(),
                origin: Move::Recipe { text: format!("turn {index}") },
                source: Ok(format!("{prefix} {index}")),
            })
            .collect();
        self.wait(Waiting { proposals, polls: self.slow, spent: Spend::default() })
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        if self.awaited {
            return Answer::Awaited;
        }
        let Some(waiting) = self.tickets.get_mut(&ticket) else { return Answer::Awaited };
        if self.model_awaited && waiting.spent.tokens > 0 {
            return Answer::Awaited;
        }
        if waiting.polls > 0 {
            waiting.polls -= 1;
            return Answer::Pending;
        }
        match self.tickets.remove(&ticket) {
            Some(Waiting { proposals, spent, .. }) => Answer::Ready { proposals, spent },
            None => Answer::Awaited,
        }
    }
}
