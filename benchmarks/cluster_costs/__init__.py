"""Memory and traffic per host of Weston-Watkins and Crammer-Singer: a model, and what checks it."""
