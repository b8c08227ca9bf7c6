"""What each command takes: texts, examples and types. Nothing here imports what computes."""
