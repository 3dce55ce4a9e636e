"""A hook of MkDocs: files of the repository that pages link to are pages of the book too.

Pages link to files outside of `docs/` by relative paths (`../ARCHITECTURE.md`), as a code host's view of them needs it.
In the book such a file is found under `repository/`: Markdown and source text as pages, all else as it is. A link to a
file that does not exist is left alone, so that the strict build refuses it.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

# The target of an inline link or picture, without its anchor.
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
# Source text, shown as a page with this language's colours.
SOURCE = {".rs": "rust", ".py": "python", ".sh": "sh", ".toml": "toml", ".cu": "cpp", ".yml": "yaml"}


def repository_of(config):
    """The root of the repository."""
    return Path(config.config_file_path).parent.resolve()


def target_of(link, page, root):
    """The repository path of what a page links to, of a folder that of its README; None if there is no such file."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    if (root / path).is_dir():
        path = posixpath.join(path, "README.md")
    return path if not path.startswith("..") and (root / path).is_file() else None


def place_of(path):
    """The path within the book of a file of the repository."""
    if Path(path).suffix in SOURCE:
        return f"repository/{path}.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"


def origin_of(place):
    """The repository path of a page of the book."""
    return place.removeprefix("repository/") if place.startswith("repository/") else f"docs/{place}"


def on_files(files, config):
    """Adds the files that pages link to, those that these link to, and so on."""
    root = repository_of(config)
    waiting = [origin_of(file.src_uri) for file in files.documentation_pages()]
    known = set(waiting)
    while waiting:
        page = waiting.pop()
        for link in LINK.findall((root / page).read_text(encoding="utf-8")):
            path = target_of(link, page, root)
            language = SOURCE.get(Path(path or "").suffix)
            if path is None or path in known or (path.startswith("docs/") and language is None):
                continue
            known.add(path)
            if language is None:
                file = File.generated(config, place_of(path), abs_src_path=str(root / path))
            else:
                text = (root / path).read_text(encoding="utf-8")
                file = File.generated(config, place_of(path), content=f"# `{path}`\n\n````{language}\n{text}````\n")
            files.append(file)
            if path.endswith(".md"):
                waiting.append(path)
    return files


def on_page_markdown(markdown, page, config, files):
    """Turns links to files of the repository into links to their places in the book."""
    del files
    place, root = page.file.src_uri, repository_of(config)
    if Path(place.removesuffix(".md")).suffix in SOURCE:
        return markdown

    def within_book(match):
        path = target_of(match[1], origin_of(place), root)
        return match[1] if path is None else os.path.relpath(place_of(path), posixpath.dirname(place) or ".")

    return LINK.sub(within_book, markdown)
