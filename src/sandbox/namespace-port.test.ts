import { describe, expect, test } from "bun:test";
import { fstatSync, readdirSync } from "node:fs";
import { createPortReceiver } from "./namespace-port.ts";

const openFiles = () => readdirSync("/proc/self/fd").length;

// src/agents/external/gateway/sandboxed-gateway.test.ts tests a port that a sandboxed program sends.
describe("the receiver of a port", () => {
  test("the child's end of the socket pair is closed here after the child has started", () => {
    const portReceiver = createPortReceiver();
    expect(fstatSync(portReceiver.childEnd).isSocket()).toBe(true);
    portReceiver.closeChildEnd();
    expect(() => fstatSync(portReceiver.childEnd)).toThrow("EBADF");
    portReceiver.close();
  });

  test("waiting for a port ends with the signal and leaves no file open", async () => {
    const before = openFiles();
    const portReceiver = createPortReceiver();
    portReceiver.closeChildEnd();
    expect(await portReceiver.receive(AbortSignal.timeout(20))).toBeNull();
    portReceiver.close();
    portReceiver.close();
    expect(openFiles()).toBe(before);
  });
});
