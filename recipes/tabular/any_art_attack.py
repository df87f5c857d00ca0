"""ART's own attacks on valid rows, measured like all others: `python recipes/tabular/any_art_attack.py`."""

from art.attacks.evasion import DeepFool
from art.estimators.classification import SklearnClassifier
from loans import loans
from sklearn.linear_model import LogisticRegression

from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.tabular import SchemaAttack, rif_table

frame = loans(400)
schema = TableSchema.infer(frame, sensitive=["sex"], immutable=["age"], label="granted")
encoder = TableEncoder(schema, scaling="min_max", one_hot=True)
x, y = encoder.encode(frame), (frame["granted"] == "yes").to_numpy().astype(int)
estimator = SklearnClassifier(LogisticRegression().fit(x, y))

for name, settings in (("fgsm", {"eps": 0.2}), ("pgd", {"eps": 0.2, "eps_step": 0.02}), (DeepFool, {})):
    attack = SchemaAttack(estimator, encoder.schema, name, attack_settings=settings)
    rows = attack.generate(x[:50], y[:50])
    print(f"\n{name if isinstance(name, str) else name.__name__}")
    print(rif_table(estimator, rows, y[:50], encoder.schema, original=x[:50]))
