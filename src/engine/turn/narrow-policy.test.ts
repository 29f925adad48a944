import { describe, expect, test } from "bun:test";
import type { Policy } from "../../protocol/api/policy.ts";
import { narrowToolLevel, narrowPolicy } from "./narrow-policy.ts";

const at = { project: "/p", directory: "/p/sub" };
const policy = (change: Partial<Policy> = {}): Policy => ({
  name: "workspace",
  sandbox: "auto",
  net: "off",
  allowWrite: ["/out"],
  addDirs: ["/lib"],
  ...change,
});

describe("the policy of a sub-session", () => {
  test("is its parent's when nothing else is wished", () => {
    for (const name of ["workspace", "readonly", "full"] as const) expect(narrowPolicy(policy({ name }), {}, at)).toEqual(policy({ name }));
  });

  test("has no network where that is wished, and keeps it where the parent has it", () => {
    expect(narrowPolicy(policy({ net: "on" }), { network: false }, at)).toEqual(policy({ net: "off" }));
    expect(narrowPolicy(policy({ net: "on" }), { network: true }, at)).toEqual(policy({ net: "on" }));
    expect(narrowPolicy(policy(), { network: false }, at)).toEqual(policy());
  });

  test("only looks while its parent plans", () => {
    expect(narrowPolicy(policy({ name: "plan", sandbox: "required", allowWrite: [] }), {}, at)).toEqual(
      policy({ name: "readonly", sandbox: "required", allowWrite: [] }),
    );
  });

  test("only looks, behind walls, where that is wished, whatever its parent may", () => {
    const looking = policy({ name: "readonly", sandbox: "required", allowWrite: [] });
    for (const name of ["workspace", "readonly", "plan", "full"] as const)
      expect(narrowPolicy(policy({ name, sandbox: "off" }), { readonly: true }, at)).toEqual(looking);
    expect(() => narrowPolicy(policy(), { readonly: true, extraWritePaths: ["/p"] }, at)).toThrow("/p can't be written");
  });

  test("is never wider: a network that is off is named", () => {
    expect(() => narrowPolicy(policy(), { network: true }, at)).toThrow("sandbox.network can't be true");
  });

  test("promises nothing that no wall holds", () => {
    expect(() => narrowPolicy(policy({ name: "full", net: "on" }), { network: false }, at)).toThrow("sandbox.network can't be false");
  });

  test.each(["/p", "/p/x", "x", "../y", "/out/deep", "/lib", "/p/a/../b"])("may be told of %s, and that opens nothing", (path) => {
    expect(narrowPolicy(policy(), { extraWritePaths: [path] }, at)).toEqual(policy());
  });

  test.each(["/", "/etc", "/pp", "/p/../etc", "../../q", "/output", "~/x/../../../.."])("can't be given %s", (path) => {
    const wish = () => narrowPolicy(policy(), { extraWritePaths: ["/p/fine", path] }, at);
    if (path.startsWith("~")) expect(wish).toThrow("sandbox.extra_write_paths");
    else expect(wish).toThrow(`sandbox.extra_write_paths: ${path} can't be written under policy workspace`);
  });

  test("writes nothing below a parent that does not, and what it likes below one without walls", () => {
    for (const name of ["readonly", "plan"] as const)
      expect(() => narrowPolicy(policy({ name }), { extraWritePaths: ["/p/.skein/plan.md"] }, at)).toThrow("sandbox.extra_write_paths");
    expect(narrowPolicy(policy({ name: "full" }), { extraWritePaths: ["/etc"] }, at)).toEqual(policy({ name: "full" }));
  });
});

test("the tools of a sub-session are those of its parent without spawning, and fewer where nothing is written", () => {
  const level = (given: Parameters<typeof narrowToolLevel>[0], name: Policy["name"]) => narrowToolLevel(given, policy({ name }));
  expect([level("orchestrator", "workspace"), level("minimal", "workspace"), level("none", "readonly")]).toEqual([
    "minimal",
    "minimal",
    "none",
  ]);
  expect([level("orchestrator", "readonly"), level("readonly", "readonly")]).toEqual(["readonly", "readonly"]);
});
