"""Parts of the scripts that train and measure the embedded entailment model."""
