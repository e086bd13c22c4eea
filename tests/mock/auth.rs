//! Who may do what: the App by its JWT, an installation by a token narrowed to repositories and
//! permissions.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::Value;

use super::api::{Answer, Call};
use super::state::Token;
use super::world::World;

const PUBLIC_KEY: &str = include_str!("app.pub.pem");
/// Seconds for which a token lives.
pub const TOKEN_LIFE_S: u64 = 3600;

#[derive(Deserialize)]
struct Claims {
    iat: u64,
    exp: u64,
    iss: Value,
}

/// What an operation needs of a token: any one of these permissions, at least at that level.
pub type Need<'a> = &'a [(&'a str, &'a str)];

impl World {
    /// The App itself, by a JWT that GitHub would take.
    pub fn check_jwt(&self, call: &Call) -> Result<(), Answer> {
        let refuse = |message: &str| Err(Answer::error(401, message));
        let Some(jwt) = call.bearer() else {
            return refuse("A JSON web token could not be decoded");
        };
        let key = DecodingKey::from_rsa_pem(PUBLIC_KEY.as_bytes()).unwrap();
        let mut rules = Validation::new(Algorithm::RS256);
        // The mock's own clock judges, since a test may move it.
        rules.validate_exp = false;
        rules.required_spec_claims.clear();
        let Ok(token) = decode::<Claims>(&jwt, &key, &rules) else {
            return refuse("A JSON web token could not be decoded");
        };
        let (claims, now) = (token.claims, self.now());
        let issuer = claims.iss.as_str().map_or_else(|| claims.iss.to_string(), str::to_owned);
        if issuer != self.app_id.to_string() {
            return Err(Answer::error(404, "Integration not found"));
        }
        if claims.iat > now {
            return refuse(
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            );
        }
        if claims.exp <= now {
            return refuse(
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            );
        }
        if claims.exp > now + 600 {
            return refuse("'Expiration time' claim ('exp') is too far in the future");
        }
        Ok(())
    }

    /// The token a request carries, if it is one of ours and alive.
    pub fn token(&self, call: &Call) -> Result<&Token, Answer> {
        let given = call.bearer().or_else(|| call.basic_password());
        let Some(given) = given else {
            return Err(Answer::error(401, "Requires authentication"));
        };
        let token = self
            .tokens
            .iter()
            .find(|token| token.text == given && token.expires > self.now())
            .ok_or_else(|| Answer::error(401, "Bad credentials"))?;
        let suspended = self
            .installations
            .iter()
            .find(|one| one.id == token.installation)
            .is_none_or(|one| one.suspended);
        if suspended {
            return Err(Answer::error(403, "This installation has been suspended"));
        }
        Ok(token)
    }

    /// Finds the repository and checks that the token reaches it with one of the permissions.
    pub fn allow(
        &self,
        call: &Call,
        owner: &str,
        name: &str,
        need: Need<'_>,
    ) -> Result<u64, Answer> {
        let token = self.token(call)?;
        let not_found = || Answer::error(404, "Not Found");
        let repository = self.by_name(owner, name).ok_or_else(not_found)?;
        if !self.reaches(token, repository.id) {
            // Public things may be read by any token.
            let reads = need.iter().all(|(_, level)| *level == "read");
            return if reads && !repository.private { Ok(repository.id) } else { Err(not_found()) };
        }
        let enough = need.iter().any(|(what, level)| {
            token.permissions.get(*what).is_some_and(|has| has == "write" || has == level)
        });
        if !enough && !need.is_empty() {
            return Err(Answer::error(403, "Resource not accessible by integration"));
        }
        Ok(repository.id)
    }

    pub fn reaches(&self, token: &Token, repository: u64) -> bool {
        let of_installation = self
            .installations
            .iter()
            .any(|one| one.id == token.installation && one.repositories.contains(&repository));
        let narrowed = token.repositories.as_ref().is_none_or(|ids| ids.contains(&repository));
        of_installation && narrowed
    }

    pub fn expire_tokens(&mut self) {
        for token in &mut self.tokens {
            token.expires = 0;
        }
    }
}
