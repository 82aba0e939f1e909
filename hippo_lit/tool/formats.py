"""The definitions of tools as other people's APIs want them; all from the models of arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

from hippo_lit.tool.definition import Definition

SchemaFormat = Literal["openai", "openai-responses", "anthropic", "json-schema"]
# Strict modes compile a schema into a grammar, and refuse keywords that no grammar can keep.
_NOT_STRICT = ("default", "title", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")


def json_schema(model: type[BaseModel], *, output: bool = False) -> dict[str, Any]:
    """The schema of a model without references, titles, or what null would add to optional fields."""
    schema = model.model_json_schema(mode="serialization" if output else "validation")
    definitions = schema.pop("$defs", {})
    plain: dict[str, Any] = _plain(schema, definitions)
    return plain


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """`json_schema` as OpenAI's strict mode takes it: every property required, no others, and null for those
    that may be left out. Bounds are said in words, and checked when the tool is called.
    """
    strict: dict[str, Any] = _strict(json_schema(model))
    return strict


def tool_schemas(definitions: Iterable[Definition], form: SchemaFormat) -> list[dict[str, Any]]:
    """The definitions as the `tools` of an API's request; for "json-schema" with the results' schemas."""
    return [_tool(definition, form) for definition in definitions]


def _tool(tool: Definition, form: SchemaFormat) -> dict[str, Any]:
    named = {"name": tool.name, "description": tool.description}
    match form:
        case "openai":
            strict = {"strict": True, "parameters": strict_schema(tool.arguments)}
            return {"type": "function", "function": named | strict}
        case "openai-responses":
            return {"type": "function", **named, "strict": True, "parameters": strict_schema(tool.arguments)}
        case "anthropic":
            return named | {"input_schema": json_schema(tool.arguments)}
        case "json-schema":
            output = json_schema(tool.result, output=True)
            return named | {"input_schema": json_schema(tool.arguments), "output_schema": output}


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        return _plain({**target, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    plain = {
        key: {name: _plain(each, definitions) for name, each in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in node.items()
        if key != "title" or not isinstance(value, str)
    }
    return _without_null(plain)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """`X` for `X or null, by default null`: leaving it out says the same."""
    options = node.get("anyOf")
    if not options or "default" not in node or node["default"] is not None:
        return node
    others = [option for option in options if option != {"type": "null"}]
    if len(others) != 1:
        return node
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    return {**others[0], **rest}


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict = {key: _strict(value) for key, value in node.items() if key not in (*_NOT_STRICT, "properties")}
    if "properties" in node:
        required = set(node.get("required", ()))
        strict["properties"] = {
            name: _strict(value) if name in required else _nullable(_strict(value), value)
            for name, value in node["properties"].items()
        }
        strict["required"] = list(node["properties"])
        strict["additionalProperties"] = False
    elif node.get("type") == "object":
        strict |= {"properties": {}, "required": [], "additionalProperties": False}
    return _with_bounds(strict, node)


def _nullable(strict: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    default = given.get("default")
    says = "" if default in (None, []) else f" null: {_words(default)}."
    about = {"description": (strict.pop("description", "") + says).strip()}
    if "enum" in strict or "type" not in strict or strict["type"] in ("object", "array"):
        return {"anyOf": [strict, {"type": "null"}]} | (about if about["description"] else {})
    return {**strict, "type": [strict["type"], "null"]} | (about if about["description"] else {})


def _with_bounds(strict: dict[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    if "minimum" in node and "maximum" in node:
        bounds = f"From {node['minimum']} to {node['maximum']}."
        strict["description"] = f"{strict.get('description', '')} {bounds}".strip()
    return strict


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
