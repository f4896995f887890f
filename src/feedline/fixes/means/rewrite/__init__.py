"""Rewriting the functions of stages: what a map does is kept, how and when it is
done is changed. Nothing here runs the user's Python, alters his objects or
decides what is worth doing; each tool hands back a new function or a new
Pipeline, or raises `CannotRewrite` with the reason."""
