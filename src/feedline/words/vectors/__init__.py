"""`Vectors`: words and their vectors, and the questions people ask of them.

vectors       `Vectors`
search        nearest rows by cosine, exact
index         approximate search for large vocabularies (usearch)
spelling      words that look like one that was not found
subwords      fastText's character n-grams
hashing       their buckets, compiled
evaluation    analogies solved, agreement with human judgements
correlation   Pearson's and Spearman's
graph         vectors inside TensorFlow's graphs
"""
