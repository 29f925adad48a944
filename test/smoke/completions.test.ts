// Completion of session, team and role names in a real bash.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skeinCommand, temporaryHome } from "../support/temporary-home.ts";

test("the shell completes the names of this project's sessions, teams and roles where a command expects them", async () => {
  using skein = temporaryHome({ ANTHROPIC_API_KEY: "key" });
  // The token limit stops the team before its first request, but the team is stored.
  expect((await skein.run(["team", "run", "x", "--name", "team-a", "--agents", "qa", "--max-tokens", "1"])).code).not.toBe(0);
  for (const name of ["main", "my idea"]) expect((await skein.run(["new", name])).code).toBe(0);
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "skein"), `#!/bin/sh\nexec ${skeinCommand().join(" ")} "$@"\n`);
  chmodSync(join(bin, "skein"), 0o755);
  const script = `source <(skein completions bash)
try() { COMP_WORDS=("$@"); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _skein; printf '%s\\n' "\${COMPREPLY[*]}" ; }
try skein show ma
try skein run x --session my
try skein graft zzz
try skein run --policy r
try skein run x --role archi
try skein team run x --agents architect,codere
try skein team resume te
try skein team run te
try skein run -m opu
try skein --model=opu
try skein run x -a nat`;
  const child = Bun.spawn(["bash", "-c", script], {
    cwd: skein.project,
    env: { ...skein.env, PATH: `${bin}:${skein.env["PATH"]}` },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  expect(await new Response(child.stderr).text()).toBe("");
  expect((await new Response(child.stdout).text()).split("\n")).toEqual([
    "main",
    "my idea",
    "",
    "readonly",
    "architect",
    "architect,codereviewer",
    "team-a",
    "",
    "opus",
    "",
    "native",
    "",
  ]);
});
