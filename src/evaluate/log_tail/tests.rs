use tokio::{
    io::AsyncWriteExt,
    time::{Instant, sleep},
};

use super::{LogTail, WORDS_UNDER_WAY};

#[tokio::test(start_paused = true)]
async fn last_words_are_heard_when_they_come_after_the_end() {
    let log = LogTail::default();
    let (mut process, ours) = tokio::io::duplex(64);
    log.drain(ours);
    assert_eq!(log.last_lines(1), "");
    tokio::spawn(async move {
        sleep(WORDS_UNDER_WAY / 2).await;
        process.write_all(b"first\nlibcrypt.so.1 is missing\n").await.unwrap();
    });
    assert_eq!(log.final_lines(1).await, "libcrypt.so.1 is missing");
}

#[tokio::test(start_paused = true)]
async fn who_holds_the_output_open_holds_nobody_up() {
    let log = LogTail::default();
    let (mut process, ours) = tokio::io::duplex(64);
    let (_held, inherited) = tokio::io::duplex(64);
    log.drain(ours);
    log.drain(inherited);
    process.write_all(b"gone\n").await.unwrap();
    drop(process);
    let begun = Instant::now();
    assert_eq!(log.final_lines(3).await, "gone");
    assert_eq!(begun.elapsed(), WORDS_UNDER_WAY);
}
