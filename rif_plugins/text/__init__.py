"""TextAttack components: the only package that imports ``textattack``."""
