"""Arguments, messages and data that several commands share."""
