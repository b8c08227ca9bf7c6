"""The figures that the paper prints, as data: one file per experiment."""
