"""Report in, text out: nothing here measures, and nothing knows TensorFlow.

report.py   the value itself
basis.py    what a verdict is made from; kept, so that it can be judged again
build.py    a job, its measurement and its findings -> Report; stages.py, after.py and
            rounding.py make its rows
verdict.py  the one sentence that comes first
terminal.py Report -> text for a terminal or a log
json.py     Report <-> JSON, schema 1 (schema.json, made by schema.py)
html/       Report -> one HTML page
whatif.py   the model behind its sliders; fitted.py makes it from a report
target.py   the file that a report is written to
"""
