"""What a page holds, read back from its text."""

import json
import re
from html.parser import HTMLParser


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.inside, self.text = [], [], {}

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, text):
        if self.inside:
            tag, attributes = self.inside[-1]
            self.text.setdefault(attributes.get("id") or attributes.get("class") or tag, []).append(text)


class Page:
    """Tags, texts by id, class or tag name, and the data of the script."""

    def __init__(self, text):
        reader = _Reader()
        reader.feed(text)
        self.tags = reader.tags
        self.texts = {name: "".join(parts) for name, parts in reader.text.items()}
        self.data = json.loads(self.texts["data"])

    def script(self):
        return self.texts["script"]


def policy(text):
    return re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
