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
    ["an answer that satisfies the schema is valid", '{"count": 3}', null],
    ["an answer in a fenced block is valid", '```json\n{"count": 3}\n```', null],
    ["an answer in a fence without a language is valid", '\n```\n{"count": 3}\n```\n', null],
    ["a string with an invalid format is valid, because formats are not checked", '{"count": 3, "when": "soon"}', null],
    ["an answer that is not JSON is reported", "three", /^It is not JSON: /],
    ["an answer with words around the JSON is not JSON", 'Here: {"count": 3}', /^It is not JSON: /],
    ["a wrong type is reported with its path", '{"count": "3"}', /^At \/count: must be integer\.$/],
    ["a missing field is reported with its name", "{}", /^At the top: must have required property 'count'\.$/],
    ["an empty answer is not JSON", "", /^It is not JSON: /],
  ];
  for (const [title, text, problem] of cases) {
    test(title, () => {
      const result = checkAnswer(schema, text);
      if (problem === null) expect(result).toBeNull();
      else expect(result).toMatch(problem);
    });
  }

  test("an answer is checked against draft 2020-12, or an older draft that the schema names", () => {
    expect(checkAnswer({ $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "integer" }] }, '["x"]')).toContain(
      "must be integer",
    );
    expect(checkAnswer({ $schema: "http://json-schema.org/draft-07/schema#", type: "array" }, "[]")).toBeNull();
  });
});

test("an invalid schema is a usage error", () => {
  expect(() => checkAnswer({ type: "sthing" }, "{}")).toThrow("the JSON schema is not valid");
});

test("only a fence around the whole text is removed", () => {
  expect(stripFence("```json\n1\n```")).toBe("1");
  expect(stripFence("a ```json\n1\n``` b")).toBe("a ```json\n1\n``` b");
});
