"""Papers from the services that know them: arXiv, Semantic Scholar, OpenAlex, Crossref.

`service` carries requests (pace, retries, deadline, kept answers); a module a service turns its answers
into papers; `specs` reads what a person asks for ("arxiv:…", a DOI); `source` makes that a PaperSource.
"""
