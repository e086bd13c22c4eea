use super::*;

fn table(text: &str) -> Result<PriceTable, toml::de::Error> {
    toml::from_str(text)
}

const PRICES: &str = r#"
"anthropic:claude-sonnet-4-5" = { input = 3.0, cached_input = 0.3, output = 15.0 }
"openai:*" = { input = 100.0, output = 100.0 }
"openai:gpt-5*" = { input = 1.25, cached_input = 0.125, output = 10.0 }
"openai:gpt-5-mini" = { input = 0.25, output = 2.0 }
"#;

#[test]
fn the_most_particular_price_counts() {
    let table = table(PRICES).unwrap();
    let output = |provider, model| table.price(provider, model).map(|price| price.output);
    assert_eq!(output("anthropic", "claude-sonnet-4-5"), Some(15.0));
    assert_eq!(output("openai", "gpt-5-mini"), Some(2.0));
    assert_eq!(output("openai", "gpt-5-nano"), Some(10.0));
    assert_eq!(output("openai", "qwen3"), Some(100.0));
    assert_eq!(output("anthropic", "claude-sonnet-4-5-20250929"), None);
    assert_eq!(output("command", "claude"), None);
}

#[test]
fn cached_input_is_charged_at_its_own_price() {
    let table = table(PRICES).unwrap();
    let usage = Usage { input: 1_000_000, cached_input: 900_000, output: 100_000 };
    let dollars = table.cost("anthropic", "claude-sonnet-4-5", &usage).unwrap();
    assert!((dollars - (0.3 + 0.27 + 1.5)).abs() < 1e-9, "{dollars}");
    let dollars = table.cost("openai", "gpt-5-mini", &usage).unwrap();
    assert!((dollars - (0.25 + 0.2)).abs() < 1e-9, "{dollars}");
    assert_eq!(PriceTable::default().cost("openai", "gpt-5", &usage), None);
}

#[test]
fn prices_that_cannot_be_meant_are_refused() {
    let price = "{ input = 1.0, output = 2.0 }";
    for name in ["gpt-5", "gpt-5*", "openai:*-mini", "openai:**", "*:gpt-5"] {
        let error = table(&format!("\"{name}\" = {price}")).unwrap_err().to_string();
        assert!(error.contains("write provider:model"), "{error}");
    }
    table(&format!("\"*\" = {price}")).unwrap();
    for amount in ["-1.0", "nan", "inf"] {
        let text = format!("\"openai:*\" = {{ input = {amount}, output = 2.0 }}");
        let error = table(&text).unwrap_err().to_string();
        assert!(error.contains("US dollars for a million tokens"), "{error}");
    }
    assert!(table("\"openai:*\" = { input = 1.0 }").is_err(), "output is charged, too");
}

#[test]
fn a_forecast_covers_a_long_answer_to_a_prompt_that_nothing_is_cached_of() {
    let conversation = Conversation::new("Be brief.", "Make softmax_kernel faster.");
    let limits = Limits { output_tokens: 500, ..Limits::default() };
    // As OpenAI's cl100k counts it, with what it adds for two turns and the answer's beginning.
    let usage = Usage { input: 3 + 6 + 2 * 4 + 3, cached_input: 0, output: 500 };
    let price = Price { input: 3.0, cached_input: None, output: 15.0 };
    assert!(price.cost(&forecast(&conversation, &limits)) >= price.cost(&usage));
}
