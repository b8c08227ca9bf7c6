"""Files: formats, atomic writing, compression, figures."""
