import { describe, expect, test } from "bun:test";
import { CallList, encodeText, maxResults } from "./call-list.ts";

describe("a list of system calls", () => {
  test("equal texts are stored once, and structures start at a multiple of eight", () => {
    const list = new CallList();
    const first = list.text("/proc");
    expect(list.text("/proc")).toEqual(first);
    expect(list.data(new Uint8Array(3)).offset % 8).toBe(0);
    expect(list.data(new Uint8Array(3)).offset % 8).toBe(0);
  });

  test("the place of a closed file's result is used again", () => {
    const list = new CallList();
    const file = list.open("openat", [-100, "/a", 0, 0], "open /a");
    list.close(file);
    expect(list.open("openat", [-100, "/b", 0, 0], "open /b")).toEqual(file);
  });

  test("a list with more results than a launcher can hold is refused", () => {
    const list = new CallList();
    for (let count = 0; count < maxResults; count += 1) list.open("openat", [-100, "/a", 0, 0], "open /a");
    expect(list.encode()).toBeNull();
  });

  test("the text of a list has no zero, so that it fits into a variable", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    expect(encodeText(bytes)).toMatch(/^[A-Za-z0-9+/]+$/);
    expect(encodeText(bytes)).toHaveLength(344);
  });
});
