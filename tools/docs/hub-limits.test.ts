import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rpcCodes } from "../../src/kit/flow/rpc.ts";
import { connectionLimits } from "../../src/protocol/connection/connection.ts";

test("docs/HUB.md has the real limits and error codes", () => {
  const text = readFileSync(join(import.meta.dir, "../../docs/HUB.md"), "utf8");
  expect(text).toContain(
    `A frame has at most ${connectionLimits.frameBytes >> 20} MB in each direction, a listener ${connectionLimits.connections} connections`,
  );
  expect(text).toContain(`lets ${connectionLimits.unsentBytes >> 20} MB pile up`);
  const { closed: _notSent, internal: _internal, ...sent } = rpcCodes;
  expect(Object.values(sent).filter((code) => !text.includes(String(code)))).toEqual([]);
});
