"""RIFair step by step, with PII and PID of every step: `python recipes/tabular/gradient_histories.py`."""

import torch
from art.estimators.classification import PyTorchClassifier
from loans import loans

from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.tabular import RIFairGradientAttack

frame = loans(400)
schema = TableSchema.infer(frame, sensitive=["sex"], label="granted")
encoder = TableEncoder(schema, scaling="min_max", one_hot=True)
x, y = encoder.encode(frame), (frame["granted"] == "yes").to_numpy().astype(int)

d = encoder.schema.n_features
model = torch.nn.Sequential(torch.nn.Linear(d, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(150):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.tensor(x).float()), torch.tensor(y))
    loss.backward()
    optimizer.step()

loss = torch.nn.CrossEntropyLoss()
estimator = PyTorchClassifier(model, loss=loss, input_shape=(d,), nb_classes=2, device_type="cpu")
attack = RIFairGradientAttack(estimator, encoder.schema, max_iter=10)
for target, history in attack.generate_histories(x[:50], y[:50]).items():
    index, _ = history.impact("original")
    found = history.steps_in(history.target).any(axis=0).sum()
    print(f"{target}: {found} of 50 rows; mean PII of the first step {index[0].mean():.3f}")
