//! The server: takes batches of agents, and answers browsers, scripts and Grafana.
//!
//! Owns HTTP: routes, who asks, what that one may see, pages. It refuses to compute anything that a store or a rule does not give.
