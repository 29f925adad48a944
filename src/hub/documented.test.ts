import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rpcCodes } from "../kit/rpc.ts";
import { limits } from "./connection.ts";

test("docs/HUB.md tells the limits and the error codes that hold", () => {
  const text = readFileSync(join(import.meta.dir, "../../docs/HUB.md"), "utf8");
  expect(text).toContain(`A frame has at most ${limits.frameBytes >> 20} MB either way, a listener ${limits.connections} connections`);
  expect(text).toContain(`lets ${limits.unsentBytes >> 20} MB pile up`);
  const { closed: _onlyHere, internal: _neverSent, ...sent } = rpcCodes;
  expect(Object.values(sent).filter((code) => !text.includes(String(code)))).toEqual([]);
});
