"""The bill of materials (SBOM, CycloneDX 1.6) of the files in a folder: ``python tools/make_sbom.py dist``

It names the package, the digests of its files, the libraries it needs, the extras, and the licences of the data it ships.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def library(requirement: str, scope: str) -> dict[str, Any]:
    """A library that the package needs, or may use."""
    name = re.split(r"[<>=!~\[; ]", requirement)[0]
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name.lower()}",
        "name": name,
        "purl": f"pkg:pypi/{name.lower()}",
        "scope": scope,
        "properties": [{"name": "scorebars:requirement", "value": requirement}],
    }


def bill(folder: Path) -> dict[str, Any]:
    """What is in the files of a folder and what they need; the same bytes for the same files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    extras = project["optional-dependencies"]
    chosen = sorted(
        {one for key, some in extras.items() if key not in ("all", "test", "lint", "browser") for one in some}
    )
    needed = [library(one, "required") for one in project["dependencies"]]
    needed += [library(one, "optional") for one in chosen if not one.startswith(name)]
    files = [
        {
            "type": "file",
            "bom-ref": file.name,
            "name": file.name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}],
        }
        for file in sorted(folder.iterdir())
        if file.suffix in (".whl", ".gz")
    ]
    this = f"pkg:pypi/{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": this,
                "name": name,
                "version": version,
                "purl": this,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [*needed, *files],
        "dependencies": [{"ref": this, "dependsOn": [one["bom-ref"] for one in needed if one["scope"] == "required"]}],
    }


if __name__ == "__main__":
    found = bill(folder := Path(sys.argv[1]))
    about = found["metadata"]["component"]
    path = folder / f"{about['name']}-{about['version']}.cdx.json"
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(path)
