use super::*;
use crate::generate::recipe::{DeviceKind, fixtures::SCALE_ROWS};
use crate::kernel::{Cost, Evaluation, Verdict};

fn ready(generator: &mut RecipesGenerator, request: Request) -> Vec<Proposal> {
    let ticket = generator.submit(request);
    match generator.poll(ticket) {
        Answer::Ready { proposals, .. } => proposals,
        other => panic!("recipes are ready at once, not {other:?}"),
    }
}

fn seeds_of(baseline: &Candidate, at_most: usize) -> Request {
    Request::Seeds { baseline: baseline.clone(), diagnosis: None, at_most }
}

fn accepted(candidate: &Candidate) -> Evaluation {
    Evaluation {
        candidate: candidate.id.clone(),
        rung: 0,
        verdict: Verdict::Accepted,
        cases: Vec::new(),
        build: Vec::new(),
        diagnosis: None,
        disturbed: 0,
        profiling: None,
        cost: Cost::default(),
        same_program_as: None,
        observed: None,
        ended_at: None,
    }
}

#[test]
fn seeds_come_from_the_baseline_and_children_hold_only_the_steps_from_their_parent() {
    let context = Context::new(DeviceKind::Cuda);
    let mut generator = RecipesGenerator::new(context.clone(), 1);
    let baseline = Candidate::baseline(SCALE_ROWS);
    let seeds = ready(&mut generator, seeds_of(&baseline, 20));
    assert_eq!(seeds.len(), 20);
    assert!(seeds.iter().all(|seed| seed.parent == baseline.id));

    let parent =
        Candidate::child(&baseline.id, seeds[0].origin.clone(), seeds[0].source.clone().unwrap());
    let request =
        Request::Children { evaluation: accepted(&parent), parent: parent.clone(), at_most: 5 };
    for child in ready(&mut generator, request) {
        assert_eq!(child.parent, parent.id);
        let Move::Recipe { text } = &child.origin else { panic!("{:?}", child.origin) };
        let recipe = crate::generate::recipe::Recipe::parse(text).unwrap();
        assert_eq!(recipe.apply(&parent.source, &context), Ok(child.source.unwrap()));
    }
}

#[test]
fn a_resumed_run_is_not_offered_what_it_has() {
    let baseline = Candidate::baseline(SCALE_ROWS);
    let request = || seeds_of(&baseline, 10);
    let generator = || RecipesGenerator::new(Context::new(DeviceKind::Cuda), 1);
    let before = ready(&mut generator(), request());
    let mut resumed = generator();
    for proposal in &before {
        resumed.remember(CandidateId::of(proposal.source.as_ref().unwrap()));
    }
    let after = ready(&mut resumed, request());
    assert_eq!(after.len(), 10);
    assert!(after.iter().all(|proposal| !before.contains(proposal)));
}
