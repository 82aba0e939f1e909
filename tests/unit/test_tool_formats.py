from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hippo_lit import tool
from hippo_lit.tool.definitions import definitions
from hippo_lit.tool.formats import json_schema, strict_schema

EVERY = definitions(allow_write=True)
NAMES = [
    "search_papers",
    "get_paper",
    "related_papers",
    "check_prior_art",
    "answer_question",
    "corpus_info",
    "add_papers",
    "expand_citations",
]


def nodes(schema: Any) -> list[dict[str, Any]]:
    """A schema and all schemas inside."""
    if isinstance(schema, list):
        return [node for item in schema for node in nodes(item)]
    if not isinstance(schema, dict):
        return []
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("anyOf")]
    return [schema, *(node for each in inner for node in nodes(each))]


def test_what_writes_is_offered_only_where_that_is_allowed() -> None:
    assert [each["function"]["name"] for each in tool.schemas("openai")] == NAMES[:6]
    assert [each["name"] for each in tool.schemas("anthropic", allow_write=True)] == NAMES


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_strict_schemas_keep_the_rules_of_strict_mode(each: Any) -> None:
    schema = strict_schema(each.arguments)
    Draft202012Validator.check_schema(schema)
    for node in nodes(schema):
        assert not node.keys() & {"default", "title", "minLength", "maxLength", "$ref", "$defs", "pattern"}
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_schemas_of_arguments_and_results_stand_alone(each: Any) -> None:
    for schema in (json_schema(each.arguments), json_schema(each.result, output=True)):
        Draft202012Validator.check_schema(schema)
        assert "$ref" not in str(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False


def test_null_says_what_leaving_out_says() -> None:
    schema = strict_schema(definitions()[0].arguments)
    given = dict.fromkeys(schema["properties"]) | {"query": "x"}
    Draft202012Validator(schema).validate(given)
    checked = definitions()[0].arguments.model_validate(given)
    assert checked == definitions()[0].arguments.model_validate({"query": "x"})


def test_bounds_and_defaults_are_said_in_words_where_strict_mode_has_none() -> None:
    k = strict_schema(definitions()[0].arguments)["properties"]["k"]
    assert k == {
        "type": ["integer", "null"],
        "description": "How many papers at most. From 1 to 50. null: 10.",
    }
    assert json_schema(definitions()[0].arguments)["properties"]["k"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "default": 10,
        "description": "How many papers at most.",
    }


def test_the_forms_of_the_apis() -> None:
    chat, responses = tool.schemas("openai")[0], tool.schemas("openai-responses")[0]
    assert (chat["type"], chat["function"]["strict"]) == ("function", True)
    assert responses == {"type": "function", **chat["function"]}
    assert set(tool.schemas("anthropic")[0]) == {"name", "description", "input_schema"}
    assert set(tool.schemas("json-schema")[0]) == {"name", "description", "input_schema", "output_schema"}
