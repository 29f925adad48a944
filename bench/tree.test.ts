import { expect, test } from "bun:test";
import { watchTree } from "./tree.ts";

const isLinux = process.platform === "linux";

test.if(isLinux)("the peak counts a grandchild's memory once", async () => {
  // tail keeps what it was asked for until its input ends.
  const child = Bun.spawn(["bash", "-c", "(head -c 40000000 /dev/zero; sleep 0.3) | tail -c 40000000 | wc -c"], { stdout: "pipe" });
  const watch = watchTree(child.pid);
  expect((await new Response(child.stdout).text()).trim()).toBe("40000000");
  await child.exited;
  const peak = watch.stop();
  expect(peak.rssBytes).toBeGreaterThan(40_000_000);
  expect(peak.rssBytes).toBeLessThan(80_000_000);
  expect(peak.pssBytes).toBeGreaterThan(38_000_000);
  expect(peak.pssBytes).toBeLessThan(peak.rssBytes + 4_000_000);
});
