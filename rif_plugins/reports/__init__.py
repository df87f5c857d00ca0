"""Results as text, CSV, HTML, JUnit XML, charts and tables; nothing here runs a model or computes a rate."""
