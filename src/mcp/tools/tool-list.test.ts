// Checks the tool list, which every model reads in every conversation.
import { expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { toolListEntry } from "../server/mcp-server.ts";
import { toolsFor } from "./index.ts";

const agentNames = ["claude", "codex", "gemini", "opencode", "pi"];
const coreTools = toolsFor("core", agentNames);

test("the tool list has less than 1,500 tokens", () => {
  const sizes = coreTools.map((tool) => ({ name: tool.name, tokens: countTokens(JSON.stringify(toolListEntry(tool))) }));
  const total = countTokens(JSON.stringify({ tools: coreTools.map(toolListEntry) }));
  expect(total, JSON.stringify(sizes)).toBeLessThan(1_500);
});

test("tool names are unique words with underscores, and every tool has an output schema", () => {
  const tools = coreTools.map(toolListEntry);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  for (const { name, description, inputSchema, outputSchema } of tools) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(description).toMatch(/\.$/);
    expect([inputSchema.type, outputSchema?.["type"]]).toEqual(["object", "object"]);
  }
});
