//! Floor 2: git repositories. Exactly one commit out of a cached mirror, and nothing of it is run.
