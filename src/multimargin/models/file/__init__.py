"""The content of a model file: plain arrays and JSON, packed from a model and unpacked into one."""
