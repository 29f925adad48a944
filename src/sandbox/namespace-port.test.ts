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
    const waits = 20;
    for (let wait = 0; wait < waits; wait += 1) {
      const portReceiver = createPortReceiver();
      portReceiver.closeChildEnd();
      expect(await portReceiver.receive(AbortSignal.timeout(5))).toBeNull();
      portReceiver.close();
      portReceiver.close();
    }
    // Bun opens a few files for itself at any time. A file left open would count once for each wait.
    expect(openFiles() - before).toBeLessThan(waits);
  });
});
