#!/usr/bin/env python3
"""Builds the documentation as a site: docs/, README.md and CHANGELOG.md, and the reference that is generated from the code.

    docs_site.py build/flyball build/site        # needs mkdocs-material; ./dev docs installs it

The site works without a network. The build fails for a broken link, a page that the navigation lacks, or a page that loads anything from
elsewhere.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import docs_reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What tests read after the language of a code block ("sh skip"): MkDocs would not see a code block at all.
FENCE = re.compile(r'^( *```\w+) .*$', re.M)
LINK = re.compile(r'(!?)\[([^\]]*)\]\(([^)\s]+)\)')
ELSEWHERE = re.compile(r'<(?:script|link|img)\b[^>]*\b(?:src|href)="(https?:)?//[^"]*"[^>]*>')


def localized(text, page, pages):
    """The page with links to the source as plain paths: the site has no source. `page` is its path in the repository."""
    def replace(match):
        bang, words, target = match.groups()
        if re.match(r'[a-z]+:|#', target):
            return match[0]
        path, _, anchor = target.partition('#')
        full = pathlib.PurePath(*_normal((page.parent / path).parts))
        staged = pages.get(full)
        if staged is None:
            return words if words.startswith('`') or words == str(full) else '%s (`%s`)' % (words.strip('`'), full)
        relative = pathlib.PurePath(*['..'] * len(pages[page].parent.parts), staged)
        return '%s[%s](%s%s)' % (bang, words, relative, '#' + anchor if anchor else '')
    return LINK.sub(replace, FENCE.sub(r'\1', text))


def _normal(parts):
    out = []
    for part in parts:
        if part == '..':
            out.pop()
        elif part != '.':
            out.append(part)
    return out


def stage(folder):
    """Copies what the site shows into a folder, links adjusted."""
    sources = {pathlib.PurePath('docs') / path.relative_to(ROOT / 'docs'): path for path in (ROOT / 'docs').rglob('*') if path.is_file()}
    pages = {name: name.relative_to('docs') for name in sources}
    for name, staged in (('README.md', 'index.md'), ('CHANGELOG.md', 'changelog.md'), ('CONTRIBUTING.md', 'contributing.md')):
        sources[pathlib.PurePath(name)] = ROOT / name
        pages[pathlib.PurePath(name)] = pathlib.PurePath(staged)
    # A link to a folder is one to its README.
    for name in list(pages):
        if name.name == 'README.md' and len(name.parts) > 1:
            pages.setdefault(name.parent, pages[name])
    for name, path in sources.items():
        to = folder / pages[name]
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == '.md':
            to.write_text(localized(path.read_text(), name, pages))
        else:
            shutil.copy(path, to)


def check_offline(site):
    for path in site.rglob('*.html'):
        match = ELSEWHERE.search(path.read_text())
        if match and 'rel="canonical"' not in match[0]:
            raise SystemExit('%s loads something from elsewhere: %s' % (path, match[0]))


def main():
    program, site = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    staging = site.parent / 'site-source'
    shutil.rmtree(staging, ignore_errors=True)
    stage(staging / 'docs')
    docs_reference.write_all(program, staging / 'docs' / 'reference')
    shutil.copy(ROOT / 'mkdocs.yml', staging)
    subprocess.run([sys.executable, '-m', 'mkdocs', 'build', '--strict', '--quiet', '--config-file', staging / 'mkdocs.yml', '--site-dir', site], check=True)
    check_offline(site)
    print('docs: %d pages in %s' % (len(list(site.rglob('*.html'))), site / 'index.html'))


if __name__ == '__main__':
    main()
