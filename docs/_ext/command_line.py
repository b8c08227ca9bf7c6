"""The ``command-line`` directive: the reference of the command, from its parsers."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from multimargin.cli import build_parser

_OPTION = r"(?<![\w-])--[a-zA-Z][\w-]*"


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, Any]]:
    """Yield name, one-line help and parser of the commands of a parser, in its order."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                yield name, helps.get(name, ""), sub


class CommandLine(SphinxDirective):
    """One section for each subcommand: what it does, usage, arguments and options."""

    def run(self) -> list[nodes.Node]:
        parser = build_parser()
        names = "|".join(sorted(_placeholders(parser), key=len, reverse=True))
        self._code = re.compile(rf"({_OPTION}|\b(?:{names})\b)")
        # Usage is as wide as a page of the site, wherever it is built.
        os.environ["COLUMNS"] = "88"
        found: list[nodes.Node] = []
        for name, _, sub in subcommands(parser):
            found.append(self._command(f"multimargin {name}", sub))
        return found

    def _command(self, title: str, parser: argparse.ArgumentParser) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(title)], names=[title])
        section += nodes.title(title, "", nodes.literal(title, title))
        if parser.description:
            section += self._paragraphs(parser.description)
        below = list(subcommands(parser))
        usage = parser.format_usage().removeprefix("usage: ")
        section += nodes.literal_block(usage, usage, language="text")
        for group in parser._action_groups:
            actions = [
                action
                for action in group._group_actions
                if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
                and action.help is not argparse.SUPPRESS
            ]
            if actions:
                section += nodes.rubric("", (group.title or "").capitalize())
                if group.description:
                    section += self._paragraphs(group.description)
                section += self._definitions(actions, parser)
        if parser.epilog:
            section += self._paragraphs(parser.epilog)
        for name, _, sub in below:
            section += self._command(f"{title} {name}", sub)
        self.state.document.note_implicit_target(section)
        return section

    def _definitions(
        self, actions: list[argparse.Action], parser: argparse.ArgumentParser
    ) -> nodes.definition_list:
        entries = nodes.definition_list(classes=["options"])
        for action in actions:
            term = nodes.term()
            for place, invocation in enumerate(_invocations(action)):
                if place:
                    term += nodes.Text(", ")
                term += nodes.literal(invocation, invocation)
            formatter = parser._get_formatter()
            text = formatter._expand_help(action) if action.help else ""
            body = nodes.definition("", nodes.paragraph("", "", *self._inline(text)))
            entries += nodes.definition_list_item("", term, body)
        return entries

    def _paragraphs(self, text: str) -> list[nodes.Node]:
        """Paragraphs, and a block as it is where lines are indented."""
        found: list[nodes.Node] = []
        for part in re.split(r"\n\s*\n", text.strip("\n")):
            if re.search(r"^\s+\S", part, re.MULTILINE):
                found.append(nodes.literal_block(part, part, language="text"))
            else:
                found.append(nodes.paragraph("", "", *self._inline(" ".join(part.split()))))
        return found

    def _inline(self, text: str) -> list[nodes.Node]:
        """Options and names of arguments, such as DATA, are set as code."""
        found: list[nodes.Node] = []
        for place, part in enumerate(self._code.split(text)):
            if part:
                found.append(nodes.literal(part, part) if place % 2 else nodes.Text(part))
        return found


def _placeholders(parser: argparse.ArgumentParser) -> set[str]:
    """What stands for something to fill in, such as DATA, in the help of all commands."""
    found = {str(action.metavar) for action in parser._actions if action.metavar}
    for _, _, sub in subcommands(parser):
        found |= _placeholders(sub)
    return {name for name in found if re.fullmatch("[A-Z]{2,}", name)}


def _invocations(action: argparse.Action) -> list[str]:
    if not action.option_strings:
        metavar = action.metavar or action.dest
        return [metavar if isinstance(metavar, str) else " ".join(metavar)]
    if action.nargs == 0:
        return list(action.option_strings)
    value = action.metavar
    if value is None:
        value = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest
    if not isinstance(value, str):
        value = " ".join(value)
    if action.nargs == "+":
        value = f"{value} [{value} ...]"
    return [f"{option} {value}" for option in action.option_strings]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
