import { expect, test } from "bun:test";
import { FrameReader, frameTypes, jsonFrame, maxFrameBytes, outputHeader, readJsonFrame, readOutputFrame } from "./frames.ts";

test("frames are read correctly whatever the chunk size", () => {
  const chunk = new Uint8Array([0, 255, 10, 13, 200]);
  const bytes = Buffer.concat([
    jsonFrame(frameTypes.call, { call: 1, name: "é漢" }),
    outputHeader(4_000_000_000, "stdout", chunk.length),
    chunk,
    jsonFrame(frameTypes.result, { call: 1 }),
  ]);
  for (let size = 1; size <= bytes.length; size += 1) {
    const reader = new FrameReader();
    const frames = [];
    for (let start = 0; start < bytes.length; start += size) frames.push(...reader.push(bytes.subarray(start, start + size)));
    expect(frames.map((frame) => frame.type)).toEqual([frameTypes.call, frameTypes.output, frameTypes.result]);
    expect(readJsonFrame<unknown>(frames[0]!.payload)).toEqual({ call: 1, name: "é漢" });
    const output = readOutputFrame(frames[1]!.payload);
    expect([output.call, ...output.bytes]).toEqual([4_000_000_000, ...chunk]);
  }
});

test("a frame over the size limit is refused before memory is allocated for it", () => {
  const header = Buffer.alloc(5);
  header.writeUInt32LE(maxFrameBytes + 1);
  expect(() => [...new FrameReader().push(header)]).toThrow("too large");
});
