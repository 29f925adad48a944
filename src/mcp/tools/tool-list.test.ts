// What every model reads of our tools, in every conversation: few tokens, and nothing that is not kept.
import { expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { toolListEntry } from "../server/mcp-server.ts";
import { toolsFor } from "./index.ts";

test("the whole list has less than 1,500 tokens", () => {
  const sizes = toolsFor("core").map((tool) => ({ name: tool.name, tokens: countTokens(JSON.stringify(toolListEntry(tool))) }));
  const all = countTokens(JSON.stringify({ tools: toolsFor("core").map(toolListEntry) }));
  expect(all, JSON.stringify(sizes)).toBeLessThan(1_500);
});

test("names are words with underscores, no two alike, and every tool says what it gives", () => {
  const tools = toolsFor("core").map(toolListEntry);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  for (const { name, description, inputSchema, outputSchema } of tools) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(description).toMatch(/\.$/);
    expect([inputSchema.type, outputSchema?.["type"]]).toEqual(["object", "object"]);
  }
});
