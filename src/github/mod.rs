//! Floor 3: GitHub's side of the wire. App authentication, REST calls, and what fits into a pull
//! request. Knows nothing of jobs; what is to be said comes in as text.
