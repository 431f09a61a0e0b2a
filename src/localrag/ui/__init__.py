"""The Streamlit app: one module a page, each takes the App, draws, returns."""
