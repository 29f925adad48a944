import { expect, test } from "bun:test";
import { StreamedText } from "./streamed-text.ts";

test("the pieces and the rest are the whole text", () => {
  const text = new StreamedText();
  expect(text.append("one ") + text.append("two ")).toBe("one two ");
  expect(text.complete("one two three")).toEqual({ rest: "three", isOther: false });
});

test("after a lost piece nothing is sent until a copy of the whole text fills the gap", () => {
  const text = new StreamedText();
  text.append("one ");
  text.pause();
  expect(text.append("three ")).toBe("");
  expect(text.catchUp("one two three ")).toBe("two three ");
  expect(text.append("four")).toBe("four");
  expect(text.complete("one two three four")).toEqual({ rest: "", isOther: false });
});

test("a copy that is behind the sent text adds nothing", () => {
  const text = new StreamedText();
  text.append("one two");
  expect(text.catchUp("one")).toBe("");
  expect(text.append(" three")).toBe(" three");
});

test("a stored text that differs is sent whole, unless only white space differs", () => {
  const text = new StreamedText();
  text.append("one\n");
  expect(text.complete("one")).toEqual({ rest: "", isOther: false });
  expect(text.complete("two")).toEqual({ rest: "two", isOther: true });
});
