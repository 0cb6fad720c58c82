"""What each path answers: one file each, with `routes(context)` and `OPERATIONS` for the API document.

`app.py` lists them. No resource imports another.
"""
