"""Writes the source archive of a package to standard output: fetch.py PACKAGE VERSION. From the index that pip is set to."""

import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request

package, version = sys.argv[1:]
index = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True).stdout.strip()
index = os.environ.get("PIP_INDEX_URL") or index or "https://pypi.org/simple"
page = f"{index.rstrip('/')}/{package}/"
text = urllib.request.urlopen(page).read().decode()
name = f"{package.replace('-', '_')}-{version}.tar.gz"
link = next(found for found in re.findall(r'href="([^"]+)"', text) if found.split("#")[0].endswith(name))
sys.stdout.buffer.write(urllib.request.urlopen(urllib.parse.urljoin(page, link)).read())
