"""All classes of a sample at once: passes, and Newton steps where these crawl."""
