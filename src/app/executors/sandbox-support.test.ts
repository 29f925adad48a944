import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppContext } from "../app-context.ts";
import { loadSandboxSupport } from "./sandbox-support.ts";

const root = mkdtempSync(join(tmpdir(), "skein-support-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Nothing is tried with `none`, so these tests start no program. */
function contextOf(home: string, program: string, fields: Partial<AppContext> = {}): AppContext {
  const directory = (name: string) => join(root, home, name);
  const paths = { home: directory("home"), state: directory("state"), data: directory("data") };
  const env = { PATH: process.env["PATH"], SKEIN_SANDBOX_BEST: "none" };
  return {
    env,
    paths,
    cwd: directory("home"),
    project: directory("home"),
    selfCommand: [program],
    ephemeral: false,
    ...fields,
  } as AppContext;
}

function cachedIn({ paths }: AppContext): { program: string; key: string }[] {
  return JSON.parse(readFileSync(join(paths.state, "sandbox.json"), "utf8")) as { program: string; key: string }[];
}

test("the result of a probe is read by the next start of the same executable", async () => {
  const ctx = contextOf("same", "/bin/skein");
  await loadSandboxSupport(ctx);
  const file = join(ctx.paths.state, "sandbox.json");
  writeFileSync(file, readFileSync(file, "utf8").replace("excludes better tiers", "was read from the file"));
  expect((await loadSandboxSupport(ctx)).why).toContain("was read from the file");
  expect((await loadSandboxSupport(ctx, { anew: true })).why).toContain("excludes better tiers");
});

test("two executables with one home keep a result each, and an old result is replaced", async () => {
  const contexts = ["/bin/skein", "/checkout/skein", "/bin/skein"].map((program) => contextOf("two", program));
  for (const ctx of contexts) await loadSandboxSupport(ctx);
  expect(cachedIn(contexts[0]!).map(({ program }) => program)).toEqual(["/checkout/skein", "/bin/skein"]);
  const changed = contextOf("two", "/bin/skein", { env: { PATH: "", SKEIN_SANDBOX_BEST: "none", SKEIN_SANDBOX_LAUNCHER: "javascript" } });
  await loadSandboxSupport(changed);
  expect(cachedIn(changed).map(({ program }) => program)).toEqual(["/bin/skein", "/checkout/skein"]);
});

test("a run that stores nothing of itself keeps the result for the next one", async () => {
  const ctx = contextOf("ephemeral", "/bin/skein", { ephemeral: true });
  await loadSandboxSupport(ctx);
  expect(readdirSync(ctx.paths.state)).toContain("sandbox.json");
  expect(cachedIn(ctx)).toHaveLength(1);
});

test("a damaged file is replaced", async () => {
  const ctx = contextOf("damaged", "/bin/skein");
  await loadSandboxSupport(ctx);
  for (const text of ["", "{", '{"key":"old","machine":{}}', "[1]"]) {
    writeFileSync(join(ctx.paths.state, "sandbox.json"), text);
    expect((await loadSandboxSupport(ctx)).tier).toBe("none");
    expect(cachedIn(ctx).at(0)?.program).toBe("/bin/skein");
  }
});
