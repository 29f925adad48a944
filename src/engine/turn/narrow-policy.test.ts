import { describe, expect, test } from "bun:test";
import type { Policy } from "../../protocol/api/policy.ts";
import { narrowToolLevel, narrowPolicy } from "./narrow-policy.ts";

const location = { project: "/p", directory: "/p/sub" };
const policy = (change: Partial<Policy> = {}): Policy => ({
  name: "workspace",
  sandbox: "auto",
  net: "off",
  allowWrite: ["/out"],
  addDirs: ["/lib"],
  ...change,
});

describe("the policy of a sub-session", () => {
  test("a sub-session has its parent's policy by default", () => {
    for (const name of ["workspace", "readonly", "full"] as const)
      expect(narrowPolicy(policy({ name }), {}, location)).toEqual(policy({ name }));
  });

  test("a sub-session can turn the network off, or keep that of its parent", () => {
    expect(narrowPolicy(policy({ net: "on" }), { network: false }, location)).toEqual(policy({ net: "off" }));
    expect(narrowPolicy(policy({ net: "on" }), { network: true }, location)).toEqual(policy({ net: "on" }));
    expect(narrowPolicy(policy(), { network: false }, location)).toEqual(policy());
  });

  test("a sub-session has the named hosts of its parent, or none, and never all", () => {
    const parent = policy({ netHosts: ["x.org"] });
    expect(narrowPolicy(parent, {}, location)).toEqual(parent);
    expect(narrowPolicy(parent, { readonly: true }, location).netHosts).toEqual(["x.org"]);
    expect(narrowPolicy(parent, { network: false }, location)).toEqual(policy());
    expect(() => narrowPolicy(parent, { network: true }, location)).toThrow("the network is off");
  });

  test("a sub-session of a planning turn is readonly", () => {
    expect(narrowPolicy(policy({ name: "plan", sandbox: "required", allowWrite: [] }), {}, location)).toEqual(
      policy({ name: "readonly", sandbox: "required", allowWrite: [] }),
    );
  });

  test("a readonly sub-session requires a sandbox under every policy of its parent", () => {
    const readonlyPolicy = policy({ name: "readonly", sandbox: "required", allowWrite: [] });
    for (const name of ["workspace", "readonly", "plan", "full"] as const)
      expect(narrowPolicy(policy({ name, sandbox: "off" }), { readonly: true }, location)).toEqual(readonlyPolicy);
    expect(() => narrowPolicy(policy(), { readonly: true, extraWritePaths: ["/p"] }, location)).toThrow("/p can't be written");
  });

  test("a sub-session can't turn on a network that its parent has off", () => {
    expect(() => narrowPolicy(policy(), { network: true }, location)).toThrow("sandbox.network can't be true");
  });

  test("a sub-session can't turn the network off under a policy without a sandbox", () => {
    expect(() => narrowPolicy(policy({ name: "full", net: "on" }), { network: false }, location)).toThrow("sandbox.network can't be false");
  });

  test.each(["/p", "/p/x", "x", "../y", "/out/deep", "/lib", "/p/a/../b"])(
    "a sub-session may name the writable path %s, which adds no right",
    (path) => {
      expect(narrowPolicy(policy(), { extraWritePaths: [path] }, location)).toEqual(policy());
    },
  );

  test.each(["/", "/etc", "/pp", "/p/../etc", "../../q", "/output", "~/x/../../../.."])(
    "a sub-session can't name the path %s, which its parent can't write",
    (path) => {
      const narrow = () => narrowPolicy(policy(), { extraWritePaths: ["/p/fine", path] }, location);
      if (path.startsWith("~")) expect(narrow).toThrow("sandbox.extra_write_paths");
      else expect(narrow).toThrow(`sandbox.extra_write_paths: ${path} can't be written under policy workspace`);
    },
  );

  test("a sub-session can name no write path under readonly or plan, and any under full", () => {
    for (const name of ["readonly", "plan"] as const)
      expect(() => narrowPolicy(policy({ name }), { extraWritePaths: ["/p/.skein/plan.md"] }, location)).toThrow(
        "sandbox.extra_write_paths",
      );
    expect(narrowPolicy(policy({ name: "full" }), { extraWritePaths: ["/etc"] }, location)).toEqual(policy({ name: "full" }));
  });
});

test("a sub-session has its parent's tools without spawning, and only readonly ones under policy readonly", () => {
  const level = (parent: Parameters<typeof narrowToolLevel>[0], name: Policy["name"]) => narrowToolLevel(parent, policy({ name }));
  expect([level("orchestrator", "workspace"), level("minimal", "workspace"), level("none", "readonly")]).toEqual([
    "minimal",
    "minimal",
    "none",
  ]);
  expect([level("orchestrator", "readonly"), level("readonly", "readonly")]).toEqual(["readonly", "readonly"]);
});
