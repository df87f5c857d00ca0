"""The model of `rif tabular`: a scikit-learn pipeline that reads a DataFrame.

python recipes/tabular/loans.py
rif tabular --model recipes/tabular/model.py --data loans.csv --label-column granted --sensitive sex
"""

from loans import loans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

frame = loans()
categories = make_column_transformer((OneHotEncoder(), ["job", "sex"]), remainder="passthrough")
model = make_pipeline(categories, RandomForestClassifier(50, max_depth=8, random_state=0))
model.fit(frame.drop(columns="granted"), frame["granted"])
