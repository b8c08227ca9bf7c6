"""Training, prediction and model files by several processes, on one computer or on many.

Start the same script on all of them, such as by ``mpiexec -n 4 python train.py``::

    from multimargin import MulticlassSVC, distributed

    X, y = distributed.load("train.svm")
    model = distributed.fit(MulticlassSVC(C=1.0, random_state=0), X, y)
    model.save("model")

Every process ("rank") runs the same lines with the same data. It holds the weights of some of
the classes, never all of them. Without ``mpiexec`` the same script runs in one process.
"""

from multimargin.distributed._fit import fit, load
from multimargin.distributed._model import DistributedModel, load_model

__all__ = ["DistributedModel", "fit", "load", "load_model"]
