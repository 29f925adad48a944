import { describe, expect, test } from "bun:test";
import { argumentKind, CallList, encodeText, maxResults, onErrorCode } from "./call-list.ts";

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

  test("a row has the call, its arguments and its message, also after the bytes have grown", () => {
    const list = new CallList();
    const file = list.open("openat", [-100, "/a", 0, 0], "open /a");
    for (let count = 0; count < 2000; count += 1) list.text(`/usr/share/${count}`);
    for (let count = 0; count < 2000; count += 1)
      list.ifFailed(file, () => list.call("write", [file, "text", -1], "write", "ignore-missing"));
    const data = Buffer.from(list.dataBytes());
    const row = list.rows.at(-1)!;
    const { failure, number, pointer, result } = argumentKind;
    expect(row.kinds).toEqual([result, pointer, number, number, number, failure]);
    expect(row.values).toEqual([file.slot, list.text("text").offset, -1, 0, 0, file.slot]);
    expect(data.toString("utf8", row.message, data.indexOf(0, row.message))).toBe("can't write");
    expect([row.slot, row.onError, list.rows.length]).toEqual([0, onErrorCode["ignore-missing"], 2001]);
  });

  test("bytes with the same key are made once", () => {
    const list = new CallList();
    const first = list.constant("key", () => new Uint8Array([1]));
    const makeAgain = (): Uint8Array => {
      throw new Error("made again");
    };
    expect(list.constant("key", makeAgain)).toEqual(first);
  });

  test("the text of a list has no zero, so that it fits into a variable", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    expect(encodeText(bytes)).toMatch(/^[A-Za-z0-9+/]+$/);
    expect(encodeText(bytes)).toHaveLength(344);
  });
});
