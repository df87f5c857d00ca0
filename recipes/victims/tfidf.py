"""A linear classifier saved by ``benchmarks/sst2_victims/tfidf.py``; ``RIF_VICTIM`` names its file.

    RIF_VICTIM=sst2_tfidf.npz textattack attack --recipe rifair-robust-biased \
        --model-from-file recipes/victims/tfidf.py --dataset-from-file recipes/data/sst2_gender.py
"""

import os

from rif_plugins.text.victims import CallableModelWrapper
from rif_plugins.victims import TfidfLinearModel

model = CallableModelWrapper(TfidfLinearModel.load(os.environ.get("RIF_VICTIM", "sst2_tfidf.npz")))
