import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rpcCodes } from "../../src/kit/flow/rpc.ts";
import { connectionLimits } from "../../src/hub/connection.ts";

test("docs/HUB.md tells the limits and the error codes that hold", () => {
  const text = readFileSync(join(import.meta.dir, "../../docs/HUB.md"), "utf8");
  expect(text).toContain(
    `A frame has at most ${connectionLimits.frameBytes >> 20} MB either way, a listener ${connectionLimits.connections} connections`,
  );
  expect(text).toContain(`lets ${connectionLimits.unsentBytes >> 20} MB pile up`);
  const { closed: _onlyHere, internal: _neverSent, ...sent } = rpcCodes;
  expect(Object.values(sent).filter((code) => !text.includes(String(code)))).toEqual([]);
});
