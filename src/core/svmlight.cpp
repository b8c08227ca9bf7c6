// LIBSVM / SVMlight text parser.
