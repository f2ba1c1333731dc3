"""Tables in files: what kind of file, which column holds what, which text means which number. Nothing statistical."""

from scorebars.files import library_formats, text_files  # they declare the formats that they read

__all__ = ["library_formats", "text_files"]
