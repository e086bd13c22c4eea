//! Floor 5: the GitHub App. Webhook → decide → effects; jobs and the runners that work them off.
