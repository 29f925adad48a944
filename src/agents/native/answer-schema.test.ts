import { describe, expect, test } from "bun:test";
import { checkAnswer, stripFence } from "./answer-schema.ts";

const schema = {
  type: "object",
  properties: { count: { type: "integer" }, when: { type: "string", format: "date" } },
  required: ["count"],
  additionalProperties: false,
};

describe("an answer", () => {
  const cases: [string, string, RegExp | null][] = [
    ["that satisfies the schema is fine", '{"count": 3}', null],
    ["in a fenced block is fine", '```json\n{"count": 3}\n```', null],
    ["in a fence without a language is fine", '\n```\n{"count": 3}\n```\n', null],
    ["with an unknown format is not judged by it", '{"count": 3, "when": "soon"}', null],
    ["that is no JSON is told so", "three", /^It is not JSON: /],
    ["with words around the JSON is not JSON", 'Here: {"count": 3}', /^It is not JSON: /],
    ["of the wrong type is told where", '{"count": "3"}', /^At \/count: must be integer\.$/],
    ["that lacks a field is told which", "{}", /^At the top: must have required property 'count'\.$/],
    ["that is empty is not JSON", "", /^It is not JSON: /],
  ];
  for (const [title, text, problem] of cases) {
    test(title, () => {
      const found = checkAnswer(schema, text);
      if (problem === null) expect(found).toBeNull();
      else expect(found).toMatch(problem);
    });
  }

  test("is checked against draft 2020-12 and against older schemas that say so", () => {
    expect(checkAnswer({ $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "integer" }] }, '["x"]')).toContain(
      "must be integer",
    );
    expect(checkAnswer({ $schema: "http://json-schema.org/draft-07/schema#", type: "array" }, "[]")).toBeNull();
  });
});

test("a schema that is none is a mistake of the user's", () => {
  expect(() => checkAnswer({ type: "sthing" }, "{}")).toThrow("the JSON schema is not valid");
});

test("only a fence around everything is taken off", () => {
  expect(stripFence("```json\n1\n```")).toBe("1");
  expect(stripFence("a ```json\n1\n``` b")).toBe("a ```json\n1\n``` b");
});
