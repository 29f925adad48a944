import { describe, expect, test } from "bun:test";
import { fstatSync, readdirSync } from "node:fs";
import { offerPort } from "./namespace-port.ts";

const openFiles = () => readdirSync("/proc/self/fd").length;

// src/agents/external/gateway/sandboxed-gateway.test.ts tests that a port is passed out and works.
describe("an offer of a port", () => {
  test("the child's end of the socket pair is closed here after the child has started", () => {
    const offer = offerPort();
    expect(fstatSync(offer.childEnd).isSocket()).toBe(true);
    offer.started();
    expect(() => fstatSync(offer.childEnd)).toThrow("EBADF");
    offer.close();
  });

  test("waiting for a port ends with the signal and leaves no file open", async () => {
    const before = openFiles();
    const offer = offerPort();
    offer.started();
    expect(await offer.take(AbortSignal.timeout(20))).toBeNull();
    offer.close();
    offer.close();
    expect(openFiles()).toBe(before);
  });
});
