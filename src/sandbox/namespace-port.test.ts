import { describe, expect, test } from "bun:test";
import { fstatSync, readdirSync } from "node:fs";
import { offerPort } from "./namespace-port.ts";

const openFiles = () => readdirSync("/proc/self/fd").length;

// That a port is handed out, and what it leads to, is tried in src/agents/external/gateway/sandboxed-gateway.test.ts.
describe("an offer of a port", () => {
  test("has one end of a pair for the child, which is ours only until the child has started", () => {
    const offer = offerPort();
    expect(fstatSync(offer.childEnd).isSocket()).toBe(true);
    offer.started();
    expect(() => fstatSync(offer.childEnd)).toThrow("EBADF");
    offer.close();
  });

  test("is not waited for longer than asked, and leaves no file open", async () => {
    const before = openFiles();
    const offer = offerPort();
    offer.started();
    expect(await offer.take(AbortSignal.timeout(20))).toBeNull();
    offer.close();
    offer.close();
    expect(openFiles()).toBe(before);
  });
});
