//! What a profile showed reaches whoever makes the next candidates.

use kernelbrain::search::Rewrites;

use crate::{run::Run, world::BASELINE};

#[tokio::test]
async fn a_request_carries_the_nearest_diagnosis() {
    let run = Run::new(40, 4, 2, 4).with(|run| {
        // Only the top rung is profiled, and so is the baseline, which is measured there.
        run.lab.nature.profiled_on = Some(run.plan.ladder.top());
        run.lab.nature.rejected = vec![0.0; 3];
        run.plan.generation.max_candidates = 80;
    });
    let ran = run.go().await;
    let asked = &ran.moves.asked;
    assert_eq!(asked[0], (BASELINE.to_owned(), Some(BASELINE.to_owned())), "the seeds");
    let children = &asked[1..];
    assert!(children.iter().all(|(_, finding)| finding.is_some()), "{children:?}");
    // Not profiled yet: what held the baseline back holds it back as well.
    assert!(children.iter().any(|(_, finding)| finding.as_deref() == Some(BASELINE)));
    // Profiled itself, past the top rung.
    assert!(children.iter().any(|(source, finding)| finding.as_ref() == Some(source)));
    // A child's source begins with its parent's here: nobody gets a stranger's diagnosis.
    for (source, finding) in children {
        let finding = finding.as_deref().unwrap_or_default();
        assert!(finding == BASELINE || source.starts_with(finding), "{source}: {finding}");
    }
}

#[tokio::test]
async fn a_question_about_a_rewrite_comes_with_its_own_diagnosis_or_none() {
    let ran = Run::new(10, 2, 2, 4)
        .with(|run| {
            run.plan.generation.rewrites = Some(Rewrites::default());
            run.lab.nature.profiled_on = Some(run.plan.ladder.top());
            run.lab.nature.rejected = vec![0.0; 3];
            run.lab.nature.gain = (0.1, 0.9);
        })
        .go()
        .await;
    let (mut own, mut about_rewrites) = (0, 0);
    for (source, finding) in &ran.moves.told {
        if !source.contains("rewritten") {
            assert!(finding.is_some(), "{source}: the baseline's at least");
            continue;
        }
        about_rewrites += 1;
        own += usize::from(finding.as_ref() == Some(source));
        // A recipe changes one thing of a rewrite; a rewrite is another kernel.
        let known =
            finding.as_ref().is_none_or(|it| it.contains("rewritten") && source.starts_with(it));
        assert!(known, "{source}: {finding:?}");
    }
    assert!(about_rewrites > 3, "{:?}", ran.moves.told);
    assert!(
        2 * own > about_rewrites,
        "{own} of {about_rewrites} were profiled: {:?}",
        ran.moves.told
    );
}

#[tokio::test]
async fn without_a_profile_nothing_is_made_up() {
    let ran = Run::new(20, 2, 1, 4).go().await;
    assert!(ran.moves.asked.iter().all(|(_, finding)| finding.is_none()));
}
