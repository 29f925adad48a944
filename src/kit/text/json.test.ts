import { expect, test } from "bun:test";
import { parseJson } from "./json.ts";

const nested = (depth: number, open: string, close: string) => `{"a":${open.repeat(depth)}1${close.repeat(depth)}}`;

test("a text that is not a JSON object is null", () => {
  for (const text of ["", "{", "[1]", "1", "null", '"{}"']) expect(parseJson(text)).toBeNull();
  expect(parseJson('{"a":[1,{"b":null}]}')).toEqual({ a: [1, { b: null }] });
});

test("an object that is so deep that a walk of it overflows the stack is null", () => {
  for (const depth of [1_000, 100_000, 400_000]) {
    expect(parseJson(nested(depth, "[", "]"))).toBeNull();
    expect(parseJson(nested(depth, '{"b":', "}"))).toBeNull();
    expect(parseJson(`{"c":"]]]}",${nested(depth, "[", "]").slice(1)}`)).toBeNull();
  }
  expect(parseJson(nested(999, "[", "]"))).not.toBeNull();
});

test("many brackets side by side or in strings do not count as depth", () => {
  const text = "[{".repeat(5_000);
  expect(parseJson(JSON.stringify({ text }))).toEqual({ text });
  expect(parseJson(`{"a":[${"[],".repeat(5_000)}0]}`)?.["a"]).toHaveLength(5_001);
});
