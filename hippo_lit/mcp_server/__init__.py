"""The tools of an index as an MCP server, over stdio and streamable HTTP."""
