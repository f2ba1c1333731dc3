"""How the documentation is built: `make docs`. Everything that a page shows is computed in the build."""

import hashlib
import os
import sys
import tomllib
from datetime import date
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILD = ROOT / "build"
sys.path.insert(0, str(DOCS / "extensions"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "scorebars"
author = PROJECT["authors"][0]["name"]
version = release = PROJECT["version"]
copyright = f"{date.today():%Y}, {author}"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "api_pages",
    "cell_outputs",
    "command_pages",
    "mathml",
]
exclude_patterns = ["figures/*.rst", "extensions", "gallery/*.ipynb", "**/.ipynb_checkpoints"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
nitpicky = False
default_role = "py:obj"
smartquotes = False  # --yerr stays --yerr
suppress_warnings = ["config.cache"]

# Pages with code cells. What a cell printed is kept for as long as neither the cell nor the package changes.
_SOURCE = hashlib.sha256()
for _file in sorted((ROOT / "src" / "scorebars").rglob("*")):
    if _file.suffix in {".py", ".c", ".h", ".csv", ".j2", ".js", ".css"}:
        _SOURCE.update(_file.read_bytes())
nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / "docs-cells" / _SOURCE.hexdigest()[:16])
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_render_markdown_format = "myst"
os.environ["SCOREBARS_DOCS"] = str(DOCS)
# Cells run under settings of their own. Kernels do not report that they listen on this machine, and warnings say what they
# say, not in which file of this machine.
_PROFILE = BUILD / "docs-ipython" / "profile_default"
_PROFILE.mkdir(parents=True, exist_ok=True)
_WARNINGS = 'import warnings; warnings.formatwarning = lambda said, kind, *where: f"{kind.__name__}: {said}\\n"'
(_PROFILE / "ipython_kernel_config.py").write_text(
    f"kernel = get_config().IPKernelApp\nkernel.log_level = 40\nkernel.exec_lines = [{_WARNINGS!r}]\n", encoding="utf-8"
)
os.environ["IPYTHONDIR"] = str(_PROFILE.parent)
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
autodoc_mock_imports = ["torch", "torchmetrics"]  # large, and only their names are needed
autodoc_member_order = "bysource"

sphinx_gallery_conf = {
    "examples_dirs": ["figures"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "plot_gallery": True,
    "doc_module": ("scorebars",),
    "backreferences_dir": "gallery/backreferences",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "unsrt"

# What `make docs-links` asks. Publishers turn robots away, so doi.org is asked for the entry itself, not for the article.
linkcheck_request_headers = {"https://doi.org/": {"Accept": "application/vnd.citationstyles.csl+json"}}
linkcheck_retries = 3

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"scorebars {release}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["scorebars.css"]
html_copy_source = True
html_theme_options = {
    "logo": {"text": f"scorebars {release}"},
    "header_links_before_dropdown": 9,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc", "edit-this-page", "sourcelink"],
    "footer_start": ["copyright"],
    "footer_center": ["cite-us"],
    "footer_end": ["sphinx-version"],
    "icon_links": [],
    "external_links": [],
}
html_context = {"default_mode": "auto"}
# "Edit this page" leads to the repository: that of [project.urls] in pyproject.toml, else the one in which GitHub builds.
_REPOSITORY = PROJECT.get("urls", {}).get("Repository", "") or os.environ.get("GITHUB_REPOSITORY", "")
if _REPOSITORY:
    _OWNER, _NAME = _REPOSITORY.rstrip("/").split("/")[-2:]
    html_context |= {"github_user": _OWNER, "github_repo": _NAME, "github_version": "main", "doc_path": "docs"}
    html_theme_options["use_edit_page_button"] = True
