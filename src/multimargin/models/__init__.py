"""Trained models: scores, the content of files, pruning, ONNX."""
