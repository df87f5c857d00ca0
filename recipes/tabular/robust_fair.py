"""Find false and biased rows of one's own scikit-learn model: `python recipes/tabular/robust_fair.py`."""

from art.estimators.classification import SklearnClassifier
from loans import loans
from sklearn.ensemble import RandomForestClassifier

from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.tabular import RobustFairAttack, rif_table

frame = loans(400)
encoder = TableEncoder(TableSchema.infer(frame, sensitive=["sex"], label="granted"))
x, y = encoder.encode(frame), (frame["granted"] == "yes").to_numpy().astype(int)
estimator = SklearnClassifier(RandomForestClassifier(20, random_state=0).fit(x, y))

# Trees have no gradients: differences of outputs take their place, and are counted.
attack = RobustFairAttack(estimator, encoder.schema, n_global=4, n_local=4)
pairs = attack.generate_pairs(x[:20], y[:20])
print(rif_table(estimator, pairs.perturbed_original, pairs.label, encoder.schema, original=pairs.original))
print(encoder.decode(pairs.violations().perturbed_original[:5]))
print(dict(pairs.cost))
