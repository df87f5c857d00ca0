"""Results as text, CSV, HTML, JUnit XML, charts and tables; nothing here runs a model or computes a rate."""

from rif_plugins.reports.charts import write_charts
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.frames import findings_dataset, records_frame, write_parquet
from rif_plugins.reports.html import write_comparison_html, write_html
from rif_plugins.reports.junit import write_junit
from rif_plugins.reports.notebook import notebook_html
from rif_plugins.reports.text import render_text

__all__ = [
    "findings_dataset",
    "notebook_html",
    "records_frame",
    "render_text",
    "write_charts",
    "write_comparison_html",
    "write_csv",
    "write_html",
    "write_junit",
    "write_parquet",
]
