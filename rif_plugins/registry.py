"""Every name this package offers to others, on one screen.

Strings only: reading this file imports nothing. `rif_plugins.text.host` puts the tables into TextAttack,
`rif_plugins.cli.main` dispatches the commands. ``module:attribute`` says where a class or function lives.
"""

from __future__ import annotations

# Called by the start-up file when TextAttack has been imported
HOST_HOOK = "rif_plugins.text.host:register"

# textattack attack --recipe NAME, textattack train --attack NAME
ATTACK_RECIPES = {
    "rif-fairness-only": "rif_plugins.text.recipes:FairnessOnlyBaseline",
    "rif-robustness-only": "rif_plugins.text.recipes:RobustnessOnlyBaseline",
    "rifair": "rif_plugins.text.recipes:RIFair",
    "rifair-coupled-robust-biased": "rif_plugins.text.recipes:RIFairCoupledRobustBiased",
    "rifair-coupled-unrobust-biased": "rif_plugins.text.recipes:RIFairCoupledUnrobustBiased",
    "rifair-coupled-unrobust-fair": "rif_plugins.text.recipes:RIFairCoupledUnrobustFair",
    "rifair-gradient-robust-biased": "rif_plugins.text.gradient_recipes:RIFairGradientRobustBiased",
    "rifair-gradient-unrobust-biased": "rif_plugins.text.gradient_recipes:RIFairGradientUnrobustBiased",
    "rifair-gradient-unrobust-fair": "rif_plugins.text.gradient_recipes:RIFairGradientUnrobustFair",
    "rifair-robust-biased": "rif_plugins.text.recipes:RIFairRobustBiased",
    "rifair-unrobust-biased": "rif_plugins.text.recipes:RIFairUnrobustBiased",
    "rifair-unrobust-fair": "rif_plugins.text.recipes:RIFairUnrobustFair",
}

# textattack attack --goal-function NAME; built as Class(model_wrapper, ...)
GOAL_FUNCTIONS = {
    "rif-any-violation": "rif_plugins.text.sweep_goals:AnyViolation",
    "rif-fairness-only": "rif_plugins.text.sweep_goals:FairnessOnly",
    "rif-robust-biased": "rif_plugins.text.goal_functions:RobustBiased",
    "rif-robustness-only": "rif_plugins.text.sweep_goals:RobustnessOnly",
    "rif-unrobust-biased": "rif_plugins.text.goal_functions:UnrobustBiased",
    "rif-unrobust-fair": "rif_plugins.text.goal_functions:UnrobustFair",
}

# textattack attack --search-method NAME; built as Class(...)
SEARCH_METHODS = {
    "rif-decoupled": "rif_plugins.text.search_methods:DecoupledPairSearch",
    "rif-gradient": "rif_plugins.text.gradient_search:GradientPairSearch",
    "rif-reach": "rif_plugins.text.reach_search:ReachSearch",
}

# textattack attack --transformation NAME; built as Class(...)
TRANSFORMATIONS = {
    "rif-proposed-swap": "rif_plugins.text.transformations:ProposedWordSwap",
    "rif-sensitive-mask": "rif_plugins.text.transformations:SensitiveTokenMask",
    "rif-sensitive-swap": "rif_plugins.text.transformations:SensitiveTokenSwap",
}

# textattack attack --constraints NAME ...; built as Class(...)
CONSTRAINTS = {
    "rif-entailment": "rif_plugins.text.constraints:BidirectionalEntailment",
    "rif-sensitive-protection": "rif_plugins.text.constraints:SensitiveTokenProtection",
}

# textattack augment --recipe NAME
AUGMENTATION_RECIPES = {
    "rif-similar": "rif_plugins.text.augmentation:RIFSimilarAugmenter",
}

# rif NAME: the module has `main(arguments: Sequence[str]) -> int`, and the text is its line in `rif --help`
COMMANDS = {
    "attack": ("rif_plugins.cli.attack", "TextAttack's `attack` with the RIF recipes and settings"),
    "audit": ("rif_plugins.cli.audit", "search a model's answers for violations, all targets in one sweep"),
    "candidates": ("rif_plugins.cli.candidates", "propose and filter replacements off-line, into a table"),
    "compare": ("rif_plugins.cli.compare", "rank the models of runs on robustness, fairness and both"),
    "demo": ("rif_plugins.cli.demo", "audit the embedded victim on the embedded examples, offline"),
    "doctor": ("rif_plugins.cli.doctor", "what is installed, what is missing, and the command that mends it"),
    "replay": ("rif_plugins.cli.replay", "ask a model again about findings: do they still hold?"),
    "report": ("rif_plugins.cli.report", "write every file of a run again from its records"),
    "retrain": ("rif_plugins.cli.retrain", "teach a model the findings of a run, and search it again"),
    "score": ("rif_plugins.cli.score", "measure the log of any TextAttack attack in RIF terms"),
    "tabular": ("rif_plugins.cli.tabular", "attack a classifier of rows, through ART, in one table"),
}
