"""JSON schemas of answers and prior-art checks, for programs that read them."""

from __future__ import annotations

from typing import Any

from hippo_lit.answer.values import Answer, PriorArt


def json_schema(kind: type[Answer] | type[PriorArt]) -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of what `values.to_json` makes of a `kind`.

    Every key is always there.
    """
    from pydantic import TypeAdapter

    schema = TypeAdapter(kind).json_schema(mode="serialization")
    for each in (schema, *schema.get("$defs", {}).values()):
        if "properties" in each:
            each["required"] = list(each["properties"])
            each["additionalProperties"] = False
            for value in each["properties"].values():
                value.pop("default", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
